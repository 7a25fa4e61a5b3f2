import { Refusal } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { SNAPSHOTS_MAX, SNAPSHOTS_PER_DEVICE_MAX, SNAPSHOTS_PER_USER_MAX } from '../limits.ts';
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

const device = (user: string) => ({ user, client: `phone of ${user}` });
const PHONE = device('anna');

describe('snapshot slots', () => {
  it('[SNAP-9] a device gets its limit of concurrent snapshots, and another one when one has ended', () => {
    const slots = new SnapshotSlots();
    const giveBack = Array.from({ length: SNAPSHOTS_PER_DEVICE_MAX }, () => slots.take(PHONE));
    expect(refusalOf(() => slots.take(PHONE))).toEqual(['rate_limited', 'number']);
    expect(refusalOf(() => slots.take({ ...PHONE, client: 'tablet' }))).toBeNull();
    giveBack[0]?.();
    giveBack[0]?.();
    expect(refusalOf(() => slots.take(PHONE))).toBeNull();
    expect(refusalOf(() => slots.take(PHONE))).toEqual(['rate_limited', 'number']);
  });

  it('[HARD-72] the devices of one user get only their share of the concurrent snapshots', () => {
    const slots = new SnapshotSlots();
    const ofAnna = (index: number) => slots.take({ user: 'anna', client: `device ${index}` });
    const giveBack = Array.from({ length: SNAPSHOTS_PER_USER_MAX }, (_, index) => ofAnna(index));
    expect(refusalOf(() => ofAnna(SNAPSHOTS_PER_USER_MAX))).toEqual(['rate_limited', 'number']);
    expect(refusalOf(() => slots.take(device('bob')))).toBeNull();
    giveBack[0]?.();
    expect(refusalOf(() => ofAnna(SNAPSHOTS_PER_USER_MAX))).toBeNull();
    expect(SNAPSHOTS_PER_USER_MAX).toBeLessThan(SNAPSHOTS_MAX);
  });

  it('[SNAP-9] a server gives out its limit of concurrent snapshots over all devices', () => {
    const slots = new SnapshotSlots();
    const giveBack = Array.from({ length: SNAPSHOTS_MAX }, (_, index) => slots.take(device(`user ${index}`)));
    expect(refusalOf(() => slots.take(device('late')))).toEqual(['overloaded', 'number']);
    giveBack[7]?.();
    expect(refusalOf(() => slots.take(device('late')))).toBeNull();
  });
});
