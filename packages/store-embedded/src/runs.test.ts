import { describe, expect, it } from 'vitest';
import { RUN_RECORD_BYTES_MAX, RunBuilder, type RunRecord, recordsOfRun, runBytes, runHead } from './runs.ts';

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
      expect(head).toEqual({ count: 4, units: 6 + 18 + 6, firstSeq: 7, lastSeq: 13, isAscii: false });
      expect(runHead(runBytes(RECORDS.slice(2), end), end)).toMatchObject({ count: 2, isAscii: true });
      expect(value.toString('utf8', textStart)).toBe('"a":{},"b":{"text":"é😀"},,"c":{}');
    }
  });

  it('[RUN-2] has room for what fits on a page of the file, and no more', () => {
    const run = new RunBuilder();
    const text = 'x'.repeat(193);
    let seq = 1;
    while (run.fits(recordOf(seq, text))) run.add(recordOf(seq++, text));
    const bytes = runBytes(run.records, seq);
    expect(bytes.length).toBeLessThanOrEqual(4_080);
    expect(bytes.length + 4 + text.length + 1).toBeGreaterThan(4_080);
  });

  it('[RUN-2] takes no large record but alone, nothing beside it, and none too far away', () => {
    const large = recordOf(1, 'x'.repeat(RUN_RECORD_BYTES_MAX + 1));
    expect(new RunBuilder().fits(large)).toBe(true);
    expect(new RunBuilder([large]).fits(recordOf(2, 'x'))).toBe(false);
    expect(new RunBuilder([recordOf(0, 'x')]).fits(large)).toBe(false);
    expect(new RunBuilder([recordOf(1, 'x')]).fits(recordOf(65_536, 'x'))).toBe(true);
    expect(new RunBuilder([recordOf(1, 'x')]).fits(recordOf(65_537, 'x'))).toBe(false);
  });

  it('[RUN-3] that is cut off or longer than it says is not read', () => {
    const value = runBytes(RECORDS, 13);
    for (let length = 0; length < value.length; length++) {
      expect(() => recordsOfRun(value.subarray(0, length), 13), `${length}`).toThrow();
    }
    expect(() => recordsOfRun(Buffer.concat([value, Buffer.from('x')]), 13)).toThrow(/damaged/);
  });
});
