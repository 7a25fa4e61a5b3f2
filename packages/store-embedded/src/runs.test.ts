import { Dice, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { gapsBytes, readGaps } from './gaps.ts';
import {
  gapsWithout,
  LONG_RUN_BYTES_MAX,
  RUN_RECORD_BYTES_MAX,
  RunBuilder,
  type RunRecord,
  recordsOfRun,
  runBytes,
  runHead,
  SHORT_RUN_BYTES_MAX,
  textInRun,
  thinnedRun,
} from './runs.ts';

function recordOf(seq: number, text: string): RunRecord {
  return { seq, bytes: Buffer.from(text), units: text.length };
}

const RECORDS = [recordOf(7, '"a":{}'), recordOf(9, '"b":{"text":"é😀"}'), recordOf(12, ''), recordOf(13, '"c":{}')];

describe('a run of records', () => {
  it('[RUN-1] is read as it was written, whatever the seq it stands under', () => {
    for (const end of [13, 14, 65_542]) {
      const value = runBytes(RECORDS, end);
      expect(recordsOfRun(value, end)).toEqual(RECORDS);
      const { textStart, ...head } = runHead(value, end);
      const wanted = { count: 4, units: 6 + 18 + 6, firstSeq: 7, lastSeq: 13, isAscii: false, isOneLine: true };
      expect(head).toEqual(wanted);
      expect(runHead(runBytes(RECORDS.slice(2), end), end)).toMatchObject({ count: 2, isAscii: true });
      expect(value.toString('utf8', textStart)).toBe('"a":{},"b":{"text":"é😀"},,"c":{}');
    }
  });

  it.each([
    ['one page', SHORT_RUN_BYTES_MAX, 4_080],
    ['eight pages', LONG_RUN_BYTES_MAX, 32_752],
  ])('[RUN-2] has room for what fits on %s of the file, and no more', (_pages, bytesMax, bytes) => {
    const run = new RunBuilder();
    const text = 'x'.repeat(193);
    let seq = 1;
    while (run.fits(recordOf(seq, text), bytesMax)) run.add(recordOf(seq++, text));
    const { length } = runBytes(run.records, seq);
    expect(length).toBeLessThanOrEqual(bytes);
    expect(length + 4 + text.length + 1).toBeGreaterThan(bytes);
  });

  it('[RUN-2] takes no large record but alone, nothing beside it, and none too far away', () => {
    const large = recordOf(1, 'x'.repeat(RUN_RECORD_BYTES_MAX + 1));
    const fits = (records: readonly RunRecord[], record: RunRecord) =>
      new RunBuilder(records).fits(record, LONG_RUN_BYTES_MAX);
    expect(fits([], large)).toBe(true);
    expect(fits([large], recordOf(2, 'x'))).toBe(false);
    expect(fits([recordOf(0, 'x')], large)).toBe(false);
    expect(fits([recordOf(1, 'x')], recordOf(65_536, 'x'))).toBe(true);
    expect(fits([recordOf(1, 'x')], recordOf(65_537, 'x'))).toBe(false);
  });

  it('[RUN-7] with gaps is read without them, and is the same without some records as one that never had them', () => {
    const dice = new Dice(seededRandom(7));
    const texts = ['', '"a":{}', '"é":{"😀":1}', '"m":{}\n[1]', 'x'.repeat(190), 'y'.repeat(900)];
    for (let round = 0; round < 300; round++) {
      const kinds = texts.filter(() => dice.chance(50));
      const count = dice.between(1, 40);
      const records = Array.from({ length: count }, (_, index) =>
        recordOf(3 * index + dice.below(3), dice.pick(kinds.length === 0 ? texts : kinds)),
      );
      const end = 3 * count + dice.below(100);
      const value = runBytes(records, end);
      const [early, late] = [30, 30].map(
        (percent) => new Set(records.filter(() => dice.chance(percent)).map(({ seq }) => seq)),
      );
      const first = gapsWithout(value, end, [], early as Set<number>)?.gaps ?? [];
      const leaving = new Set([...(late as Set<number>)].filter((seq) => early?.has(seq) !== true));
      const gaps = gapsWithout(value, end, first, leaving)?.gaps ?? [];
      const left = records.filter(({ seq }) => early?.has(seq) !== true && !leaving.has(seq));
      expect(gaps).toHaveLength(count - left.length);
      expect(recordsOfRun(value, end, readGaps(gapsBytes(gaps)))).toEqual(left);
      expect(thinnedRun(value, end, gaps)).toEqual(left.length === 0 ? null : runBytes(left, end));
      for (const { seq, bytes } of records) {
        expect(textInRun(value, end, seq, gaps)).toBe(left.some((one) => one.seq === seq) ? bytes.toString() : null);
      }
    }
  });

  it('[RUN-5] has no gap where it has no record', () => {
    const value = runBytes(RECORDS, 13);
    const bytesAt = (index: number) => RECORDS[index]?.bytes.length ?? 0;
    expect(gapsWithout(value, 13, [], new Set([7, 13]))).toEqual({ gaps: [0, 3], bytes: bytesAt(0) + bytesAt(3) });
    expect(gapsWithout(value, 13, [0], new Set([12]))).toEqual({ gaps: [0, 2], bytes: bytesAt(2) });
    // One that is not there, and one that has gone before.
    expect(gapsWithout(value, 13, [], new Set([7, 8]))).toBeNull();
    expect(gapsWithout(value, 13, [0], new Set([7]))).toBeNull();
  });

  it('[RUN-8] says whether a line feed stands in any of its records', () => {
    const marked = recordOf(14, '"d":{}\n[]');
    expect(runHead(runBytes(RECORDS, 14), 14)).toMatchObject({ count: 4, isOneLine: true });
    const value = runBytes([...RECORDS, marked], 14);
    expect(runHead(value, 14)).toMatchObject({ count: 5, isOneLine: false });
    expect(recordsOfRun(value, 14)).toEqual([...RECORDS, marked]);
    // The seqs and lengths of records may look like one.
    expect(runHead(runBytes([recordOf(4, '0123456789')], 14), 14).isOneLine).toBe(true);
  });

  it('[RUN-6] finds one record without taking the others apart', () => {
    const value = runBytes(RECORDS, 13);
    for (const { seq, bytes } of RECORDS) expect(textInRun(value, 13, seq)).toBe(bytes.toString());
    for (const seq of [6, 8, 14]) expect(textInRun(value, 13, seq)).toBeNull();
  });

  it('[RUN-3] that is cut off or longer than it says is not read', () => {
    const value = runBytes(RECORDS, 13);
    for (let length = 0; length < value.length; length++) {
      expect(() => recordsOfRun(value.subarray(0, length), 13), `${length}`).toThrow();
      expect(() => textInRun(value.subarray(0, length), 13, 7), `${length}`).toThrow();
      expect(() => thinnedRun(value.subarray(0, length), 13, []), `${length}`).toThrow();
    }
    const longer = Buffer.concat([value, Buffer.from('x')]);
    expect(() => recordsOfRun(longer, 13)).toThrow(/damaged/);
    expect(() => textInRun(longer, 13, 7)).toThrow(/damaged/);
    expect(() => thinnedRun(longer, 13, [])).toThrow(/damaged/);
    for (const gaps of [[4], [0, 0], [1, 0]]) expect(() => recordsOfRun(value, 13, gaps)).toThrow(/damaged/);
  });
});
