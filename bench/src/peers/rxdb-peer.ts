import { BATCH, followPages, inBatches, type Peer, type PeerObject, post, request } from './peer.ts';
import { startPeer, versionOf } from './peer-process.ts';

/** Its server takes bodies of at most 100 kB. */
const WRITE_BATCH = 200;

interface Checkpoint {
  readonly id: string;
  readonly lwt: number;
}

/** RxDB Server with its endpoint for replications. */
export async function rxdbPeer(): Promise<Peer> {
  const { url, pid, stop } = await startPeer('rxdb.mjs');
  return {
    name: 'RxDB Server',
    setUp: `rxdb-server ${versionOf('rxdb-server')} with RxDB ${versionOf('rxdb')}, memory storage, written in batches of ${WRITE_BATCH}`,
    durability: 'none: a restart loses everything',
    pid,
    stop,
    async open(name) {
      const endpoint = `${url}/${name}/0`;
      const known = new Map<string, object>();
      const write = (documents: readonly (PeerObject & { readonly _deleted: boolean })[]) =>
        inBatches(
          documents,
          async (batch) => {
            const rows = batch.map((newDocumentState) => {
              const assumedMasterState = known.get(newDocumentState.id);
              known.set(newDocumentState.id, newDocumentState);
              return { newDocumentState, ...(assumedMasterState === undefined ? {} : { assumedMasterState }) };
            });
            const { text } = await post(`${endpoint}/push`, rows);
            if (text !== '[]') throw new Error(`RxDB reported conflicts: ${text.slice(0, 300)}`);
          },
          WRITE_BATCH,
        );
      return {
        push: (objects) => write(objects.map((object) => ({ ...object, _deleted: false }))),
        remove: (ids) => write(ids.map((id) => ({ ...(known.get(id) as PeerObject), _deleted: true }))),
        sync: (start) =>
          followPages(start, async (position) => {
            const from = position === null ? null : (JSON.parse(position) as Checkpoint);
            const query = from === null ? '' : `&id=${encodeURIComponent(from.id)}&lwt=${from.lwt}`;
            const { text } = await request(`${endpoint}/pull?limit=${BATCH}${query}`);
            const { documents, checkpoint } = JSON.parse(text) as { documents: readonly object[]; checkpoint: unknown };
            const next = checkpoint === null ? (position ?? 'null') : JSON.stringify(checkpoint);
            return { bytes: text.length, entries: documents.length, position: next, isLast: documents.length < BATCH };
          }),
      };
    },
  };
}
