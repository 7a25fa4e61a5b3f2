import { readFile } from 'node:fs/promises';
import { Refusal } from '@tidemark/protocol';
import { closed, text } from '@tidemark/protocol/annotated';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { codingFor } from '../http/coding/negotiate-coding.ts';
import { prefersJson } from '../http/negotiate.ts';
import { operationSchema } from '../http/route-schema.ts';
import { readVersion } from '../version.ts';
import { type ConsoleFile, ConsoleFiles } from './console-files.ts';

/** Where the build puts the console; the same place for the sources and the compiled server. */
const FOLDER = new URL('../../console/', import.meta.url);
const ROOT = '/console/';

/** Everything comes from this server. Inline scripts and styles do not run, and no other site may show the console in a frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const ONE_YEAR_S = 31_536_000;

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
    docs: text('A viewer of that description.', '/docs/'),
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
  const files = new ConsoleFiles((name) => readFile(new URL(name, folder)));
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
    const file = await files.find(path);
    if (file === null) throw new Refusal('not_found', `the console has no file ${JSON.stringify(path.slice(0, 200))}`);
    return sendFile(request, reply, file);
  });
}

async function sendFile(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile): Promise<FastifyReply> {
  const isGzip = file.hasGzip && codingFor(request.headers['accept-encoding']) === 'gzip';
  const etag = `"${file.hash}${isGzip ? '-gzip' : ''}"`;
  reply
    .header('etag', etag)
    .header('vary', 'accept-encoding')
    .header('cache-control', file.isHashed ? `public, max-age=${ONE_YEAR_S}, immutable` : 'no-cache')
    .header('x-content-type-options', 'nosniff')
    .header('content-security-policy', POLICY)
    .header('referrer-policy', 'same-origin');
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  if (isGzip) reply.header('content-encoding', 'gzip');
  return reply.type(file.type).send(await file.read(isGzip));
}
