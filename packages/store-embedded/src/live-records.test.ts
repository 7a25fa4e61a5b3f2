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

/** Under which seqs something stands, and what. */
function placesIn(tables: Tables): readonly (readonly [number, string])[] {
  return [...tables.live.getKeys(placesAfter(PARTITION, -1))].map(([, seq, what]) => [seq, what ?? 'alone'] as const);
}

/** How large what stands there is. A value is good until the next is read. */
function sizesIn(tables: Tables): readonly number[] {
  return Array.from(tables.live.getRange(placesAfter(PARTITION, -1)), ({ value }) => value.length);
}

function remove(tables: Tables, seqs: readonly number[]): void {
  tables.root.transactionSync(() => removeRecords(tables, PARTITION, seqs));
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('records of live objects', () => {
  it('[RUN-4] written one at a time lie in runs of a page, those written at once in runs of eight', async () => {
    const [slowly, atOnce] = [await newTables(), await newTables()];
    for (let head = 0; head < 100; head++) write(slowly, head, 1);
    write(atOnce, 0, 200);
    expect([seqsIn(slowly), seqsIn(atOnce)]).toEqual([upTo(100), upTo(200)]);
    expect([sizesIn(slowly).length, Math.max(...sizesIn(slowly)) <= 4_080]).toEqual([6, true]);
    expect([sizesIn(atOnce).length, Math.max(...sizesIn(atOnce)) > 32_000]).toEqual([2, true]);
  });

  it('[RUN-4] are put to a run only while it is short, so that one more never writes eight pages again', async () => {
    const tables = await newTables();
    write(tables, 0, 50);
    write(tables, 50, 1);
    write(tables, 51, 1);
    expect(placesIn(tables)).toEqual([
      [50, 'run'],
      [52, 'run'],
    ]);
    write(tables, 52, 50);
    expect(placesIn(tables)).toEqual([
      [50, 'run'],
      [102, 'run'],
    ]);
  });

  it('[RUN-4] a first one stands alone, and so does each that is large', async () => {
    const tables = await newTables();
    write(tables, 0, 1);
    expect(placesIn(tables)).toEqual([[1, 'alone']]);
    write(tables, 1, 2, 3_000);
    write(tables, 3, 2);
    expect(placesIn(tables)).toEqual([
      [1, 'alone'],
      [2, 'alone'],
      [3, 'alone'],
      [5, 'run'],
    ]);
  });

  it('[RUN-5] leave the places of others as they are when they go, and nothing behind', async () => {
    const tables = await newTables();
    for (let head = 0; head < 50; head++) write(tables, head, 1);
    const before = placesIn(tables);
    remove(tables, [50, 1, 30, 2]);
    expect(seqsIn(tables)).toEqual(upTo(49).filter((seq) => ![1, 2, 30].includes(seq)));
    expect(placesIn(tables)).toEqual(before);
    remove(tables, seqsIn(tables));
    expect(placesIn(tables)).toEqual([]);
  });

  it('[RUN-7] that go from a long run leave gaps, and when these are many, the rest is written again', async () => {
    const tables = await newTables();
    write(tables, 0, 100);
    write(tables, 100, 100);
    const [size = 0] = sizesIn(tables);
    remove(tables, [30]);
    remove(tables, [100, 1, 31]);
    // The runs themselves were not touched.
    expect(placesIn(tables)).toEqual([
      [100, 'gaps'],
      [100, 'run'],
      [200, 'run'],
    ]);
    expect(sizesIn(tables)).toEqual([8, size, expect.any(Number)]);
    const staying = upTo(200).filter((seq) => ![1, 30, 31, 100].includes(seq));
    expect(seqsIn(tables)).toEqual(staying);
    const records = new RecordFinder(tables, PARTITION);
    for (const seq of staying) expect(records.at(seq)?.split(' ')[0]).toBe(`${seq}`);
    for (const seq of [1, 30, 31, 100]) expect(records.at(seq)).toBeNull();
    expect(() => remove(tables, [31])).toThrow(/seq 31 is missing/);
    // A quarter may be gaps.
    remove(tables, upTo(25).slice(1, 22));
    expect(sizesIn(tables)[1]).toBe(size);
    remove(tables, [50]);
    expect(placesIn(tables)).toEqual([
      [100, 'run'],
      [200, 'run'],
    ]);
    expect(sizesIn(tables)[0]).toBe(size - 26 * 205);
    remove(tables, [60]);
    remove(tables, seqsIn(tables));
    expect(placesIn(tables)).toEqual([]);
  });

  it('[RUN-3] gaps without their run are a run that cannot be read', async () => {
    const tables = await newTables();
    write(tables, 0, 100);
    write(tables, 100, 100);
    remove(tables, [30, 130]);
    await tables.live.remove([PARTITION, 200, 'run']);
    expect(() => seqsIn(tables)).toThrow(/run at seq 200 is damaged/);
    await tables.live.remove([PARTITION, 100, 'run']);
    expect(() => seqsIn(tables)).toThrow(/run at seq 100 is damaged/);
    expect(() => new RecordFinder(tables, PARTITION).at(31)).toThrow(/run at seq 100 is damaged/);
  });

  it('[RUN-5] one that is not there is a fault, and is not passed over', async () => {
    const tables = await newTables();
    write(tables, 0, 5);
    remove(tables, [3]);
    expect(() => remove(tables, [3])).toThrow(/seq 3 is missing/);
    expect(() => remove(tables, [6])).toThrow(/seq 6 is missing/);
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
      remove(tables, [head]);
    }
    expect(seqsIn(tables)).toEqual([1, 65_540]);
  });
});
