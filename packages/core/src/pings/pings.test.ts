import { claimPushNotice } from '@tidemark/core';
import {
  DEFAULT_LIMITS,
  type Limits,
  PING_DEVICES_MAX,
  PING_MESSAGE_UNITS_MAX,
  PING_SOURCES_MAX,
  PING_TEXT_UNITS_MAX,
  PING_USERS_MAX,
  PING_VIBRATE_S_MAX,
} from '@tidemark/protocol';
import {
  newTidemark,
  openMemoryJobs,
  refusalOf,
  seededRandom,
  settableClock,
  type TestTidemark,
} from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { refs } from '../entries/refs.ts';
import type { JobHandler, Jobs, LeasedJob } from '../ports/jobs.ts';
import { JobFailure } from '../ports/jobs.ts';
import type { PingMessage, PingOutcome, PingTarget } from '../ports/notifier.ts';
import { userPartition } from '../ports/owner.ts';
import { deliverPing } from './deliver-ping.ts';
import { PingResults } from './ping-results.ts';
import { PING_KIND, Pings, pingQueue } from './pings.ts';
import { RecentPings } from './recent-pings.ts';

const SECRET = 'address-of-the-device';
/** Where the jobs of Android devices wait. */
const PING_QUEUE = pingQueue('fcm');
const BY = 'this process';
const ACCEPTED: PingOutcome = { status: 'accepted' };

let bench: TestTidemark;
let jobs: Jobs;
let pings: Pings;
let results: PingResults;
let recent: RecentPings;

beforeEach(async () => {
  bench = await newTidemark();
  results = new PingResults(bench);
  recent = new RecentPings(BY);
  ({ jobs, pings } = onJobs());
});

function onJobs(limits: Partial<Limits> = {}, jobsPerQueueMax = 1_000): { readonly jobs: Jobs; readonly pings: Pings } {
  const { store, clock } = bench;
  const engine = openMemoryJobs({ clock, jobsPerQueueMax });
  const isCaughtUp = (user: string, client: string, sources: readonly string[]) =>
    bench.tidemark.receipts.isCaughtUp(user, client, sources);
  const ports = { store, clock, jobs: engine, random: seededRandom(3), results, by: BY, isCaughtUp };
  return { jobs: engine, pings: new Pings({ ...ports, limits: { ...DEFAULT_LIMITS, ...limits } }) };
}

async function register(user: string, client: string, attributes: object = {}): Promise<void> {
  const device = { device_type: 'android', device_pin: `${SECRET}-${client}`, ...attributes };
  await bench.tidemark.clients.register(user, { client_id: client, ...device });
}

const send = (call: unknown) => pings.send(call, 'admin');

/** Runs what is due on a notifier that answers so; whom it told what, and how each job ended. */
async function deliver(answer: (target: PingTarget) => PingOutcome | Promise<PingOutcome> = () => ACCEPTED) {
  const heard: { target: PingTarget; ping: PingMessage }[] = [];
  const outcomes: string[] = [];
  const handler: JobHandler = deliverPing({
    store: bench.store,
    clock: bench.clock,
    results,
    recent,
    notifier: {
      notify: async (target, ping) => {
        heard.push({ target, ping });
        return answer(target);
      },
    },
    onOutcome: ({ deviceType, status }) => void outcomes.push(`${deviceType} ${status}`),
  });
  const failures: unknown[] = [];
  for (let job = await jobs.lease(PING_QUEUE, 1_000); job !== null; job = await jobs.lease(PING_QUEUE, 1_000)) {
    await handler(job, () => new AbortController().signal).catch((error: unknown) => failures.push(error));
    await jobs.acknowledge(job);
  }
  return { notified: heard, outcomes, failures };
}

async function payloads(): Promise<string[]> {
  const found: string[] = [];
  for (let job = await jobs.lease(PING_QUEUE, 1_000); job !== null; job = await jobs.lease(PING_QUEUE, 1_000)) {
    found.push(job.payload);
  }
  return found;
}

describe('sending a ping', () => {
  it('[PING-1] a ping enqueues one job for every device of its users, and the answer counts them', async () => {
    await register('ada', 'a1');
    await register('ada', 'a2');
    await register('bob', 'b1');
    const call = {
      user_id: ['ada', 'bob'],
      sources: ['Order', 'Product'],
      message: 'hi',
      badge: 3,
      sound: 's',
      vibrate: 2.5,
    };
    const report = await send(call);
    expect(report).toEqual({
      ping_id: expect.stringMatching(/^[0-9A-Za-z]{31}$/),
      users: 2,
      devices: 3,
      skipped: [],
      unknown_users: [],
    });
    const { jobs: views } = await jobs.inspect(PING_QUEUE, 'due', { limit: 10 });
    expect(views.map(({ kind }) => kind)).toEqual([PING_KIND, PING_KIND, PING_KIND]);
    const { notified, failures } = await deliver();
    expect(failures).toEqual([]);
    const content = { sources: ['Order', 'Product'], message: 'hi', badge: 3, sound: 's', vibrateS: 2.5 };
    const byClient = new Map(notified.map(({ target, ping }) => [target.client, { target, ping }]));
    expect([...byClient.keys()].sort()).toEqual(['a1', 'a2', 'b1']);
    expect(byClient.get('b1')).toEqual({
      target: {
        client: 'b1',
        deviceType: 'android',
        pushType: 'fcm',
        devicePin: `${SECRET}-b1`,
        devicePort: null,
        appId: null,
      },
      ping: { id: expect.stringMatching(`^${report.ping_id}_fcm[0-2]$`), ...content },
    });
    expect(new Set(notified.map(({ ping }) => ping.id)).size).toBe(3);
  });

  it('[PING-1] a ping to a user without devices, and a ping without content, are accepted', async () => {
    expect(await send({ user_id: 'ada' })).toMatchObject({ users: 1, devices: 0, skipped: [], unknown_users: [] });
    await register('ada', 'a1');
    expect(await send({ user_id: 'ada', message: null, sources: null })).toMatchObject({ devices: 1 });
    expect((await deliver()).notified[0]?.ping).toEqual({ id: expect.any(String), sources: [] });
    expect(await send({ user_id: [] })).toMatchObject({ users: 0, devices: 0 });
  });

  it('[PING-2] user_id is one login or a list, and a repeated login counts once', async () => {
    await register('ada', 'a1');
    expect(await send({ user_id: 'ada' })).toMatchObject({ users: 1, devices: 1 });
    expect(await send({ user_id: ['ada', 'ada'] })).toMatchObject({ users: 1, devices: 1 });
  });

  it('[PING-2] an invalid user_id is refused', async () => {
    for (const user_id of [undefined, null, 5, {}, true, ['ada', 5], [['ada']], [null]]) {
      expect(await refusalOf(send({ user_id, message: 'x' }))).toBe('invalid_request');
    }
    for (const user_id of ['', '*', ['ada', '__proto__'], 'x'.repeat(256), 'a\u0000', ['\ud800']]) {
      expect(await refusalOf(send({ user_id }))).toBe('invalid_name');
    }
    for (const call of [null, 'ada', ['ada'], 5]) expect(await refusalOf(send(call))).toBe('invalid_request');
    expect(await refusalOf(send(JSON.parse('{"user_id":"ada","__proto__":1}')))).toBe('forbidden_key');
  });

  it(`[PING-2] ${PING_USERS_MAX} users are allowed, one more is not`, async () => {
    const users = Array.from({ length: PING_USERS_MAX }, (_, number) => `u${number}`);
    expect((await send({ user_id: users })).unknown_users.length).toBe(PING_USERS_MAX);
    expect(await refusalOf(send({ user_id: [...users, 'one more'] }))).toBe('limit_exceeded');
  });

  it('[PING-3] unknown users are listed in the answer, and the others get the ping', async () => {
    await register('ada', 'a1');
    const report = await send({ user_id: ['nobody', 'ada', 'no one'] });
    expect(report).toMatchObject({ users: 1, devices: 1, unknown_users: ['nobody', 'no one'] });
    expect(await send({ user_id: 'nobody' })).toMatchObject({ users: 0, devices: 0, unknown_users: ['nobody'] });
  });

  it('[PING-4] sources is one name or a list, and the sources must exist', async () => {
    await register('ada', 'a1');
    await send({ user_id: 'ada', sources: 'Order' });
    await send({ user_id: 'ada', sources: ['Product', 'Order', 'Product'] });
    const { notified } = await deliver();
    expect(notified.map(({ ping }) => ping.sources)).toEqual([['Order'], ['Product', 'Order']]);
    expect(await refusalOf(send({ user_id: 'ada', sources: ['Order', 'order'] }))).toBe('source_not_found');
    expect(await refusalOf(send({ user_id: 'nobody', sources: 'Nothing' }))).toBe('source_not_found');
    for (const sources of [5, {}, ['Order', null]]) {
      expect(await refusalOf(send({ user_id: 'ada', sources }))).toBe('invalid_request');
    }
    for (const sources of ['', '*']) expect(await refusalOf(send({ user_id: 'ada', sources }))).toBe('invalid_name');
    const many = Array.from({ length: PING_SOURCES_MAX + 1 }, () => 'Order');
    expect(await send({ user_id: 'ada', sources: many.slice(1) })).toMatchObject({ devices: 1 });
    expect(await refusalOf(send({ user_id: 'ada', sources: many }))).toBe('limit_exceeded');
  });

  it('[PING-5] message, badge, sound and vibrate are checked', async () => {
    await register('ada', 'a1');
    const text = 'x'.repeat(PING_TEXT_UNITS_MAX);
    const good = [
      { message: '' },
      { message: 'x'.repeat(PING_MESSAGE_UNITS_MAX) },
      { badge: 0 },
      { badge: -1 },
      { badge: '+1' },
      { badge: text },
      { sound: text },
      { vibrate: 0 },
      { vibrate: 0.25 },
      { vibrate: PING_VIBRATE_S_MAX },
    ];
    for (const fields of good) expect(await send({ user_id: 'ada', ...fields })).toMatchObject({ devices: 1 });
    expect(await refusalOf(send({ user_id: 'ada', message: 'x'.repeat(PING_MESSAGE_UNITS_MAX + 1) }))).toBe(
      'body_too_large',
    );
    expect(await refusalOf(send({ user_id: 'ada', message: 'x'.repeat(1_000_000) }))).toBe('body_too_large');
    const bad = [
      { message: 5 },
      { message: ['x'] },
      { message: '\ud800' },
      { badge: {} },
      { badge: 1.5 },
      { badge: true },
      { badge: `${text}x` },
      { sound: 5 },
      { sound: `${text}x` },
      { sound: '\udc00' },
      { vibrate: 'x' },
      { vibrate: '5' },
      { vibrate: -1 },
      { vibrate: PING_VIBRATE_S_MAX + 1 },
      { vibrate: Number.NaN },
    ];
    for (const fields of bad) expect(await refusalOf(send({ user_id: 'ada', ...fields }))).toBe('invalid_value');
    expect(await refusalOf(send({ user_id: 'ada', mesage: 'typing error' }))).toBe('invalid_request');
  });

  it('[PING-5] an api_token in the body is accepted and ignored', async () => {
    await register('ada', 'a1');
    for (const api_token of ['tmk_secret', 5, { deep: 'tmk_secret' }, null]) {
      expect(await send({ user_id: 'ada', message: 'x', api_token })).toMatchObject({ devices: 1 });
    }
    const carried = await payloads();
    expect(carried.length).toBe(4);
    expect(carried.join('')).not.toContain('tmk_secret');
    expect(carried.join('')).not.toContain('api_token');
  });

  it('[PING-6] the answer lists the skipped devices', async () => {
    await register('ada', 'a1');
    await bench.tidemark.clients.noteSync('a1', bench.clock.nowMs());
    await register('ada', 'a2', { device_pin: null });
    await register('ada', 'a3', { device_type: null });
    await register('ada', 'a4', { device_pin: `${SECRET}-a1` });
    const { devices, skipped } = await send({ user_id: 'ada' });
    expect(devices).toBe(1);
    expect(skipped).toHaveLength(3);
    expect(new Map(skipped.map(({ client_id, reason }) => [client_id, reason]))).toEqual(
      new Map([
        ['a2', 'no_device_pin'],
        ['a3', 'no_device_type'],
        ['a4', 'duplicate'],
      ]),
    );
  });

  it('[PING-7] a phone that two users share gets one ping, at its latest registration', async () => {
    const phone = { phone_id: 'p', device_app_id: 'a' };
    await register('ada', 'a1', phone);
    await register('bob', 'b1', phone);
    await bench.tidemark.clients.noteSync('a1', bench.clock.nowMs());
    bench.clock.advance(60_000);
    await bench.tidemark.clients.noteSync('b1', bench.clock.nowMs());
    const report = await send({ user_id: ['ada', 'bob'] });
    expect(report).toMatchObject({ devices: 1, skipped: [{ client_id: 'a1', reason: 'duplicate' }] });
    expect((await deliver()).notified.map(({ target }) => target.client)).toEqual(['b1']);
  });

  it('[PING-8] a caller beyond the quota is refused, and other callers are not', async () => {
    await register('ada', 'a1');
    ({ jobs, pings } = onJobs({ pingsPerMinuteMax: 2 }));
    for (let count = 0; count < 2; count++) await send({ user_id: 'ada' });
    expect(await refusalOf(send({ user_id: 'ada' }))).toBe('rate_limited');
    await pings.send({ user_id: 'ada' }, 'another');
    bench.clock.advance(30_000);
    await send({ user_id: 'ada' });
    expect((await jobs.describe(PING_QUEUE)).counts.due).toBe(4);
  });

  it('[PING-9] a ping enqueues no job when it cannot enqueue all of them', async () => {
    for (const client of ['a1', 'a2', 'a3']) await register('ada', client);
    ({ jobs, pings } = onJobs({}, 2));
    expect(await refusalOf(send({ user_id: 'ada' }))).toBe('queue_full');
    expect(await jobs.queues()).toEqual([]);
  });

  it(`[PING-9] ${PING_DEVICES_MAX} devices are allowed, one more is not`, async () => {
    const value = JSON.stringify({ user: 'ada', device: { device_type: 'web', device_pin: 'same' }, createdAtMs: 1 });
    const writes = Array.from({ length: PING_DEVICES_MAX }, (_, number) => [
      { ...refs.client(`c${number}`), value },
      { ...refs.userClient('ada', `c${number}`), value: 'true' },
    ]).flat();
    await bench.store.writeEntries({ writes, guards: [] });
    ({ jobs, pings } = onJobs({}, PING_DEVICES_MAX));
    const { devices, skipped } = await send({ user_id: 'ada' });
    expect(devices + skipped.length).toBe(PING_DEVICES_MAX);
    await register('bob', 'b1');
    expect(await refusalOf(send({ user_id: ['ada', 'bob'] }))).toBe('limit_exceeded');
  });

  it('[PING-11] no job contains an address', async () => {
    await register('ada', 'a1');
    await send({ user_id: 'ada', message: 'x' });
    const carried = await payloads();
    expect(carried.length).toBe(1);
    expect(carried.join('')).not.toContain(SECRET);
  });
});

describe('delivering a ping', () => {
  it('[PING-10] a ping is sent to the address that the device has at the time of delivery', async () => {
    await register('ada', 'a1');
    await send({ user_id: 'ada' });
    await bench.tidemark.clients.update('ada', 'a1', {
      device_pin: 'ab'.repeat(32),
      device_type: 'ios',
      device_port: 80,
    });
    const { notified, outcomes } = await deliver();
    const target = { client: 'a1', deviceType: 'ios', pushType: 'apns', devicePin: 'ab'.repeat(32), devicePort: '80' };
    expect(notified.map((one) => one.target)).toEqual([{ ...target, appId: null }]);
    expect(outcomes).toEqual(['ios accepted']);
  });

  it('[PING-10] a device that was deleted, or has no address any more, gets no ping', async () => {
    for (const client of ['a1', 'a2', 'a3', 'a4']) await register('ada', client);
    await send({ user_id: 'ada' });
    await bench.tidemark.clients.delete('ada', 'a1');
    await bench.tidemark.clients.update('ada', 'a2', { device_pin: null });
    await bench.tidemark.clients.update('ada', 'a3', { device_type: 'none' });
    expect(await deliver()).toMatchObject({ notified: [{ target: { client: 'a4' } }], failures: [] });
  });

  it('[PING-10] a device that was registered again under the same id, by the same or another user, gets no ping', async () => {
    await register('ada', 'a1');
    await register('ada', 'a2');
    await send({ user_id: 'ada', message: 'for ada only' });
    await bench.tidemark.clients.delete('ada', 'a1');
    await bench.tidemark.users.delete('ada');
    await register('bob', 'a1');
    bench.clock.advance(1);
    await bench.tidemark.users.create({ attributes: { login: 'ada', password: 'long enough' } });
    await register('ada', 'a2');
    expect(await deliver()).toEqual({ notified: [], outcomes: ['none gone', 'none gone'], failures: [] });
  });

  it('[PING-10] an address that the push service reports as invalid is removed, unless the device has a new one', async () => {
    await register('ada', 'a1');
    await register('ada', 'a2');
    await send({ user_id: 'ada' });
    const { outcomes, failures } = await deliver(async ({ client }) => {
      if (client === 'a2') await bench.tidemark.clients.update('ada', 'a2', { device_pin: 'new-address' });
      return { status: 'retired', reason: 'gone' };
    });
    expect([outcomes, failures]).toEqual([['android retired', 'android retired'], []]);
    expect(await bench.tidemark.clients.get('a1')).toMatchObject({ device_pin: null, device_type: 'android' });
    expect(await bench.tidemark.clients.get('a2')).toMatchObject({ device_pin: 'new-address' });
    expect(await send({ user_id: 'ada' })).toMatchObject({ skipped: [{ client_id: 'a1', reason: 'no_device_pin' }] });
  });

  it('[PING-10] a failure is reported with its details and without the address', async () => {
    for (const client of ['a1', 'a2', 'a3']) await register('ada', client);
    await send({ user_id: 'ada' });
    const { outcomes, failures } = await deliver(({ client, devicePin }) => {
      if (client === 'a1') return { status: 'failed', reason: 'busy', retryAfterMs: 5_000, isFinal: false };
      if (client === 'a2') return { status: 'failed', reason: 'refused', retryAfterMs: null, isFinal: true };
      throw new TypeError(`no way to ${devicePin}`);
    });
    expect([...outcomes].sort()).toEqual(['android failed', 'android retrying', 'android retrying']);
    const described = failures.map(
      (failure) => failure instanceof JobFailure && { ...failure, reason: failure.message },
    );
    expect(described).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ reason: 'busy', retryAfterMs: 5_000, isFinal: false }),
        expect.objectContaining({ reason: 'refused', retryAfterMs: null, isFinal: true }),
        expect.objectContaining({ reason: 'the notifier broke: TypeError', isFinal: false }),
      ]),
    );
    expect(JSON.stringify(described)).not.toContain(SECRET);
  });
});

describe('a clock that is set back while pings are sent', () => {
  it('[CLOCK-4] a clock that is set back neither stops the quota nor makes a later ping count as a duplicate', async () => {
    const steadyClock = settableClock(5);
    const { store, clock } = bench;
    jobs = openMemoryJobs({ clock });
    const limits = { ...DEFAULT_LIMITS, pingsPerMinuteMax: 1 };
    const ports = { store, clock, steadyClock, results, recent, jobs, random: seededRandom(3), by: BY, limits };
    pings = new Pings(ports);
    await register('ada', 'a1');
    const sent: string[] = [];
    const notify = async () => {
      sent.push('a1');
      return ACCEPTED;
    };
    const handler = deliverPing({ ...ports, notifier: { notify } });
    for (const wallMs of [2_000_000_000_000, 1_700_000_000_000]) {
      clock.set(wallMs);
      await send({ user_id: ['ada'], sources: ['Order'] });
      const job = (await jobs.lease(PING_QUEUE, 1_000)) as LeasedJob;
      await handler(job, () => new AbortController().signal);
      await jobs.acknowledge(job);
      steadyClock.advance(60_000);
    }
    expect(sent).toEqual(['a1', 'a1']);
  });
});

it('[USER-8] deleting a user deletes the records of pings announced to them', async () => {
  const { tidemark, store, clock } = bench;
  const announced = async () => (await store.listEntries({ kind: 'setting', prefix: ['noticed'], limit: 9 })).length;
  for (const user of ['ada', 'bob']) {
    await tidemark.objects.push({ source: 'Order', user_id: user, objects: { 1: { a: 1 } } });
    const ports = { store, clock, sources: tidemark.sources };
    expect(await claimPushNotice(ports, userPartition('Order', user), 0)).toBe('send');
  }
  expect(await announced()).toBe(2);
  await tidemark.users.delete('ada');
  expect(await announced()).toBe(1);
});

describe('pinging who is behind', () => {
  async function catchUp(user: string, client: string): Promise<void> {
    const sources = ['Product', 'Order'];
    const answer = await bench.tidemark.devices.pull(
      { user, client },
      { sources: new Map(sources.map((source) => [source, null])) },
    );
    await answer.noted;
    const tokens = answer.pages.flatMap(({ source, page }) => ('error' in page ? [] : [[source, page.token] as const]));
    await bench.tidemark.devices.acknowledge({ user, client }, new Map(tokens));
  }

  it('[PING-44] devices that have acknowledged the head of every source of the ping are skipped', async () => {
    for (const client of ['current', 'behind', 'never']) await register('ada', client);
    await bench.tidemark.objects.push({ source: 'Product', objects: { 1: { a: 1 } } });
    await bench.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { a: 1 } } });
    for (const client of ['current', 'behind']) await catchUp('ada', client);
    await bench.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 2: { a: 1 } } });
    await catchUp('ada', 'current');
    const ping = { user_id: 'ada', sources: ['Product', 'Order'], only_behind: true };
    const skipped = [{ client_id: 'current', reason: 'up_to_date' }];
    expect(await pings.send(ping, 'admin')).toMatchObject({ devices: 2, skipped });
    const products = await pings.send({ ...ping, sources: 'Product' }, 'admin');
    expect(products.skipped.map(({ client_id }) => client_id).sort()).toEqual(['behind', 'current']);
    expect(await pings.send({ ...ping, only_behind: false }, 'admin')).toMatchObject({ devices: 3, skipped: [] });
  });

  it('[PING-44] only_behind is true or false, and needs sources', async () => {
    for (const wrong of [{ only_behind: true }, { only_behind: 'yes', sources: ['Product'] }]) {
      expect(await refusalOf(pings.send({ user_id: 'ada', ...wrong }, 'admin'))).toBe('invalid_value');
    }
  });
});
