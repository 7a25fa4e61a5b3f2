import { expect, it } from 'vitest';
import { StallWatch, type UnsentBytes } from './stall-watch.ts';

const unsent = (bytesWritten: number, writableLength: number, writeQueueSize: number): UnsentBytes => ({
  bytesWritten,
  writableLength,
  _handle: { writeQueueSize },
});

/** Returns what each check of a new watch counts. */
function checksOf(...states: readonly UnsentBytes[]): readonly number[] {
  const watch = new StallWatch();
  return states.map((state) => watch.check(state));
}

it('[CONN-3] checks count from the last progress inside of one large write', () => {
  const whole = unsent(1_000, 1_000, 1_000);
  const taken = unsent(1_000, 1_000, 400);
  expect(checksOf(whole, whole, taken, taken, taken)).toEqual([1, 2, 0, 1, 2]);
});

it('[CONN-3] a write that is completed is progress, and nothing to send is no stall', () => {
  expect(checksOf(unsent(100, 60, 30), unsent(200, 60, 60), unsent(200, 0, 0), unsent(200, 0, 0))).toEqual([
    0, 0, 0, 0,
  ]);
});

it('[CONN-3] more to send is no progress, so a stream that goes on for a caller who reads nothing is stalled', () => {
  expect(checksOf(unsent(100, 100, 100), unsent(150, 150, 100), unsent(200, 200, 100))).toEqual([1, 2, 3]);
});

it('[CONN-3] a socket that has closed counts as stalled while bytes are left', () => {
  expect(checksOf({ bytesWritten: 10, writableLength: 10, _handle: null })).toEqual([1]);
});
