import { type DeviceId, type DevicePage, readToken, type Tidemark } from '@tidemark/core';
import { Page } from '@tidemark/protocol/schemas';
import { Type } from 'typebox';
import type { TextPart } from '../../http/coding/text-parts.ts';
import { JsonLines, route } from '../../http/route.ts';
import { Text } from '../shapes.ts';
import { actingDevice } from './acting-device.ts';

/** Pages beyond what was there when the snapshot began. Who writes faster than a device reads is not chased for ever. */
const CHASED_PAGES_MAX = 100;

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
    const device = actingDevice(bearer);
    const { tidemark } = desk;
    const source = params.name;
    const { head, epoch } = await tidemark.partition({ source, user_id: device.user });
    // What can be refused is refused now: once a line has left, there is no way to say anything else.
    const first = await tidemark.devices.page(device, { source, token: query.token || null });
    return new JsonLines(linesFrom(tidemark, { device, source, first, head, epoch }));
  },
});

interface Snapshot {
  readonly device: DeviceId;
  readonly source: string;
  readonly first: DevicePage;
  /** How far the journal went when the snapshot began. */
  readonly head: number;
  readonly epoch: string;
}

/** Each page is read when the one before it has left, so that a slow reader costs no memory. */
async function* linesFrom(tidemark: Tidemark, snapshot: Snapshot): AsyncGenerator<readonly TextPart[]> {
  const { device, source, head, epoch } = snapshot;
  let page = snapshot.first;
  for (let chased = 0; ; page = await tidemark.devices.page(device, { source, token: page.token })) {
    yield [`{"token":"${page.token}",`, ...page.body.parts, '\n'];
    // Whoever asks for the next line has sent this one. One that was broken off is left to the garbage.
    page.release?.();
    if (!page.more) return;
    const token = readToken(page.token);
    // Another life of the partition has nothing to do with what was begun; the device goes on with it when it likes.
    if (token === null || token.epoch !== epoch) return;
    if (token.seq >= head && ++chased >= CHASED_PAGES_MAX) return;
  }
}

export const snapshotRoutes = [snapshot];
