import { describe, expect, it } from 'vitest';
import type { DeviceTidemark, PartitionState } from '../ports/store.ts';
import { trimPoint } from './trim.ts';

const state: PartitionState = { epoch: 'e', head: 100, floor: 3, size: 1, checksum: 0 };
const terms = { nowMs: 1_000_000, retentionMs: 1_000 };
const mark = (over: Partial<DeviceTidemark>): DeviceTidemark => ({
  client: 'c',
  epoch: 'e',
  seq: 50,
  base: 50,
  start: null,
  seenAtMs: terms.nowMs,
  ...over,
});

describe('trim point', () => {
  it('[TRIM-1] the trim point is the lowest tidemark of recently seen devices, or the head if there are none', () => {
    expect(trimPoint(state, [], terms)).toBe(100);
    expect(trimPoint(state, [mark({}), mark({ seq: 20, base: 10 })], terms)).toBe(20);
  });

  it('[TRIM-2] a device that starts over holds the trim point at the head where it began', () => {
    expect(trimPoint(state, [mark({ seq: 5, base: null, start: 40 })], terms)).toBe(40);
    expect(trimPoint(state, [mark({ seq: 60, base: null, start: 40 })], terms)).toBe(40);
  });

  it('[TRIM-3] devices not seen for the retention time, or of another epoch, do not hold the trim point', () => {
    expect(trimPoint(state, [mark({ seenAtMs: terms.nowMs - terms.retentionMs })], terms)).toBe(50);
    expect(trimPoint(state, [mark({ seenAtMs: terms.nowMs - terms.retentionMs - 1 })], terms)).toBe(100);
    expect(trimPoint(state, [mark({ epoch: 'other' })], terms)).toBe(100);
    const fallen = { ...state, earlier: [{ epoch: 'other', upTo: 50 }] };
    expect(trimPoint(fallen, [mark({ epoch: 'other' })], terms)).toBe(50);
    expect(trimPoint(fallen, [mark({ epoch: 'other', seq: 51 })], terms)).toBe(100);
  });
});
