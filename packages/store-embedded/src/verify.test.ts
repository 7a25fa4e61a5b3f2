import { join } from 'node:path';
import { type Finding, inspectRecord, type Store, sharedPartition } from '@tidemark/core';
import { newTidemark, temporaryFolder } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { keyOf } from './keys.ts';
import { openEmbeddedStore } from './open-store.ts';
import { type PartitionRow, partitionName } from './partitions.ts';
import { decodeRun, encodeRun } from './runs.ts';
import { MAP_BYTES, openTables, type Tables } from './tables.ts';

const shared = sharedPartition('Product');

interface Bench {
  readonly store: Store;
  readonly tables: Tables;
  readonly row: PartitionRow;
}

/** A store with live and deleted objects and documents, and its tables to be damaged. */
async function bench(): Promise<Bench> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const store = await openEmbeddedStore({ folder: folder.path });
  const tables = openTables(join(folder.path, 'store.mdb'), { mapBytes: MAP_BYTES });
  onTestFinished(async () => {
    await tables.root.close();
    await store.close();
  });
  const { tidemark } = await newTidemark({ store });
  await tidemark.objects.push({ source: 'Product', objects: { 1: { a: 1 }, 2: { a: 2 }, 3: { a: 3 }, 4: { a: 4 } } });
  await tidemark.objects.pushDeletes({ source: 'Product', objects: ['2', '3'] });
  await store.trim(shared, 5);
  await tidemark.documents.write({ kind: 'server' }, 'd', { data: { 1: { a: 1 } } });
  const row = JSON.parse(tables.partitions.get(partitionName(shared)) ?? '') as PartitionRow;
  return { store, tables, row };
}

async function findings(store: Store): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const finding of store.verify(inspectRecord)) found.push(finding);
  return found;
}

function rewrite({ tables, row }: Bench, over: Partial<PartitionRow>): void {
  tables.partitions.putSync(partitionName(shared), JSON.stringify({ ...row, ...over }));
}

/** Replaces the record with this seq in the first run, or removes it. */
function exchange({ tables, row }: Bench, seq: number, text: string | null): void {
  const records = decodeRun(tables.live.get([row.number, 4]) as Buffer, 4);
  const bytes = Buffer.from(text ?? '');
  const others = records.filter((record) => record.seq !== seq);
  const all = text === null ? others : [...others, { seq, bytes, units: bytes.length }];
  tables.live.putSync([row.number, 4], encodeRun(all, 4));
}

/** What is done to the tables, and the problems that verify must name. */
const DAMAGE: Record<string, { harm: (bench: Bench) => void; problems: Finding['problem'][] }> = {
  'a wrong size': { harm: (bench) => rewrite(bench, { size: 3 }), problems: ['wrong_size'] },
  'a wrong number of bytes': { harm: (bench) => rewrite(bench, { bytes: 9 }), problems: ['wrong_size'] },
  'a wrong number of tombstones': { harm: (bench) => rewrite(bench, { tombstones: 9 }), problems: ['wrong_size'] },
  'too many bytes of tombstones and notes': {
    harm: ({ tables }) => void tables.kept.putSync(partitionName(shared), '999'),
    problems: ['wrong_size'],
  },
  'a wrong checksum': { harm: (bench) => rewrite(bench, { checksum: 1 }), problems: ['wrong_checksum'] },
  'a head that went back': { harm: (bench) => rewrite(bench, { head: 5 }), problems: ['seq_beyond_head'] },
  'a floor above a tombstone': { harm: (bench) => rewrite(bench, { floor: 6 }), problems: ['tombstone_below_floor'] },
  'a lost record': {
    harm: (bench) => exchange(bench, 4, null),
    problems: ['missing_from_journal', 'wrong_size', 'wrong_checksum'],
  },
  'a changed record': {
    harm: (bench) => exchange(bench, 4, '"4":{"a":5}'),
    problems: ['wrong_object_checksum', 'wrong_checksum'],
  },
  'a torn record': {
    harm: (bench) => exchange(bench, 4, '"4":{"a":'),
    problems: ['unreadable', 'wrong_size', 'wrong_checksum'],
  },
  'a torn run': {
    harm: ({ tables, row }) => tables.live.putSync([row.number, 4], Buffer.from([0, 2, 0, 9, 0, 3, 0])),
    problems: ['unreadable', 'missing_from_journal', 'missing_from_journal', 'wrong_size', 'wrong_checksum'],
  },
  'a lost index entry': {
    harm: ({ tables, row }) => tables.index.removeSync([row.number, '4']),
    problems: ['missing_from_index'],
  },
  'an index entry without a record': {
    harm: ({ tables, row }) => tables.index.putSync([row.number, 'ghost'], Buffer.alloc(14, 1)),
    problems: ['missing_from_journal'],
  },
  'a lost tombstone': {
    harm: ({ tables, row }) => tables.tombstones.removeSync([row.number, 6]),
    problems: ['missing_from_journal', 'wrong_size'],
  },
  'a record of no partition': {
    harm: ({ tables }) => tables.live.putSync([999, 1], Buffer.from('"1":{"a":1}')),
    problems: ['orphan'],
  },
  'a tidemark of no partition': {
    harm: ({ tables }) => tables.tidemarks.putSync(keyOf('c', 999), '1....0'),
    problems: ['orphan'],
  },
  'a tidemark that is not in the index': {
    harm: ({ tables, row }) => tables.tidemarks.putSync(keyOf('c', row.number), '1.1..1.0'),
    problems: ['missing_from_index', 'wrong_size'],
  },
  'a part of no document': { harm: ({ tables }) => tables.parts.putSync(keyOf(999, '1'), '{}'), problems: ['orphan'] },
  'a lost part': { harm: ({ tables }) => tables.parts.removeSync(keyOf(1, '1')), problems: ['wrong_size'] },
};

describe('verify', () => {
  it('[VERIFY-1] verify finds nothing in a sound store', async () => {
    const { store } = await bench();
    expect(await findings(store)).toEqual([]);
  });

  it.each(Object.entries(DAMAGE))('[VERIFY-2] verify names %s', async (_name, { harm, problems }) => {
    const made = await bench();
    harm(made);
    const found = await findings(made.store);
    expect(found.map(({ problem }) => problem).sort()).toEqual([...problems].sort());
    for (const { partition, problem } of found) {
      const isOfStore = problem === 'orphan' || partition === null;
      expect(partition).toEqual(isOfStore ? null : shared);
    }
  });
});
