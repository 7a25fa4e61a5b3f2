import { Refusal } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { SNAPSHOTS_MAX, SNAPSHOTS_PER_DEVICE_MAX } from '../limits.ts';
import { SnapshotSlots } from './snapshot-slots.ts';

function refusalOf(take: () => unknown): unknown {
  try {
    take();
  } catch (error) {
    if (error instanceof Refusal) return [error.code, typeof error.retryAfterS];
    throw error;
  }
  return null;
}

describe('snapshot slots', () => {
  it('[SNAP-9] a device gets its limit of concurrent snapshots, and another one when one has ended', () => {
    const slots = new SnapshotSlots();
    const giveBack = Array.from({ length: SNAPSHOTS_PER_DEVICE_MAX }, () => slots.take('phone'));
    expect(refusalOf(() => slots.take('phone'))).toEqual(['rate_limited', 'number']);
    expect(refusalOf(() => slots.take('tablet'))).toBeNull();
    giveBack[0]?.();
    giveBack[0]?.();
    expect(refusalOf(() => slots.take('phone'))).toBeNull();
    expect(refusalOf(() => slots.take('phone'))).toEqual(['rate_limited', 'number']);
  });

  it('[SNAP-9] a server gives out its limit of concurrent snapshots over all devices', () => {
    const slots = new SnapshotSlots();
    const giveBack = Array.from({ length: SNAPSHOTS_MAX }, (_, index) => slots.take(`device ${index}`));
    expect(refusalOf(() => slots.take('late'))).toEqual(['overloaded', 'number']);
    giveBack[7]?.();
    expect(refusalOf(() => slots.take('late'))).toBeNull();
  });
});
