import {
  type Adapter,
  ANNOUNCE_KIND,
  ANNOUNCE_QUEUE,
  announceToAll,
  type Jobs,
  type PingPage,
  PingResults,
  Pings,
  REPEAT_KIND,
  refs,
  repeatToBehind,
  Tidemark,
  userPartition,
} from '@tidemark/core';
import { DEFAULT_LIMITS, PING_REPEAT_FIRST_MS, PING_REPEAT_SEEN_MS, PING_REPEATS_MAX } from '@tidemark/protocol';
import { newTidemark, openMemoryJobs, seededRandom, type TestTidemark, weakPasswords } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Timers } from '../jobs/timers.ts';
import { type RunningNotices, repeatPorts, startPushNotices } from './start-push-notices.ts';

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
  bench.tidemark.objects.push({ source, objects: { [id]: { a: id } }, ...(user_id === undefined ? {} : { user_id }) });

/** Runs the queued announcements. */
async function announceAll(): Promise<void> {
  const handler = announceToAll(bench.store, pings, jobs);
  const lease = () => jobs.lease(ANNOUNCE_QUEUE, 1_000);
  for (let job = await lease(); job !== null; job = await lease()) {
    await handler(job, () => new AbortController().signal);
    await jobs.acknowledge(job);
  }
}

async function listPings(): Promise<readonly PingPage[]> {
  const list = await results.list();
  return Promise.all(list.map(({ ping_id }) => results.get(ping_id)));
}

describe('push_notify', () => {
  it('[PING-41] push_notify pings the user once for all changes within the delay', async () => {
    await bench.tidemark.sources.update('Order', { push_notify: true });
    for (let count = 0; count < 20; count++) await push('Order', String(count), 'ada');
    await pass(999);
    expect(await listPings()).toEqual([]);
    await pass(1);
    expect(await listPings()).toMatchObject([{ actor: null, cause: 'push', sources: ['Order'], users: 1, devices: 1 }]);
    await push('Order', 'later', 'ada');
    await push('Order', 'later', 'bob');
    await pass(1_000);
    expect(await listPings()).toHaveLength(3);
  });

  it('[PING-41] a push that changes nothing, or to a source without push_notify, causes no ping', async () => {
    await push('Order', '1', 'ada');
    await pass(1_000);
    await bench.tidemark.sources.update('Order', { push_notify: true });
    await push('Order', '1', 'ada');
    await pass(1_000);
    expect(await listPings()).toEqual([]);
  });

  it('[PING-41] changes fetched by a refresh cause no ping', async () => {
    await bench.tidemark.sources.update('Order', { push_notify: true });
    await bench.tidemark.objects.replace({ source: 'Order', user_id: 'ada', objects: { 1: { a: 1 } }, since: null });
    await pass(1_000);
    expect(await listPings()).toEqual([]);
  });

  it('[PING-41] all users are pinged about a shared source, in several pings if necessary', async () => {
    await bench.tidemark.sources.update('Product', { push_notify: true });
    for (let index = 0; index < 1_200; index++) await bench.tidemark.users.ensure(`u${index}`);
    await push('Product', '1');
    await pass(1_000);
    await announceAll();
    const pages = await listPings();
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
    expect(await listPings()).toMatchObject([{ sources: ['Order'] }]);
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
    expect(await listPings()).toMatchObject([visit, visit]);
    // The other partition has a smaller sequence number than ada was told of.
    teamOf.set('ada', 'south');
    await bench.tidemark.devices.pull({ user: 'ada', client: 'ada' }, { sources: new Map([['Visit', null]]) });
    await push('Visit', '2', 'ada');
    await pass(0);
    await pass(1_000);
    expect(await listPings()).toMatchObject([visit, visit, visit, visit]);
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
      other.objects.push({ source: 'Order', user_id: 'ada', objects: { [id]: { a: id } } });
    await push('Order', 'here', 'ada');
    await pass(300);
    await pushThere('there');
    await pass(700);
    expect(await listPings()).toHaveLength(1);
    await pass(300);
    // The other server has noticed that everything was announced.
    expect([(await listPings()).length, waiting.length]).toEqual([1, 0]);
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
    expect((await listPings()).length).toBeLessThanOrEqual(1 + 3);
    const { head } = await bench.tidemark.objects.partition({ source: 'Order', user_id: 'ada' });
    const kept = await bench.store.readEntry(refs.noticed(userPartition('Order', 'ada')));
    expect(JSON.parse(kept?.value ?? '')).toMatchObject({ head });
    expect(waiting).toEqual([]);
  });

  it('[MANY-21] announcements under way when the server stops are finished before it has stopped', async () => {
    await bench.tidemark.sources.update('Order', { push_notify: true });
    const other = openOther();
    await other.objects.push({ source: 'Order', user_id: 'ada', objects: { there: { a: 1 } } });
    await pass(500);
    await push('Order', 'here', 'ada');
    await pass(500);
    expect(await listPings()).toHaveLength(1);
    await push('Order', 'later', 'ada');
    setOff(500);
    await notices.stop();
    expect([(await listPings()).length, waiting.length]).toEqual([2, 0]);
  });
});

describe('push_notify until delivered', () => {
  const MINUTE_MS = 60_000;
  const device = (user: string) => ({ user, client: user });

  /** Pulls everything of a source, and acknowledges it. */
  async function catchUp(user: string, source: string, token: string | null = null): Promise<string> {
    const pull = await bench.tidemark.devices.pull(device(user), { sources: new Map([[source, token]]) });
    await pull.noted;
    const page = pull.pages[0]?.page;
    if (page === undefined || 'error' in page) throw new Error('the source has a page');
    await bench.tidemark.devices.acknowledge(device(user), new Map([[source, page.token]]));
    return page.token;
  }

  /** Devices of these users hold the source, whose changes are announced from now on. Returns the token of the last. */
  async function follow(...users: string[]): Promise<string> {
    let token = '';
    for (const user of users) {
      await push('Order', '0', user);
      token = await catchUp(user, 'Order');
    }
    await pass(1_000);
    await bench.tidemark.sources.update('Order', { push_notify: 'until_delivered' });
    return token;
  }

  /** Runs the jobs that are due, as the server would after a restart: nothing of them is in memory. */
  async function runDue(): Promise<void> {
    const ports = repeatPorts({ ...bench, pings, jobs });
    const handlers = new Map([
      [ANNOUNCE_KIND, announceToAll(bench.store, pings, jobs)],
      [REPEAT_KIND, repeatToBehind(ports)],
    ]);
    const lease = () => jobs.lease(ANNOUNCE_QUEUE, 1_000);
    for (let job = await lease(); job !== null; job = await lease()) {
      await handlers.get(job.kind)?.(job, () => new AbortController().signal);
      await jobs.acknowledge(job);
    }
  }

  const causes = async () => (await listPings()).map(({ cause, devices }) => `${cause} ${devices}`);
  const planned = async () => (await jobs.describe(ANNOUNCE_QUEUE)).counts.delayed;

  it('[PING-45] a ping is repeated with growing pauses to devices that are behind, and ends when they acknowledge', async () => {
    const token = await follow('ada');
    await push('Order', '1', 'ada');
    await pass(1_000);
    await runDue();
    expect(await causes()).toEqual(['push 1']);
    await pass(MINUTE_MS - 1);
    await runDue();
    expect(await causes()).toEqual(['push 1']);
    await pass(1);
    await runDue();
    expect(await causes()).toEqual(['repeat 1', 'push 1']);
    await pass(MINUTE_MS);
    await runDue();
    expect(await causes()).toHaveLength(2);
    await pass(MINUTE_MS);
    await runDue();
    expect(await causes()).toEqual(['repeat 1', 'repeat 1', 'push 1']);
    await catchUp('ada', 'Order', token);
    await pass(4 * MINUTE_MS);
    await runDue();
    expect([await causes(), await planned()]).toEqual([['repeat 1', 'repeat 1', 'push 1'], 0]);
  });

  it('[PING-45] a device that never acknowledges gets a bounded number of repetitions', async () => {
    await follow('ada');
    await push('Order', '1', 'ada');
    await pass(1_000);
    for (let round = 0; round < PING_REPEATS_MAX + 5; round++) {
      await pass(PING_REPEAT_FIRST_MS * 2 ** Math.min(round, PING_REPEATS_MAX));
      await runDue();
    }
    expect(await causes()).toHaveLength(1 + PING_REPEATS_MAX);
    expect(await planned()).toBe(0);
    // The next push begins anew.
    await push('Order', '2', 'ada');
    await pass(1_000);
    await pass(MINUTE_MS);
    await runDue();
    expect((await causes()).slice(0, 2)).toEqual(['repeat 1', 'push 1']);
  });

  it('[PING-45] of a shared source only devices are pinged again that have synchronised it lately and are behind', async () => {
    for (const user of ['eve', 'max']) {
      await bench.tidemark.users.ensure(user);
      await bench.tidemark.clients.register(user, { client_id: user, device_type: 'android', device_pin: user });
    }
    await push('Product', '0');
    await catchUp('max', 'Product');
    await pass(PING_REPEAT_SEEN_MS);
    await catchUp('bob', 'Product');
    const token = await catchUp('ada', 'Product');
    await bench.tidemark.sources.update('Product', { push_notify: 'until_delivered' });
    await push('Product', '1');
    await pass(1_000);
    await runDue();
    expect(await causes()).toEqual(['push 4']);
    await catchUp('ada', 'Product', token);
    await pass(MINUTE_MS);
    await runDue();
    expect(await causes()).toEqual(['repeat 1', 'push 4']);
  });

  it('[PING-45] a push during a long pause begins with the shortest, and there is one chain of repetitions', async () => {
    await follow('ada');
    await push('Order', '1', 'ada');
    await pass(1_000);
    for (const minutes of [1, 2, 4]) {
      await pass(minutes * MINUTE_MS);
      await runDue();
    }
    expect(await causes()).toHaveLength(4);
    for (const id of ['2', '3', '4']) {
      await push('Order', id, 'ada');
      await pass(1_000);
    }
    const before = (await causes()).length;
    await pass(MINUTE_MS);
    await runDue();
    expect((await causes()).length).toBe(before + 1);
    // The repetition that was planned first is due now, and finds that it was replaced.
    await pass(7 * MINUTE_MS);
    await runDue();
    expect((await causes()).length).toBe(before + 2);
    expect(await planned()).toBe(1);
  });

  it('[PING-45] a repetition whose server died is run again, and leads to one next repetition', async () => {
    await follow('ada');
    await push('Order', '1', 'ada');
    await pass(1_000);
    await pass(MINUTE_MS);
    const died = await jobs.lease(ANNOUNCE_QUEUE, 1_000);
    if (died === null) throw new Error('a repetition is due');
    await repeatToBehind(repeatPorts({ ...bench, pings, jobs }))(died, () => new AbortController().signal);
    // The lease ends without an acknowledgement.
    await pass(1_000);
    await runDue();
    await pass(2 * MINUTE_MS);
    await runDue();
    expect(await causes()).toEqual(['repeat 1', 'repeat 1', 'repeat 1', 'push 1']);
    expect(await planned()).toBe(1);
  });

  it('[PING-45] nothing is repeated once the source asks for single pings, or is gone', async () => {
    await follow('ada', 'bob');
    await push('Order', '1', 'ada');
    await pass(1_000);
    await bench.tidemark.sources.update('Order', { push_notify: true });
    await pass(MINUTE_MS);
    await runDue();
    expect([await causes(), await planned()]).toEqual([['push 1'], 0]);
    await bench.tidemark.sources.update('Order', { push_notify: 'until_delivered' });
    await push('Order', '1', 'bob');
    await pass(1_000);
    await bench.tidemark.sources.drop('Order');
    await pass(MINUTE_MS);
    await runDue();
    expect([(await causes()).length, await planned()]).toEqual([2, 0]);
  });
});
