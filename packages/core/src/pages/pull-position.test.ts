import { describe, expect, it } from 'vitest';
import type { PartitionState } from '../ports/store.ts';
import { pageStartOf } from './pull-position.ts';
import type { Token } from './token.ts';

const state: PartitionState = { epoch: 'e', head: 100, floor: 30, size: 9, checksum: 1 };
const token = (seq: number, kind: 'base' | 'start', baseline: number, epoch = 'e'): Token => ({
  epoch,
  seq,
  baseline: { kind, seq: baseline },
  restarts: 0,
});

describe('where a page starts', () => {
  it('[PAGE-1] a page without a token, or with one that is unreadable, of another epoch or ahead of the head, starts over', () => {
    expect(pageStartOf(null, state)).toEqual({ kind: 'reset', reason: 'new_device' });
    expect(pageStartOf('unreadable', state)).toEqual({ kind: 'reset', reason: 'unreadable' });
    expect(pageStartOf(token(50, 'base', 50, 'other'), state)).toEqual({ kind: 'reset', reason: 'epoch' });
    expect(pageStartOf(token(101, 'base', 100), state)).toEqual({ kind: 'reset', reason: 'ahead' });
    expect(pageStartOf(token(50, 'start', 101), state)).toEqual({ kind: 'reset', reason: 'ahead' });
  });

  it('[PAGE-14] a token from before the device was told to start over is void', () => {
    const good = token(50, 'base', 50);
    expect(pageStartOf(good, state, 1)).toEqual({ kind: 'reset', reason: 'restarted' });
    expect(pageStartOf({ ...good, restarts: 2 }, state, 1)).toEqual({ kind: 'reset', reason: 'restarted' });
    expect(pageStartOf({ ...good, restarts: 1 }, state, 1)).toMatchObject({ kind: 'continue', after: 50 });
  });

  it('[PAGE-15] a token of an earlier epoch is good up to the seq at which that epoch ended', () => {
    const earlier = [
      { epoch: 'late', upTo: 60 },
      { epoch: 'early', upTo: 200 },
    ];
    const fallen = { ...state, earlier };
    expect(pageStartOf(token(60, 'base', 60, 'late'), fallen)).toMatchObject({ kind: 'continue', after: 60 });
    expect(pageStartOf(token(61, 'base', 60, 'late'), fallen)).toEqual({ kind: 'reset', reason: 'ahead' });
    expect(pageStartOf(token(50, 'start', 61, 'late'), fallen)).toEqual({ kind: 'reset', reason: 'ahead' });
    expect(pageStartOf(token(101, 'base', 50, 'early'), fallen)).toEqual({ kind: 'reset', reason: 'ahead' });
    expect(pageStartOf(token(29, 'base', 29, 'late'), fallen)).toEqual({ kind: 'reset', reason: 'trimmed' });
    expect(pageStartOf(token(50, 'base', 50, 'unknown'), fallen)).toEqual({ kind: 'reset', reason: 'epoch' });
  });

  it('[PAGE-17] a token from the middle of a catch-up is good while the journal is what it was up to the head of its page', () => {
    const fallen = { ...state, earlier: [{ epoch: 'late', upTo: 60 }] };
    for (const middle of [token(50, 'base', 40, 'late'), token(10, 'start', 55, 'late')]) {
      const goesOn = { kind: 'continue', after: middle.seq, baseline: middle.baseline };
      expect(pageStartOf({ ...middle, head: 60 }, fallen)).toEqual(goesOn);
      expect(pageStartOf({ ...middle, head: 61 }, fallen)).toEqual({ kind: 'reset', reason: 'ahead' });
      // An earlier version gave tokens without the head, which nobody knows any more.
      expect(pageStartOf(middle, fallen)).toEqual({ kind: 'reset', reason: 'ahead' });
      expect(pageStartOf({ ...middle, epoch: 'e' }, fallen)).toEqual(goesOn);
      expect(pageStartOf({ ...middle, epoch: 'e', head: 101 }, fallen)).toEqual({ kind: 'reset', reason: 'ahead' });
    }
  });

  it('[PAGE-2] a token is good while its seq is not below the floor', () => {
    expect(pageStartOf(token(29, 'base', 29), state)).toEqual({ kind: 'reset', reason: 'trimmed' });
    expect(pageStartOf(token(30, 'base', 2), state)).toEqual({
      kind: 'continue',
      after: 30,
      baseline: { kind: 'base', seq: 2 },
    });
    expect(pageStartOf(token(100, 'base', 100), state)).toEqual({
      kind: 'continue',
      after: 100,
      baseline: { kind: 'base', seq: 100 },
    });
  });

  it('[PAGE-3] a token of a device that starts over is good while the floor has not passed the head at which it began', () => {
    expect(pageStartOf(token(2, 'start', 30), state)).toEqual({
      kind: 'continue',
      after: 2,
      baseline: { kind: 'start', seq: 30 },
    });
    expect(pageStartOf(token(99, 'start', 29), state)).toEqual({ kind: 'reset', reason: 'trimmed' });
  });
});
