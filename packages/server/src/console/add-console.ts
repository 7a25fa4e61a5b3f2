import { readFile } from 'node:fs/promises';
import { Refusal } from '@tidemark/protocol';
import { closed, text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type BuiltFile, BuiltFiles, sendFile } from '../http/built-files.ts';
import { prefersJson } from '../http/negotiate.ts';
import { operationSchema } from '../http/route-schema.ts';
import { readVersion } from '../version.ts';

/** Where the build puts the console; the same place for the sources and the compiled server. */
const FOLDER = new URL('../../console/', import.meta.url);
const ROOT = '/console/';

const PAGE = 'index.html';
const ASSETS = 'assets/';

const LINKS = {
  name: 'tidemark',
  version: readVersion(),
  console: ROOT,
  api: '/openapi.json',
  docs: '/docs/',
  health: '/healthz',
  readiness: '/readyz',
};

const LinksSchema = Type.Object(
  {
    name: text('The name of the product.', 'tidemark'),
    version: text('Its version.', '0.1.0'),
    console: text('The web console.', ROOT),
    api: text('The description of the API.', '/openapi.json'),
    docs: text('The documentation, with a viewer of that description.', '/docs/'),
    health: text('Whether the server is there.', '/healthz'),
    readiness: text('Whether the server takes work.', '/readyz'),
  },
  { ...closed, title: 'Links', description: 'Where to find what.' },
);

const linksSchema = operationSchema({
  method: 'GET',
  path: '/',
  operationId: 'serviceLinks',
  scope: 'public',
  summary: 'Where to find what',
  description: 'Browsers are redirected to the web console; callers that prefer JSON get links.',
  answer: LinksSchema,
});
const REDIRECTED = { description: 'To the web console.', type: 'null' } as const;

/** Serves the web console. Its files are read when they are asked for, so that they take no memory before that. */
export function addConsole(app: FastifyInstance, folder: URL = FOLDER): void {
  const files = new BuiltFiles((name) => readFile(new URL(name, folder)));
  const toConsole = (_request: FastifyRequest, reply: FastifyReply) => void reply.redirect(ROOT, 302);
  app.get(
    '/',
    { schema: { ...linksSchema, response: { ...(linksSchema.response as object), 302: REDIRECTED } } },
    (request, reply) => {
      reply.header('vary', 'accept');
      if (prefersJson(request.headers.accept)) reply.send(LINKS);
      else toConsole(request, reply);
    },
  );
  app.get('/console', { schema: { hide: true } }, toConsole);
  app.get(`${ROOT}*`, { schema: { hide: true } }, async (request, reply) => {
    const { '*': path } = request.params as { readonly '*': string };
    return sendFile(request, reply, await findFile(files, path));
  });
}

/** Returns the file of a path. Every path outside of the assets is an address inside the console: its page. */
async function findFile(files: BuiltFiles, path: string): Promise<BuiltFile> {
  const file = (await files.find(path)) ?? (path.startsWith(ASSETS) ? null : await files.find(PAGE));
  if (file !== null) return file;
  if (!(await files.isBuilt())) throw new Refusal('not_found', 'the console was not built; npm run setup builds it');
  throw new Refusal('not_found', `the console has no file ${JSON.stringify(path.slice(0, 200))}`);
}
