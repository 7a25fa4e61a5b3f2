import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PullRequest } from '@tidemark/protocol/sync-schemas';
import { JsonLines, JsonParts, type Route, route } from '@tidemark/server';
import { Type } from 'typebox';

/**
 * What the edge of the server costs without the product behind it: routes that want the same token and the same body as
 * those of devices, and send what lies in a folder, which they have read into memory when they were first asked.
 */
export function bareRoutes(folder: string): readonly Route[] {
  let pages: readonly Uint8Array[] | null = null;
  const inMemory = () => {
    pages ??= readdirSync(folder)
      .sort((left, right) => Number(left) - Number(right))
      .map((name) => readFileSync(join(folder, name)));
    return pages;
  };
  const page = route({
    method: 'POST',
    path: '/bare/pages/:page',
    operationId: 'barePage',
    scope: 'device',
    summary: 'A page from memory',
    params: Type.Object({ page: Type.String() }),
    body: PullRequest,
    answer: Type.Unknown(),
    handle: async ({ params }) => new JsonParts([inMemory()[Number(params.page)] ?? '']),
  });
  const stream = route({
    method: 'GET',
    path: '/bare/stream',
    operationId: 'bareLines',
    scope: 'device',
    summary: 'All pages from memory',
    answer: Type.Unknown(),
    streams: 'application/x-ndjson',
    handle: async () => new JsonLines(linesOf(inMemory())),
  });
  return [page, stream];
}

async function* linesOf(pages: readonly Uint8Array[]) {
  for (const page of pages) yield [page, '\n'];
}
