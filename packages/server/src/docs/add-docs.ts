import { readFile } from 'node:fs/promises';
import { Refusal } from '@tidemark/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { BuiltFiles, securePage, sendFile } from '../http/built-files.ts';
import { VIEWER_PATH } from '../http/description.ts';
import { shownPath } from '../http/shown-path.ts';
import { movedTo } from './moved-pages.ts';

/** Where the build puts the site; the same place for the sources and the compiled server. */
const FOLDER = new URL('../../docs/', import.meta.url);
const ROOT = '/docs/';

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Tidemark documentation</title></head>
<body>
<h1>Tidemark documentation</h1>
<p>The documentation site was not built. <code>npm run docs</code> in a checkout builds it, without a restart of the server.</p>
<ul>
<li><a href="${VIEWER_PATH}/">The REST API</a>, with every route</li>
<li><a href="/openapi.json">Its description</a> (OpenAPI)</li>
<li><a href="/console/">The console</a></li>
</ul>
</body>
</html>
`;

/** Serves the documentation site. The viewer of the API, which is always there, has its own routes below it. */
export function addDocs(app: FastifyInstance, folder: URL = FOLDER): void {
  const files = new BuiltFiles((name) => readFile(new URL(name, folder)));
  const send = async (request: FastifyRequest, reply: FastifyReply, path: string) => {
    const file = await findPage(files, path);
    if (file !== null) return sendFile(request, reply, file);
    if (path === '' && !(await files.isBuilt())) {
      return securePage(reply).header('cache-control', 'no-cache').type('text/html; charset=utf-8').send(NOT_BUILT);
    }
    const moved = movedTo(path);
    if (moved !== null) return reply.redirect(`${ROOT}${moved}`, 301);
    throw new Refusal(
      'not_found',
      `the documentation has no page ${JSON.stringify(shownPath(path))}; it begins at ${ROOT}`,
    );
  };
  app.get('/docs', { schema: { hide: true } }, (_request, reply) => void reply.redirect(ROOT, 302));
  app.get(`${ROOT}*`, { schema: { hide: true } }, (request, reply) =>
    send(request, reply, (request.params as { readonly '*': string })['*']),
  );
  for (const name of ['llms.txt', 'llms-full.txt']) {
    app.get(`/${name}`, { schema: { hide: true } }, (request, reply) => send(request, reply, name));
  }
}

/** Returns the file of a path: itself, the index of a folder, or a page without its ending. */
async function findPage(files: BuiltFiles, path: string) {
  if (path === '' || path.endsWith('/')) return files.find(`${path}index.html`);
  return (await files.find(path)) ?? files.find(`${path}.html`);
}
