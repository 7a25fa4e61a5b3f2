import type { SnapshotPages } from '@tidemark/core';
import { Page } from '@tidemark/protocol/schemas';
import { Type } from 'typebox';
import type { TextPart } from '../../http/coding/text-parts.ts';
import { JsonLines, route } from '../../http/route.ts';
import { Text } from '../shapes.ts';
import { actingDevice } from './acting-device.ts';
import { partsOfPage } from './parts-of-page.ts';

const snapshot = route({
  method: 'GET',
  path: '/sync/v1/sources/:name/snapshot',
  scope: 'device',
  summary: 'All pages of a source in one stream',
  params: Type.Object({ name: Text }),
  query: Type.Object({ token: Type.Optional(Text) }, { additionalProperties: false }),
  answer: Page,
  streams: 'application/x-ndjson',
  handle: async ({ desk, params, query, bearer }) => {
    const call = { source: params.name, token: query.token || null };
    return new JsonLines(linesOf(await desk.tidemark.devices.snapshot(actingDevice(bearer), call)));
  },
});

async function* linesOf(snapshot: SnapshotPages): AsyncGenerator<readonly TextPart[], void, undefined> {
  for await (const pages of snapshot) {
    yield pages.flatMap((page) => [...partsOfPage(page), '\n']);
  }
}

export const snapshotRoutes = [snapshot];
