import { openMemoryStore, seededRandom, settableClock } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { refs } from '../entries/refs.ts';
import { ServerLease } from './server-lease.ts';

const LEASE_MS = 6_000;

function openServers() {
  const store = openMemoryStore({ random: seededRandom(1) });
  // What their clocks show has nothing to do with each other.
  const [clock, other] = [settableClock(1_000), settableClock(9_000_000_000)];
  const leaseOf = (serverId: string, at = clock) =>
    new ServerLease({ store, clock: at }, { name: 'maintenance', serverId, leaseMs: LEASE_MS });
  const pass = (ms: number) => {
    clock.advance(ms);
    other.advance(ms);
  };
  return { store, pass, one: leaseOf('one'), two: leaseOf('two', other), three: leaseOf('three') };
}

it('[MANY-12] of servers that ask for the leader lease at once, one gets it and keeps it while it renews it', async () => {
  const { one, two, three, pass } = openServers();
  const all = [one, two, three];
  const isHeldBy = async () => Promise.all(all.map((lease) => lease.renew()));
  const first = await isHeldBy();
  expect(first.filter(Boolean)).toHaveLength(1);
  for (let count = 0; count < 10; count++) {
    pass(LEASE_MS / 3);
    expect(await isHeldBy()).toEqual(first);
  }
});

it('[MANY-13] another server takes over the leader lease when its holder has died, and at once when it is released', async () => {
  const { one, two, pass } = openServers();
  await one.renew();
  expect(await two.renew()).toBe(false);
  pass(LEASE_MS - 1);
  expect(await two.renew()).toBe(false);
  pass(1);
  expect(await two.renew()).toBe(true);
  await two.release();
  expect([two.isHeld, await one.renew()]).toEqual([false, true]);
});

it('[MANY-14] a paused holder of the leader lease cannot write after another server has taken over', async () => {
  const { store, one, two, pass } = openServers();
  await one.renew();
  const { fence } = one;
  await two.renew();
  pass(LEASE_MS);
  await two.renew();
  const write = { ...refs.lease('gauges'), value: 'late' };
  expect(fence).not.toBeNull();
  const late = await store.writeEntries({ writes: [write], guards: fence === null ? [] : [fence] });
  expect(late.status).toBe('gone');
  expect([one.isHeld, one.fence, await one.isStillHeld(), await two.isStillHeld()]).toEqual([false, null, false, true]);
  // Letting go of what it has no more takes nothing from the one who has.
  await one.release();
  expect(await two.isStillHeld()).toBe(true);
});

it('[MANY-14] a renewal of the leader lease after a takeover fails', async () => {
  const { one, two, pass } = openServers();
  await one.renew();
  await two.renew();
  pass(LEASE_MS);
  await two.renew();
  expect(await one.renew()).toBe(false);
  expect(await two.renew()).toBe(true);
});
