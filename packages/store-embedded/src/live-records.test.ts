import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { placesAfter } from './keys.ts';
import { LiveWriter, liveRecords, RecordFinder, removeRecords } from './live-records.ts';
import { MAP_BYTES, openTables, type Tables } from './tables.ts';

const PARTITION = 3;

async function newTables(): Promise<Tables> {
  const folder = await temporaryFolder();
  const tables = openTables(join(folder.path, 'store.mdb'), { mapBytes: MAP_BYTES });
  onTestFinished(async () => {
    await tables.root.close();
    await folder.remove();
  });
  return tables;
}

/** Writes so many records behind `head`, each with so many letters, as one commit does. */
function write(tables: Tables, head: number, count: number, letters = 200): void {
  tables.root.transactionSync(() => {
    const writer = new LiveWriter(tables, PARTITION, head);
    for (let seq = head + 1; seq <= head + count; seq++) {
      const bytes = Buffer.from(`${seq} `.padEnd(letters, 'x'));
      writer.add({ seq, bytes, units: bytes.length });
    }
    writer.flush();
  });
}

function seqsIn(tables: Tables): number[] {
  return [...liveRecords(tables, placesAfter(PARTITION, -1))].map(({ seq }) => seq);
}

/** Under which seqs something stands, and whether that is a run. */
function placesIn(tables: Tables): readonly (readonly [number, boolean])[] {
  return [...tables.live.getKeys(placesAfter(PARTITION, -1))].map(([, seq, isRun]) => [seq, isRun === true] as const);
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('records of live objects', () => {
  it('[RUN-4] written one at a time lie as close together as those written at once', async () => {
    const [slowly, atOnce] = [await newTables(), await newTables()];
    for (let head = 0; head < 100; head++) write(slowly, head, 1);
    write(atOnce, 0, 100);
    expect(seqsIn(slowly)).toEqual(upTo(100));
    expect(placesIn(slowly)).toEqual(placesIn(atOnce));
    expect(placesIn(slowly)).toHaveLength(6);
  });

  it('[RUN-4] a first one stands alone, and so does each that is large', async () => {
    const tables = await newTables();
    write(tables, 0, 1);
    expect(placesIn(tables)).toEqual([[1, false]]);
    write(tables, 1, 2, 3_000);
    write(tables, 3, 2);
    expect(placesIn(tables)).toEqual([
      [1, false],
      [2, false],
      [3, false],
      [5, true],
    ]);
  });

  it('[RUN-5] leave the places of others as they are when they go, and nothing behind', async () => {
    const tables = await newTables();
    write(tables, 0, 50);
    const before = placesIn(tables);
    const remove = (seqs: readonly number[]) =>
      tables.root.transactionSync(() => removeRecords(tables, PARTITION, seqs));
    remove([50, 1, 30, 2]);
    expect(seqsIn(tables)).toEqual(upTo(49).filter((seq) => ![1, 2, 30].includes(seq)));
    expect(placesIn(tables)).toEqual(before);
    remove(seqsIn(tables));
    expect(placesIn(tables)).toEqual([]);
  });

  it('[RUN-5] one that is not there is a fault, and is not passed over', async () => {
    const tables = await newTables();
    write(tables, 0, 5);
    const remove = (seq: number) => tables.root.transactionSync(() => removeRecords(tables, PARTITION, [seq]));
    remove(3);
    expect(() => remove(3)).toThrow(/seq 3 is missing/);
    expect(() => remove(6)).toThrow(/seq 6 is missing/);
    expect(seqsIn(tables)).toEqual([1, 2, 4, 5]);
  });

  it('[RUN-6] are found by their seqs, alone or in runs, in any order', async () => {
    const tables = await newTables();
    write(tables, 0, 40);
    write(tables, 40, 1, 3_000);
    const records = new RecordFinder(tables, PARTITION);
    for (const seq of [17, 18, 1, 41, 40, 16, 17]) expect(records.at(seq)?.split(' ')[0]).toBe(`${seq}`);
    for (const seq of [0, 42]) expect(records.at(seq)).toBeNull();
    expect(new RecordFinder(tables, PARTITION + 1).at(1)).toBeNull();
  });

  it('[RUN-2] an object that changes all the time does not stretch a run beyond what its numbers can say', async () => {
    const tables = await newTables();
    write(tables, 0, 1);
    // Another stays in the run while the newest is replaced again and again.
    for (let head = 65_534; head < 65_540; head++) {
      write(tables, head, 1);
      if (head === 65_534) continue;
      tables.root.transactionSync(() => removeRecords(tables, PARTITION, [head]));
    }
    expect(seqsIn(tables)).toEqual([1, 65_540]);
  });
});
