import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import { newFolder } from './fixture.ts';

/** An object and its text, ready to be written. */
type BareObject = readonly [id: string, text: string];

/**
 * The bare library, which writes as Tidemark does: it looks for the object, stores it under its place in the journal and
 * its place under its id, in transactions that are flushed before they are visible. Calls of the same moment share one.
 */
export function bareLmdb() {
  const folder = newFolder();
  const root = open({ path: join(folder, 'raw.mdb'), maxDbs: 4, overlappingSync: false });
  const records = root.openDB<string, Buffer>('records', { encoding: 'string', keyEncoding: 'binary' });
  const index = root.openDB<Buffer, Buffer>('index', { encoding: 'binary', keyEncoding: 'binary' });
  let seq = 0;
  return {
    write: (objects: readonly BareObject[]) =>
      root.transaction(() => {
        for (const [id, text] of objects) {
          const name = Buffer.from(`000000${id}`);
          const before = index.get(name);
          if (before !== undefined) records.remove(before);
          const place = Buffer.alloc(12);
          place.writeUIntBE(++seq, 6, 6);
          records.put(place, text);
          index.put(name, place);
        }
      }),
    close: async () => {
      await root.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
