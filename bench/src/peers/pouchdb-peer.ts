import { BATCH, followPages, inBatches, type Peer, post, request } from './peer.ts';
import { startPeer, versionOf } from './peer-process.ts';

/** PouchDB Server. Devices read its changes with the documents, as a replication does. */
export async function pouchdbPeer(): Promise<Peer> {
  const { url, pid, stop } = await startPeer('pouchdb.mjs');
  return {
    name: 'PouchDB Server',
    setUp: `express-pouchdb ${versionOf('express-pouchdb')} with PouchDB ${versionOf('pouchdb')} on LevelDB`,
    durability: 'in files, not flushed: a power cut may take the last writes',
    pid,
    stop,
    async open(name) {
      const database = `${url}/${name}`;
      await request(database, { method: 'PUT' });
      // A write names the revision it replaces.
      const revisions = new Map<string, string>();
      const write = (documents: readonly { readonly _id: string }[]) =>
        inBatches(documents, async (batch) => {
          const docs = batch.map((document) => ({ ...document, _rev: revisions.get(document._id) }));
          const { text } = await post(`${database}/_bulk_docs`, { docs });
          for (const { id, rev } of JSON.parse(text) as readonly { id: string; rev?: string }[]) {
            if (rev === undefined) throw new Error(`PouchDB did not write ${id}: ${text.slice(0, 300)}`);
            revisions.set(id, rev);
          }
        });
      return {
        push: (objects) => write(objects.map(({ id, ...attributes }) => ({ _id: id, ...attributes }))),
        remove: (ids) => write(ids.map((_id) => ({ _id, _deleted: true }))),
        sync: (start) =>
          followPages(start, async (position) => {
            const since = position ?? '0';
            const { text } = await request(`${database}/_changes?include_docs=true&limit=${BATCH}&since=${since}`);
            const { results, last_seq } = JSON.parse(text) as { results: readonly object[]; last_seq: number };
            const isLast = results.length < BATCH;
            return { bytes: text.length, entries: results.length, position: String(last_seq), isLast };
          }),
      };
    },
  };
}
