import { Rng, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import {
  decodeRun,
  encodeRun,
  RunBuilder,
  type RunRecord,
  readRunHead,
  recordInRun,
  SHARED_RECORD_BYTES_MAX,
} from './runs.ts';

function recordOf(seq: number, text: string): RunRecord {
  return { seq, bytes: Buffer.from(text), units: text.length };
}

const RECORDS = [recordOf(7, '"a":{}'), recordOf(9, '"b":{"text":"é😀"}'), recordOf(12, ''), recordOf(13, '"c":{}')];

describe('runs of records', () => {
  it('[RUN-1] a run decodes to the records it was encoded from, whatever its seq', () => {
    for (const runSeq of [13, 14, 65_542]) {
      const value = encodeRun(RECORDS, runSeq);
      expect(decodeRun(value, runSeq)).toEqual(RECORDS);
      const { textStart, ...head } = readRunHead(value, runSeq);
      expect(head).toEqual({ count: 4, units: 6 + 18 + 6, firstSeq: 7, lastSeq: 13, isOneLine: true });
      expect(value.toString('utf8', textStart)).toBe('"a":{},"b":{"text":"é😀"},,"c":{}');
    }
  });

  it('[RUN-1] runs of random records decode to the same records', () => {
    const rng = new Rng(seededRandom(7));
    const texts = ['', '"a":{}', '"é":{"😀":1}', '"m":{}\n[1]', 'x'.repeat(190), 'y'.repeat(900)];
    for (let round = 0; round < 100; round++) {
      const count = rng.between(1, 40);
      const records = Array.from({ length: count }, (_, index) => recordOf(3 * index + rng.below(3), rng.pick(texts)));
      const runSeq = 3 * count + rng.below(100);
      const value = encodeRun(records, runSeq);
      expect(decodeRun(value, runSeq)).toEqual(records);
      for (const { seq, bytes } of records) expect(recordInRun(value, runSeq, seq)).toBe(bytes.toString());
    }
  });

  it('[RUN-2] a run has room for what fits on one page of the file, and for no more', () => {
    const run = new RunBuilder();
    const text = 'x'.repeat(193);
    let seq = 1;
    while (run.hasRoomFor(recordOf(seq, text))) run.add(recordOf(seq++, text));
    const { length } = encodeRun(run.records, seq);
    expect(length).toBeLessThanOrEqual(4_080);
    expect(length + 6 + text.length + 1).toBeGreaterThan(4_080);
  });

  it('[RUN-2] a large record shares its run with no other, and the seqs of a run are less than 65,536 apart', () => {
    const large = recordOf(1, 'x'.repeat(SHARED_RECORD_BYTES_MAX + 1));
    const hasRoom = (records: readonly RunRecord[], record: RunRecord) => new RunBuilder(records).hasRoomFor(record);
    expect(hasRoom([], large)).toBe(true);
    expect(hasRoom([large], recordOf(2, 'x'))).toBe(false);
    expect(hasRoom([recordOf(0, 'x')], large)).toBe(false);
    expect(hasRoom([recordOf(1, 'x')], recordOf(65_536, 'x'))).toBe(true);
    expect(hasRoom([recordOf(1, 'x')], recordOf(65_537, 'x'))).toBe(false);
  });

  it('[RUN-8] the head of a run says whether any of its records contains a line feed', () => {
    const marked = recordOf(14, '"d":{}\n[]');
    expect(readRunHead(encodeRun(RECORDS, 14), 14)).toMatchObject({ count: 4, isOneLine: true });
    const value = encodeRun([...RECORDS, marked], 14);
    expect(readRunHead(value, 14)).toMatchObject({ count: 5, isOneLine: false });
    expect(decodeRun(value, 14)).toEqual([...RECORDS, marked]);
    // Distances and lengths of 10 look like a line feed and are none.
    expect(readRunHead(encodeRun([recordOf(4, '0123456789')], 14), 14).isOneLine).toBe(true);
  });

  it('[RUN-6] a record is found in a run by its seq, and other seqs are not', () => {
    const value = encodeRun(RECORDS, 13);
    for (const { seq, bytes } of RECORDS) expect(recordInRun(value, 13, seq)).toBe(bytes.toString());
    for (const seq of [6, 8, 14]) expect(recordInRun(value, 13, seq)).toBeNull();
  });

  it('[RUN-3] a run that is cut off or longer than its lengths say is not read', () => {
    const value = encodeRun(RECORDS, 13);
    for (let length = 0; length < value.length; length++) {
      expect(() => decodeRun(value.subarray(0, length), 13), `${length}`).toThrow(/damaged/);
      expect(() => recordInRun(value.subarray(0, length), 13, 7), `${length}`).toThrow(/damaged/);
    }
    const longer = Buffer.concat([value, Buffer.from('x')]);
    expect(() => decodeRun(longer, 13)).toThrow(/damaged/);
    expect(() => recordInRun(longer, 13, 7)).toThrow(/damaged/);
  });
});
