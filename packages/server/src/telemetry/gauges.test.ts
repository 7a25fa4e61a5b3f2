import { type Guard, type Jobs, ServerLease, Tidemark } from '@tidemark/core';
import { newTidemark, openMemoryJobs, seededRandom, weakPasswords } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { lastGauge, readSeen, recordGauges, recordSeen } from './gauges.ts';

const LEASE_MS = 6_000;

/** Two servers on one store. */
async function twoServers() {
  const { tidemark: one, store, clock, log } = await newTidemark();
  const random = seededRandom(2);
  const two = new Tidemark({ store, clock, random, log, passwords: weakPasswords(random) });
  const jobs: Jobs = openMemoryJobs({ clock });
  const leaseOf = (serverId: string) =>
    new ServerLease({ store, clock }, { name: 'maintenance', serverId, leaseMs: LEASE_MS });
  return { one, two, store, clock, jobs, leases: [leaseOf('one'), leaseOf('two')] as const };
}

it('[MANY-17] statistics of several servers add up, whenever each flushes them', async () => {
  const { one, two, clock } = await twoServers();
  for (const [tidemark, values] of [
    [one, [1, 2, 3]],
    [two, [10, 20]],
  ] as const) {
    for (const value of values) tidemark.stats.record('http:GET:/x', value, clock.nowMs());
  }
  await Promise.all([one.stats.flush(), two.stats.flush()]);
  two.stats.record('http:GET:/x', 100, clock.nowMs());
  await Promise.all([two.stats.flush(), one.stats.flush()]);
  const all = [expect.objectContaining({ count: 6, sum: 136, min: 1, max: 100 })];
  for (const { stats } of [one, two]) expect(await stats.read({ metric: 'http:GET:/x' })).toEqual(all);
});

it('[MANY-17] gauges of the installation are recorded once per step, also when the leader changes', async () => {
  const { one, two, store, clock, jobs, leases } = await twoServers();
  const [first, second] = leases;
  const partsOf = (tidemark: Tidemark) => ({ tidemark, jobs, listeners: async () => 3 });
  await first.renew();
  const stale = first.fence as Guard;
  expect(await recordGauges(partsOf(one), stale, clock.nowMs())).toBe(true);
  await second.renew();
  clock.advance(LEASE_MS);
  await second.renew();
  const fence = second.fence as Guard;
  expect(await recordGauges(partsOf(two), fence, clock.nowMs())).toBe(false);
  clock.advance(60_000);
  // The delayed server still believes that it is the leader.
  expect(await recordGauges(partsOf(one), stale, clock.nowMs())).toBe(false);
  expect(await recordGauges(partsOf(two), fence, clock.nowMs())).toBe(true);
  const steps = await one.stats.read({ metric: 'users' });
  expect(steps.map(({ count, sum }) => [count, sum])).toEqual([
    [1, 2],
    [1, 2],
  ]);
  expect([await lastGauge(store, 'listeners'), await lastGauge(store, 'nothing')]).toEqual([3, null]);
});

it('[METRICS-6] the memory of an engine that keeps its data there is recorded with the gauges', async () => {
  const { one, store, clock, jobs, leases } = await twoServers();
  await leases[0].renew();
  const { users, clients } = one;
  const memoryBytes = async () => 4_096;
  const parts = { tidemark: { users, clients, store: Object.assign(store, { memoryBytes }) }, jobs };
  await recordGauges({ ...parts, listeners: async () => 0 }, leases[0].fence as Guard, clock.nowMs());
  expect(await lastGauge(store, 'valkey_memory_bytes')).toBe(4_096);
});

it('[CLOCK-1] gauges of the installation are recorded again after a clock that was a day ahead is set back', async () => {
  const { one, clock, jobs, leases } = await twoServers();
  const parts = { tidemark: one, jobs, listeners: async () => 3 };
  await leases[0].renew();
  const fence = leases[0].fence as Guard;
  const nowMs = clock.nowMs();
  for (const atMs of [nowMs + 86_400_000, nowMs]) expect(await recordGauges(parts, fence, atMs)).toBe(true);
  expect(await recordGauges(parts, fence, nowMs)).toBe(false);
});

it('[METRICS-4] devices are counted by when they last synchronised, at most once in ten minutes', async () => {
  const { one, store, clock, leases } = await twoServers();
  const [lease] = leases;
  const seen = async (user: string) => {
    const { client_id: client } = await one.clients.register(user, {});
    const { noted } = await one.devices.pull({ user, client }, { sources: new Map([['Order', null]]) });
    await noted;
  };
  const count = async () => {
    await lease.renew();
    return recordSeen(one, lease.fence as Guard, clock.nowMs());
  };
  await seen('ada');
  clock.advance(2 * 3_600_000);
  await seen('bob');
  await one.clients.register('bob', {});
  expect(await readSeen(store)).toEqual([]);
  expect(await count()).toBe(true);
  const counted = (hour: number) => [
    ...[
      ['1h', hour],
      ['1d', 2],
      ['7d', 2],
      ['30d', 2],
    ],
  ];
  expect(await readSeen(store)).toEqual(counted(1));
  await seen('bob');
  expect(await count()).toBe(false);
  expect(await readSeen(store)).toEqual(counted(1));
  clock.advance(24 * 3_600_000);
  expect(await count()).toBe(true);
  expect(await readSeen(store)).toEqual([
    ...[
      ['1h', 0],
      ['1d', 0],
      ['7d', 3],
      ['30d', 3],
    ],
  ]);
});
