import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { sharedPartition } from '@tidemark/core';
import { open } from 'lmdb';
import { type Fixture, SOURCE } from '../fixture.ts';
import type { Row } from '../row.ts';

const DEVICES = 5_000;
const BYTES_MAX = 300;
/** Where the embedded store keeps tidemarks, and their index. */
const TABLES = ['client_marks', 'acknowledgements', 'acknowledgement_counts'];

/** What a device at rest costs: the pages of the file that its tidemarks fill, however large the document is. */
export async function deviceBytes(fixture: Fixture): Promise<Row> {
  const partition = sharedPartition(SOURCE);
  const state = await fixture.store.partition(partition);
  const before = await usedBytes(fixture);
  for (let device = 0; device < DEVICES; device += 500) {
    const notes = Array.from({ length: 500 }, () =>
      fixture.store.noteTidemark(
        partition,
        {
          client: randomBytes(16).toString('base64url'),
          epoch: state.epoch,
          seq: state.head,
          base: state.head,
          start: null,
          seenAtMs: Date.now(),
        },
        [],
      ),
    );
    await Promise.all(notes);
  }
  const bytes = ((await usedBytes(fixture)) - before) / DEVICES;
  if (bytes <= 0) throw new Error('the tables that are measured do not hold the tidemarks');
  return {
    name: 'a device at rest, bytes of store per source',
    measured: `${Math.round(bytes)} with ${fixture.objects} objects`,
    against: `${BYTES_MAX} allowed`,
    ratio: bytes / BYTES_MAX,
    bound: { atMost: 1 },
  };
}

interface TreeStats {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

/** All pages of all tables; free pages belong to nobody. */
async function usedBytes({ folder }: Fixture): Promise<number> {
  const root = open({ path: join(folder, 'store.mdb'), maxDbs: 32, overlappingSync: false });
  const bytes = TABLES.map((name) => {
    const stats = root.openDB(name, { encoding: 'string', keyEncoding: 'binary' }).getStats() as TreeStats;
    return stats.pageSize * (stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages);
  });
  await root.close();
  return bytes.reduce((sum, value) => sum + value, 0);
}
