import {
  type Adapter,
  ANNOUNCE_QUEUE,
  announceToAll,
  type Jobs,
  type PingPage,
  PingResults,
  Pings,
  refs,
  Tidemark,
} from '@tidemark/core';
import { DEFAULT_LIMITS } from '@tidemark/protocol';
import { newTidemark, openMemoryJobs, seededRandom, type TestTidemark, weakPasswords } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Timers } from '../jobs/timers.ts';
import { type RunningNotices, startPushNotices } from './start-push-notices.ts';

/** The team of each user, which decides the partition of `Visit`. */
const teamOf = new Map<string, string>();
const teams = { partition: async ({ user }: { readonly user: string }) => teamOf.get(user) ?? null };

let bench: TestTidemark;
let jobs: Jobs;
let results: PingResults;
let pings: Pings;
let notices: RunningNotices;
let timers: Timers;
let waiting: { readonly atMs: number; readonly callback: () => void }[];

beforeEach(async () => {
  teamOf.clear();
  bench = await newTidemark({
    adapters: { find: (name) => (name === 'teams' ? (teams as unknown as Adapter) : null) },
  });
  jobs = openMemoryJobs({ clock: bench.clock, jobsPerQueueMax: 10_000 });
  results = new PingResults(bench);
  pings = new Pings({ ...bench, jobs, results, random: seededRandom(1), limits: DEFAULT_LIMITS, by: 'here' });
  waiting = [];
  timers = {
    after(delayMs, callback) {
      const timer = { atMs: bench.clock.nowMs() + delayMs, callback };
      waiting.push(timer);
      return () => waiting.splice(waiting.indexOf(timer), 1);
    },
  };
  notices = startPushNotices({ ...bench, pings, jobs, delayMs: 1_000, timers });
  for (const user of ['ada', 'bob']) {
    await bench.tidemark.clients.register(user, { client_id: user, device_type: 'android', device_pin: `pin-${user}` });
  }
});

/** Moves the clock and lets all effects settle. */
async function pass(ms: number): Promise<void> {
  setOff(ms);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function setOff(ms: number): void {
  bench.clock.advance(ms);
  const due = waiting.filter(({ atMs }) => atMs <= bench.clock.nowMs());
  for (const timer of due) {
    waiting.splice(waiting.indexOf(timer), 1);
    timer.callback();
  }
}

const push = (source: string, id: string, user_id?: string) =>
  bench.tidemark.pushObjects({ source, objects: { [id]: { a: id } }, ...(user_id === undefined ? {} : { user_id }) });

/** Runs the queued announcements. */
async function announceAll(): Promise<void> {
  const handler = announceToAll(bench.store, pings, jobs);
  const lease = () => jobs.lease(ANNOUNCE_QUEUE, 1_000);
  for (let job = await lease(); job !== null; job = await lease()) {
    await handler(job, () => new AbortController().signal);
    await jobs.acknowledge(job);
  }
}

async function told(): Promise<readonly PingPage[]> {
  const list = await results.list();
  return Promise.all(list.map(({ ping_id }) => results.get(ping_id)));
}

describe('push_notify', () => {
  it('[PING-41] push_notify pings the user once for all changes within the delay', async () => {
    await bench.tidemark.sources.update('Order', { push_notify: true });
    for (let count = 0; count < 20; count++) await push('Order', String(count), 'ada');
    await pass(999);
    expect(await told()).toEqual([]);
    await pass(1);
    expect(await told()).toMatchObject([{ actor: null, cause: 'push', sources: ['Order'], users: 1, devices: 1 }]);
    await push('Order', 'later', 'ada');
    await push('Order', 'later', 'bob');
    await pass(1_000);
    expect(await told()).toHaveLength(3);
  });

  it('[PING-41] a push that changes nothing, or to a source without push_notify, causes no ping', async () => {
    await push('Order', '1', 'ada');
    await pass(1_000);
    await bench.tidemark.sources.update('Order', { push_notify: true });
    await push('Order', '1', 'ada');
    await pass(1_000);
    expect(await told()).toEqual([]);
  });

  it('[PING-41] changes fetched by a refresh cause no ping', async () => {
    await bench.tidemark.sources.update('Order', { push_notify: true });
    await bench.tidemark.replaceObjects({ source: 'Order', user_id: 'ada', objects: { 1: { a: 1 } }, since: null });
    await pass(1_000);
    expect(await told()).toEqual([]);
  });

  it('[PING-41] all users are pinged about a shared source, in several pings if necessary', async () => {
    await bench.tidemark.sources.update('Product', { push_notify: true });
    for (let index = 0; index < 1_200; index++) await bench.tidemark.users.ensure(`u${index}`);
    await push('Product', '1');
    await pass(1_000);
    await announceAll();
    const pages = await told();
    expect(pages.map(({ users }) => users).sort()).toEqual([1_000, 202]);
    expect(pages.reduce((sum, { devices }) => sum + devices, 0)).toBe(2);
  });

  it('[PING-41] collected changes are announced when the server stops, except for deleted sources', async () => {
    await bench.tidemark.sources.update('Order', { push_notify: true });
    await bench.tidemark.sources.update('Product', { push_notify: true });
    await push('Order', '1', 'ada');
    await push('Product', '1');
    await bench.tidemark.sources.drop('Product');
    await notices.stop();
    expect(await told()).toMatchObject([{ sources: ['Order'] }]);
    await push('Order', '2', 'ada');
    expect(waiting).toEqual([]);
  });

  it('[PING-41] for a custom partition its members are pinged', async () => {
    await bench.tidemark.sources.declare({ name: 'Visit', adapter: 'teams', poll_interval: -1, push_notify: true });
    teamOf.set('ada', 'north').set('bob', 'north').set('eve', 'south');
    await bench.tidemark.users.ensure('eve');
    for (const user of teamOf.keys()) {
      const device = { user, client: user };
      await bench.tidemark.clients.register(user, { client_id: user, device_type: 'android', device_pin: user });
      await bench.tidemark.devices.pull(device, { sources: new Map([['Visit', null]]) });
    }
    const visit = { sources: ['Visit'], users: 1, devices: 1 };
    for (const id of ['0', '1']) await push('Visit', id, 'ada');
    await pass(0);
    await pass(1_000);
    expect(await told()).toMatchObject([visit, visit]);
    // The other partition has a smaller sequence number than ada was told of.
    teamOf.set('ada', 'south');
    await bench.tidemark.devices.pull({ user: 'ada', client: 'ada' }, { sources: new Map([['Visit', null]]) });
    await push('Visit', '2', 'ada');
    await pass(0);
    await pass(1_000);
    expect(await told()).toMatchObject([visit, visit, visit, visit]);
  });
});

describe('push_notify by several servers', () => {
  /** Opens another server on the same store. */
  const openOther = () => {
    const random = seededRandom(2);
    const tidemark = new Tidemark({ ...bench, random, passwords: weakPasswords(random) });
    startPushNotices({ ...bench, tidemark, pings, jobs, delayMs: 1_000, timers });
    return tidemark;
  };

  it('[MANY-21] several servers together ping once per delay, and miss no change', async () => {
    await bench.tidemark.sources.update('Order', { push_notify: true });
    const other = openOther();
    const pushThere = (id: string) =>
      other.pushObjects({ source: 'Order', user_id: 'ada', objects: { [id]: { a: id } } });
    await push('Order', 'here', 'ada');
    await pass(300);
    await pushThere('there');
    await pass(700);
    expect(await told()).toHaveLength(1);
    await pass(300);
    // The other server has noticed that everything was announced.
    expect([(await told()).length, waiting.length]).toEqual([1, 0]);
    await pass(700);
    for (let count = 0; count < 20; count++) {
      await push('Order', `here ${count}`, 'ada');
      await pass(50);
      await pushThere(`there ${count}`);
      await pass(50);
    }
    await pass(1_000);
    await pass(1_000);
    // The pushes of both servers in those two seconds, and the rest.
    expect((await told()).length).toBeLessThanOrEqual(1 + 3);
    const { head } = await bench.tidemark.partition({ source: 'Order', user_id: 'ada' });
    const kept = await bench.store.readEntry(refs.noticed({ source: 'Order', user: 'ada' }));
    expect(JSON.parse(kept?.value ?? '')).toMatchObject({ head });
    expect(waiting).toEqual([]);
  });

  it('[MANY-21] announcements under way when the server stops are finished before it has stopped', async () => {
    await bench.tidemark.sources.update('Order', { push_notify: true });
    const other = openOther();
    await other.pushObjects({ source: 'Order', user_id: 'ada', objects: { there: { a: 1 } } });
    await pass(500);
    await push('Order', 'here', 'ada');
    await pass(500);
    expect(await told()).toHaveLength(1);
    await push('Order', 'later', 'ada');
    setOff(500);
    await notices.stop();
    expect([(await told()).length, waiting.length]).toEqual([2, 0]);
  });
});
