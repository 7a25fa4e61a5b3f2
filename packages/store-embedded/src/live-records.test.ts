import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { journalAfter } from './keys.ts';
import { liveRecords, RecordAppender, RecordFinder, removeRecords } from './live-records.ts';
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

/** Appends `count` records of `letters` bytes to a journal whose newest seq is `head`. */
function write(tables: Tables, head: number, count: number, letters = 200): void {
  tables.root.transactionSync(() => {
    const writer = new RecordAppender(tables, PARTITION, head);
    for (let seq = head + 1; seq <= head + count; seq++) {
      const bytes = Buffer.from(`${seq} `.padEnd(letters, 'x'));
      writer.add({ seq, bytes, units: bytes.length });
    }
    writer.flush();
  });
}

function seqsIn(tables: Tables): number[] {
  return [...liveRecords(tables, journalAfter(PARTITION, -1))].map(({ seq }) => seq);
}

/** The seqs of all runs. */
function runsIn(tables: Tables): readonly number[] {
  return [...tables.live.getKeys(journalAfter(PARTITION, -1))].map(([, seq]) => seq);
}

/** The bytes of all runs. */
function sizesIn(tables: Tables): readonly number[] {
  return Array.from(tables.live.getRange(journalAfter(PARTITION, -1)), ({ value }) => value.length);
}

function remove(tables: Tables, seqs: readonly number[]): number {
  return tables.root.transactionSync(() => removeRecords(tables, PARTITION, seqs));
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('records of live objects', () => {
  it('[RUN-4] records share runs of one page, whether they are written one at a time or at once', async () => {
    const [slowly, atOnce] = [await newTables(), await newTables()];
    for (let head = 0; head < 100; head++) write(slowly, head, 1);
    write(atOnce, 0, 100);
    expect([seqsIn(slowly), seqsIn(atOnce)]).toEqual([upTo(100), upTo(100)]);
    expect(sizesIn(slowly)).toEqual(sizesIn(atOnce));
    expect([sizesIn(slowly).length, Math.max(...sizesIn(slowly)) <= 4_080]).toEqual([6, true]);
  });

  it('[RUN-4] new records join the last run while it has room', async () => {
    const tables = await newTables();
    write(tables, 0, 2);
    write(tables, 2, 1);
    expect(runsIn(tables)).toEqual([3]);
    write(tables, 3, 20);
    expect(runsIn(tables)).toEqual([19, 23]);
  });

  it('[RUN-4] a large record has a run of its own', async () => {
    const tables = await newTables();
    write(tables, 0, 1);
    write(tables, 1, 2, 3_000);
    write(tables, 3, 1, 100_000);
    write(tables, 4, 2);
    expect(runsIn(tables)).toEqual([1, 2, 3, 4, 6]);
    expect(new RecordFinder(tables, PARTITION).at(4)).toHaveLength(100_000);
  });

  it('[RUN-5] removing records leaves the other runs as they are, and an empty run is removed', async () => {
    const tables = await newTables();
    for (let head = 0; head < 50; head++) write(tables, head, 1);
    const before = runsIn(tables);
    expect(remove(tables, [50, 1, 30, 2])).toBe(4 * 200);
    expect(seqsIn(tables)).toEqual(upTo(49).filter((seq) => ![1, 2, 30].includes(seq)));
    expect(runsIn(tables)).toEqual(before);
    remove(tables, seqsIn(tables));
    expect(runsIn(tables)).toEqual([]);
  });

  it('[RUN-5] removing a record that is not there fails', async () => {
    const tables = await newTables();
    write(tables, 0, 5);
    remove(tables, [3]);
    expect(() => remove(tables, [3])).toThrow(/seq 3 is missing/);
    expect(() => remove(tables, [6])).toThrow(/seq 6 is missing/);
    expect(seqsIn(tables)).toEqual([1, 2, 4, 5]);
  });

  it('[RUN-6] records are found by their seqs, in any order', async () => {
    const tables = await newTables();
    write(tables, 0, 40);
    write(tables, 40, 1, 3_000);
    const records = new RecordFinder(tables, PARTITION);
    for (const seq of [17, 18, 1, 41, 40, 16, 17]) expect(records.at(seq)?.split(' ')[0]).toBe(`${seq}`);
    for (const seq of [0, 42]) expect(records.at(seq)).toBeNull();
    expect(new RecordFinder(tables, PARTITION + 1).at(1)).toBeNull();
  });

  it('[RUN-2] an object that changes all the time does not keep a run open for more than 65,535 seqs', async () => {
    const tables = await newTables();
    write(tables, 0, 1);
    // The record with seq 1 stays while the newest is replaced again and again.
    for (let head = 65_534; head < 65_540; head++) {
      write(tables, head, 1);
      if (head === 65_534) continue;
      remove(tables, [head]);
    }
    expect(seqsIn(tables)).toEqual([1, 65_540]);
  });
});
