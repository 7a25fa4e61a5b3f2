import { type Jobs, type PingPage, PingResults, Pings, RecentPings } from '@tidemark/core';
import type { SyncEvents } from '@tidemark/protocol';
import { DEFAULT_LIMITS } from '@tidemark/protocol';
import {
  type ApnsRequest,
  type ApnsStandIn,
  type ApnsStandInOptions,
  collectingLog,
  newApnsKey,
  newTidemark,
  openApnsStandIn,
  openMemoryJobs,
  seededRandom,
  TEST_ONLY_CERTIFICATE,
  type TestTidemark,
} from '@tidemark/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { LiveDevices } from '../events/event-hub.ts';
import { type ApnsNotifier, apnsNotifier } from './notifiers/apns-notifier.ts';
import { liveFirst } from './notifiers/live-notifier.ts';
import type { Notifiers } from './notifiers/open-notifiers.ts';
import { ServiceGate } from './notifiers/service-gate.ts';
import { startDelivery } from './start-delivery.ts';

const IDENTITY = { key: newApnsKey(), keyId: 'ABC123DEFG', teamId: 'TEAM000001' };
const TOPICS = new Map([['shop', 'com.example.shop']]);
const clock = { nowMs: () => Date.now() };
const tokenOf = (index: number) => index.toString(16).padStart(64, '0');

interface SetUpOptions extends TestTidemark {
  readonly service: ApnsStandIn;
  readonly apns: ApnsNotifier;
  readonly jobs: Jobs;
  readonly notifiers: Notifiers;
  readonly results: PingResults;
  readonly send: (call?: object) => Promise<string>;
  readonly settled: (id: string) => Promise<PingPage>;
  readonly start: () => ReturnType<typeof startDelivery>;
  readonly collected: ReturnType<typeof collectingLog>;
}

interface BenchOptions {
  readonly devices: number;
  readonly behave?: ApnsStandInOptions['behave'];
  readonly live?: LiveDevices;
  readonly timeoutMs?: number;
  readonly concurrency?: number;
}

/** The delivery of a server on a store in memory, with real connections to a fake of Apple's service. */
async function setUp({
  devices,
  behave,
  live,
  timeoutMs = 2_000,
  concurrency = 64,
}: BenchOptions): Promise<SetUpOptions> {
  const kit = await newTidemark();
  const service = await openApnsStandIn({ ...IDENTITY, topics: ['com.example.shop'], ...(behave ? { behave } : {}) });
  const apns = apnsNotifier({
    ...IDENTITY,
    topics: TOPICS,
    environment: 'production',
    origins: { production: service.origin },
    ca: [TEST_ONLY_CERTIFICATE],
    ttlS: 3_600,
    clock,
    timeoutMs,
  });
  const gate = () => new ServiceGate({ clock, jitter: () => 0, perSecondMax: 100_000 });
  const gates = { apns: gate(), fcm: gate(), webpush: gate(), webhook: gate(), live: gate() };
  const watched = gates.apns.watch(apns);
  const notifier = live === undefined ? watched : liveFirst(live, watched);
  const notifiers: Notifiers = { notifier, gates, close: () => apns.close() };
  const caughtUpByMs: ConstructorParameters<typeof PingResults>[0]['caughtUpByMs'] = (client, heads) =>
    kit.tidemark.receipts.caughtUpByMs(client, heads);
  const results = new PingResults({ ...kit, clock, caughtUpByMs });
  const jobs = openMemoryJobs({ clock, jobsPerQueueMax: 100_000 });
  const ports = { ...kit, clock, jobs, results, random: seededRandom(1), limits: DEFAULT_LIMITS, by: 'here' };
  const pings = new Pings(ports);
  for (let index = 0; index < devices; index++) {
    const device = { client_id: `d${index}`, device_type: 'ios', device_pin: tokenOf(index) };
    await kit.tidemark.clients.register('ada', device);
  }
  const log = collectingLog();
  const start = () => {
    const parts = {
      ...kit,
      clock,
      log,
      jobs,
      notifiers,
      pings,
      results,
      recent: new RecentPings('here'),
      jitter: () => 0,
    };
    return startDelivery({ ...parts, concurrency, backOff: { baseMs: 10, capMs: 20 } });
  };
  onTestFinished(async () => {
    apns.close();
    await service.close();
  });
  return {
    ...kit,
    service,
    apns,
    jobs,
    notifiers,
    results,
    collected: log,
    start: () => {
      const runner = start();
      onTestFinished(() => runner.stop(0));
      return runner;
    },
    send: async (call = {}) => (await pings.send({ user_id: 'ada', message: 'hi', ...call }, 'admin')).ping_id,
    settled: (id) =>
      vi.waitFor(
        async () => {
          const page = await results.get(id, { limit: 10_000 });
          expect(page.pending).toBe(0);
          return page;
        },
        { timeout: 500_000, interval: 20 },
      ),
  };
}

/** How often each device was answered with 200. */
function acceptances(answered: readonly ApnsRequest[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { device } of answered) counts.set(device, (counts.get(device) ?? 0) + 1);
  return counts;
}

describe('a fan-out that goes wrong', () => {
  it.each([
    [500, 'InternalServerError', undefined],
    [503, 'ServiceUnavailable', 1],
    [429, 'TooManyRequests', 1],
  ])(
    '[PING-37] after %i with Retry-After %s during a fan-out every device gets the ping once',
    async (status, reason, asked) => {
      const answered: ApnsRequest[] = [];
      const retry = asked === undefined ? {} : { retryAfterS: asked };
      const { start, send, settled } = await setUp({
        devices: 300,
        behave: (request, index) => {
          if (index >= 100 && index < 140) return { status, reason, ...retry };
          answered.push(request);
          return { status: 200 };
        },
      });
      start();
      const page = await settled(await send());
      expect(page).toMatchObject({ accepted: 300, failed: 0, repeated: 0 });
      expect([...acceptances(answered).values()].filter((count) => count !== 1)).toEqual([]);
      expect(acceptances(answered).size).toBe(300);
    },
  );

  it('[PING-37] after GOAWAYs during a fan-out every device gets the ping once', async () => {
    let connections = 0;
    const { service, apns, start, send, settled } = await setUp({
      devices: 500,
      behave: (_request, index) => {
        connections = Math.max(connections, apns.connections);
        return index % 100 === 99 ? 'go_away' : { status: 200 };
      },
    });
    start();
    const page = await settled(await send());
    expect(page).toMatchObject({ accepted: 500, repeated: 0 });
    expect([...acceptances(service.taken).values()].every((count) => count === 1)).toBe(true);
    // Counted at the notifier, because a server of Node.js does not notice connections that end after a GOAWAY.
    expect(connections).toBeLessThanOrEqual(4);
  });

  it('[PING-37] after cut connections during a fan-out only devices that may have been pinged twice are marked', async () => {
    const { service, start, send, settled } = await setUp({
      devices: 300,
      behave: (_request, index) => (index === 50 || index === 150 ? 'cut' : { status: 200 }),
    });
    start();
    const page = await settled(await send());
    expect(page.accepted).toBe(300);
    const twice = [...acceptances(service.taken)].filter(([, count]) => count > 1).map(([token]) => token);
    const marked = new Set(page.results.filter(({ repeated }) => repeated).map(({ client_id }) => client_id));
    expect(twice.length).toBeGreaterThanOrEqual(2);
    for (const token of twice) expect(marked).toContain(`d${Number.parseInt(token, 16)}`);
    expect(page.repeated).toBe(marked.size);
  });

  it('[PING-37] a slow and sometimes silent service is given up on', async () => {
    const { start, send, settled } = await setUp({
      devices: 60,
      timeoutMs: 300,
      behave: (_request, index) => (index === 10 || index === 20 ? 'silence' : { status: 200 }),
    });
    start();
    const page = await settled(await send());
    expect(page.accepted).toBe(60);
    expect(page.repeated).toBeGreaterThanOrEqual(2);
  });

  it('[PING-37] one malformed device among a hundred affects only itself', async () => {
    const { tidemark, start, send, settled } = await setUp({ devices: 99 });
    const bad = { client_id: 'bad', device_type: 'ios', device_pin: `bad${'0'.repeat(61)}` };
    await tidemark.clients.register('ada', bad);
    start();
    const page = await settled(await send());
    expect(page).toMatchObject({ devices: 100, accepted: 99, failed: 1 });
    expect(page.results.filter(({ status }) => status !== 'accepted')).toMatchObject([
      { client_id: 'bad', status: 'failed', attempts: 1, reason: 'APNs answered 400 BadDeviceToken' },
    ]);
    // This server may be set to the wrong environment, so the address stays.
    expect((await tidemark.clients.get('bad')).device_pin).toBe(bad.device_pin);
  });

  it('[PING-37] a service that is down for a while uses up no attempts, because the breaker is in front of the queue', async () => {
    let isDown = true;
    let calls = 0;
    const { notifiers, start, send, settled, jobs } = await setUp({
      devices: 200,
      concurrency: 8,
      behave: () => {
        calls++;
        return isDown ? { status: 503, reason: 'ServiceUnavailable' } : { status: 200 };
      },
    });
    start();
    const id = await send();
    await expect.poll(() => notifiers.gates.apns.isOpen).toBe(false);
    const { counts } = await jobs.describe('pings-apns');
    expect(counts.dead).toBe(0);
    // Only calls under way when the breaker opened, and the probes.
    expect(calls).toBeLessThan(40);
    isDown = false;
    expect(await settled(id)).toMatchObject({ accepted: 200, failed: 0 });
  });

  it('[PING-20] an address that Apple calls gone is removed from its device', async () => {
    const { tidemark, start, send, settled } = await setUp({
      devices: 2,
      behave: ({ device }) => (device === tokenOf(1) ? { status: 410, reason: 'Unregistered' } : { status: 200 }),
    });
    start();
    expect(await settled(await send())).toMatchObject({ accepted: 1, retired: 1 });
    expect((await tidemark.clients.get('d1')).device_pin).toBeNull();
    expect((await tidemark.clients.get('d0')).device_pin).toBe(tokenOf(0));
  });

  it('[PING-32] a ping interrupted by a stop is marked as possibly repeated when it is sent again', async () => {
    let isSilent = true;
    const { service, start, send, settled } = await setUp({
      devices: 1,
      timeoutMs: 5_000,
      behave: () => (isSilent ? 'silence' : { status: 200 }),
    });
    const first = start();
    const id = await send();
    await expect.poll(() => service.taken.length).toBe(1);
    await first.stop(0);
    isSilent = false;
    start();
    expect(await settled(id)).toMatchObject({ accepted: 1, repeated: 1 });
    expect(service.taken).toHaveLength(2);
  });

  it('[PING-38] no log line contains the address of a device', async () => {
    const { collected, start, send, settled } = await setUp({
      devices: 3,
      behave: ({ device }) => ({ status: device === tokenOf(0) ? 400 : 200, reason: 'BadDeviceToken' }),
    });
    start();
    await settled(await send());
    expect(collected.lines.length).toBeGreaterThan(0);
    expect(JSON.stringify(collected.lines)).not.toContain(tokenOf(0));
  });
});

describe('devices that hold a connection open', () => {
  /** Fake connected devices and the pings each has got. */
  function connected(...clients: string[]): LiveDevices & { readonly got: Map<string, SyncEvents['ping'][]> } {
    const got = new Map<string, SyncEvents['ping'][]>(clients.map((client) => [client, []]));
    return {
      got,
      ping(client, payload) {
        got.get(client)?.push(payload);
        return got.has(client);
      },
    };
  }

  it('[PING-29] a connected device gets the ping on its stream only, others by their push service', async () => {
    const live = connected('d0');
    const { service, start, send, settled } = await setUp({ devices: 2, live });
    start();
    const page = await settled(await send({ badge: 2, vibrate: 1 }));
    expect(page).toMatchObject({ sent: 1, accepted: 1 });
    expect(service.taken.map(({ device }) => device)).toEqual([tokenOf(1)]);
    const ping = { ping_id: expect.any(String), sources: [], message: 'hi', badge: 2, vibrate: 1 };
    expect(live.got).toEqual(new Map([['d0', [ping]]]));
  });
});

it('[PING-46] the result of a ping shows who then caught up', async () => {
  const { tidemark, start, send, results, settled } = await setUp({ devices: 1 });
  const push = (id: string) => tidemark.objects.push({ source: 'Product', objects: { [id]: { a: 1 } } });
  const device = { user: 'ada', client: 'd0' };
  const pull = async (token: string | null) => {
    const { pages, noted } = await tidemark.devices.pull(device, { sources: new Map([['Product', token]]) });
    await noted;
    const page = pages[0]?.page;
    if (page === undefined || 'error' in page) throw new Error('the source has a page');
    return page.token;
  };
  await push('1');
  const token = await pull(await pull(null));
  await push('2');
  start();
  const ping = await send({ sources: ['Product'] });
  await settled(ping);
  expect((await results.get(ping)).results).toMatchObject([{ client_id: 'd0', caught_up_by: null }]);
  const next = await pull(token);
  expect((await results.get(ping)).results).toMatchObject([{ caught_up_by: null }]);
  await pull(next);
  expect((await results.get(ping)).results).toMatchObject([{ caught_up_by: expect.stringMatching(/Z$/) }]);
});
