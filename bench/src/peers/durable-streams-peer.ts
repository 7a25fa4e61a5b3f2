import { followPages, inBatches, type Peer, post, request } from './peer.ts';
import { startPeer, versionOf } from './peer-process.ts';

const NEXT = 'stream-next-offset';
const UP_TO_DATE = 'stream-up-to-date';

/** Durable Streams: a stream holds every change, and a device reads on from its offset. It does not compact. */
export async function durableStreamsPeer(): Promise<Peer> {
  const { url, pid, stop } = await startPeer('durable-streams.mjs');
  return {
    name: 'Durable Streams',
    setUp: `@durable-streams/server ${versionOf('@durable-streams/server')}, files`,
    durability: 'flushed to the disk before the answer',
    pid,
    stop,
    async open(name) {
      const stream = `${url}/${name}`;
      await request(stream, { method: 'PUT', headers: { 'content-type': 'application/json' } });
      const append = (messages: readonly object[]) =>
        inBatches(messages, async (batch) => void (await post(stream, batch)));
      return {
        push: (objects) => append(objects.map((value) => ({ type: 'put', value }))),
        remove: (ids) => append(ids.map((id) => ({ type: 'delete', id }))),
        sync: (start) =>
          followPages(start, async (position) => {
            const { text, headers } = await request(`${stream}?offset=${encodeURIComponent(position ?? '-1')}`);
            const next = headers.get(NEXT);
            if (next === null) throw new Error(`the answer has no ${NEXT}`);
            const entries = text === '' ? 0 : (JSON.parse(text) as readonly object[]).length;
            return { bytes: text.length, entries, position: next, isLast: headers.get(UP_TO_DATE) === 'true' };
          }),
      };
    },
  };
}
