import type { PingMessage, PingOutcome, PingTarget } from '@tidemark/core';
import {
  type ApnsBehaviour,
  type ApnsStandIn,
  type ApnsStandInOptions,
  newApnsKey,
  openApnsStandIn,
  settableClock,
  TEST_ONLY_CERTIFICATE,
} from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ApnsNotifier, type ApnsNotifierParts, apnsNotifier } from './apns-notifier.ts';

const KEY = newApnsKey();
const IDENTITY = { key: KEY, keyId: 'ABC123DEFG', teamId: 'TEAM000001' };
const TOPICS = new Map([
  ['shop', 'com.example.shop'],
  ['depot', 'com.example.depot'],
]);
const PING: PingMessage = {
  id: 'abc_0',
  sources: ['Order', 'Prodükt'],
  message: 'Grüße 💧',
  badge: 3,
  sound: 'drop.caf',
};

interface Bench {
  readonly service: ApnsStandIn;
  readonly notifier: ApnsNotifier;
  readonly clock: ReturnType<typeof settableClock>;
}

async function bench(
  behave: ApnsStandInOptions['behave'] = () => ({ status: 200 }),
  parts: Partial<ApnsNotifierParts> = {},
  options: Partial<ApnsStandInOptions> = {},
): Promise<Bench> {
  const clock = settableClock();
  const service = await openApnsStandIn({
    ...IDENTITY,
    topics: [...TOPICS.values()],
    nowMs: clock.nowMs,
    behave,
    ...options,
  });
  const notifier = apnsNotifier({
    ...IDENTITY,
    topics: TOPICS,
    environment: 'production',
    origins: { production: service.origin },
    ca: [TEST_ONLY_CERTIFICATE],
    ttlS: 3_600,
    clock,
    ...parts,
  });
  onTestFinished(async () => {
    notifier.close();
    await service.close();
  });
  return { service, notifier, clock };
}

const tokenOf = (index: number) => index.toString(16).padStart(64, '0');

function device(index: number, changes: Partial<PingTarget> = {}): PingTarget {
  const device = { client: `c${index}`, deviceType: 'ios', pushType: 'apns' as const, devicePin: tokenOf(index) };
  return { ...device, devicePort: null, appId: null, ...changes };
}

const pingAll = (notifier: ApnsNotifier, count: number): Promise<PingOutcome[]> =>
  Promise.all(
    Array.from({ length: count }, (_, index) => notifier.notify(device(index), { ...PING, id: `p_${index}` })),
  );

describe('a ping to an Apple device', () => {
  it('[PING-16] each ping carries its own id, also when different pings alternate', async () => {
    const { service, notifier } = await bench();
    const said = [
      PING,
      { ...PING, message: 'other' },
      { ...PING, badge: 4 },
      { ...PING, sound: 'other.caf' },
      { ...PING, vibrateS: 1 },
      { ...PING, sources: ['Order'] },
      { id: 'x', sources: ['Order', 'Product'] },
      PING,
      PING,
    ].map((ping, index) => ({ ...ping, id: `p_${index}` }));
    for (const [index, ping] of said.entries()) await notifier.notify(device(index), ping);
    const heard = service.taken.map(({ body }) => JSON.parse(body));
    expect(
      heard.map(({ aps, do_sync, ping_id, vibrate }) => [aps.alert?.body, aps, do_sync, ping_id, vibrate]),
    ).toEqual(
      said.map(({ id, sources, message, badge, sound, vibrateS }) => [
        message,
        {
          ...(message === undefined ? {} : { alert: { body: message } }),
          ...(badge === undefined ? {} : { badge }),
          ...(sound === undefined ? {} : { sound }),
          'content-available': 1,
        },
        sources,
        id,
        vibrateS,
      ]),
    );
  });

  it('[PING-16] a ping shows the message, plays the sound, and tells the app what to synchronise', async () => {
    const { service, notifier } = await bench();
    expect(await notifier.notify(device(1), { ...PING, vibrateS: 0.5 })).toEqual({ status: 'accepted' });
    const [request] = service.taken;
    expect(JSON.parse(request?.body ?? '')).toEqual({
      aps: { alert: { body: 'Grüße 💧' }, badge: 3, sound: 'drop.caf', 'content-available': 1 },
      ping_id: 'abc_0',
      do_sync: ['Order', 'Prodükt'],
      vibrate: 0.5,
    });
    expect(request?.headers).toMatchObject({
      ':path': `/3/device/${tokenOf(1)}`,
      'apns-topic': 'com.example.shop',
      'apns-push-type': 'alert',
      'apns-priority': '10',
      'apns-expiration': '1700003600',
    });
  });

  it('[PING-16] a ping without anything to show is a background push', async () => {
    const { service, notifier } = await bench();
    await notifier.notify(device(1), { id: 'p_1', sources: ['Order'], badge: 'new' });
    await notifier.notify(device(1), { id: 'p_2', sources: ['Order'] });
    expect(service.taken.map(({ headers }) => [headers['apns-push-type'], headers['apns-priority']])).toEqual([
      ['background', '5'],
      ['background', '5'],
    ]);
    const [first, second] = service.taken;
    // Badges of Apple are numbers, so another value is passed to the app.
    expect(JSON.parse(first?.body ?? '')).toMatchObject({ aps: { 'content-available': 1 }, badge: 'new' });
    // Pings without a message replace each other; each has its own id.
    expect(first?.headers['apns-collapse-id']).toBe(second?.headers['apns-collapse-id']);
    expect(first?.headers['apns-id']).not.toBe(second?.headers['apns-id']);
  });

  it.each([
    ['7', 7],
    [0, 0],
  ])('[PING-16] the badge %j is the number %j', async (badge, number) => {
    const { service, notifier } = await bench();
    await notifier.notify(device(1), { id: 'p_1', sources: [], badge });
    expect(JSON.parse(service.taken[0]?.body ?? '').aps.badge).toBe(number);
  });

  it('[PING-16] a ping has the same id at every attempt, and replaces only itself if it has a message', async () => {
    const { service, notifier } = await bench();
    for (const id of ['p_1', 'p_1', 'p_2']) await notifier.notify(device(1), { ...PING, id });
    const ids = service.taken.map(({ headers }) => `${headers['apns-id']} ${headers['apns-collapse-id']}`);
    expect(ids[0]).toBe(ids[1]);
    expect(ids[0]).not.toBe(ids[2]);
  });

  it("[PING-17] a ping uses the bundle id of the device's app, and the first one if the device names none", async () => {
    const { service, notifier } = await bench();
    await notifier.notify(device(1, { appId: 'depot' }), PING);
    await notifier.notify(device(1, { appId: '' }), PING);
    expect(await notifier.notify(device(1, { appId: 'com.example.other' }), PING)).toMatchObject({
      status: 'failed',
      isFinal: true,
      reason: 'no bundle id is configured for the app of the device',
    });
    expect(service.taken.map(({ headers }) => headers['apns-topic'])).toEqual([
      'com.example.depot',
      'com.example.shop',
    ]);
  });

  it('[PING-17] a ping goes to the sandbox if the device says so', async () => {
    const { service: sandbox } = await bench();
    const { service, notifier } = await bench(undefined, { origins: { sandbox: sandbox.origin } });
    expect(await notifier.notify(device(1, { pushType: 'apns_sandbox' }), PING)).toEqual({ status: 'accepted' });
    expect([sandbox.taken.length, service.taken.length]).toEqual([1, 0]);
  });

  it('[PING-18] a message too long for Apple is cut between characters, and the outcome says so', async () => {
    const { service, notifier } = await bench();
    const outcome = await notifier.notify(device(1), { ...PING, message: '👩🏽‍🚒'.repeat(580) });
    expect(outcome).toEqual({
      status: 'accepted',
      note: expect.stringMatching(/^the message was shortened to [0-9]+ of 580 characters$/),
    });
    const body = service.taken[0]?.body ?? '';
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(4_096);
    expect(Buffer.byteLength(body)).toBeGreaterThan(4_096 - 40);
    expect(JSON.parse(body).aps.alert.body).toMatch(/^(?:👩🏽‍🚒)+…$/u);
  });

  it('[PING-18] a ping with too many sources for Apple is refused with the reason', async () => {
    const { notifier } = await bench();
    const sources = Array.from({ length: 100 }, (_, index) => `${index}${'x'.repeat(60)}`);
    for (const message of [undefined, 'hi']) {
      const ping = { id: 'p', sources, ...(message === undefined ? {} : { message }) };
      expect(await notifier.notify(device(1), ping)).toMatchObject({
        isFinal: true,
        reason: 'the ping is larger than the 4096 bytes that APNs accepts',
      });
    }
  });
});

describe('the token of the operator', () => {
  it('[PING-19] the provider token is used for many pings and renewed within an hour', async () => {
    const { service, notifier, clock } = await bench();
    const tokens = () => service.taken.map(({ headers }) => headers.authorization);
    await pingAll(notifier, 3);
    clock.set(clock.nowMs() + 49 * 60_000);
    await pingAll(notifier, 1);
    expect(new Set(tokens()).size).toBe(1);
    clock.set(clock.nowMs() + 2 * 60_000);
    expect(await pingAll(notifier, 1)).toEqual([{ status: 'accepted' }]);
    expect(new Set(tokens()).size).toBe(2);
  });

  it('[PING-19] a provider token that Apple calls expired is renewed, but not more often than Apple allows', async () => {
    const clock = settableClock();
    let aheadMs = 0;
    const { service, notifier } = await bench(undefined, { clock }, { nowMs: () => clock.nowMs() + aheadMs });
    await pingAll(notifier, 1);
    // Apple's clock is ahead of ours.
    aheadMs = 3_700_000;
    for (const passedMs of [1_000, 21 * 60_000]) {
      clock.set(clock.nowMs() + passedMs);
      expect(await pingAll(notifier, 1)).toMatchObject([{ reason: 'APNs answered 403 ExpiredProviderToken' }]);
    }
    aheadMs = 0;
    expect(await pingAll(notifier, 1)).toEqual([{ status: 'accepted' }]);
    expect(new Set(service.taken.map(({ headers }) => headers.authorization)).size).toBe(2);
  });

  it('[PING-19] an unknown key makes all pings wait', async () => {
    const { notifier } = await bench(undefined, { key: newApnsKey() });
    expect(await pingAll(notifier, 1)).toEqual([
      {
        status: 'failed',
        reason: 'APNs answered 403 InvalidProviderToken',
        retryAfterMs: null,
        isFinal: false,
        isServiceDown: true,
      },
    ]);
  });
});

describe('what Apple answers', () => {
  const outcomeWhen = async (behaviour: ApnsBehaviour, parts: Partial<ApnsNotifierParts> = {}) => {
    const { notifier } = await bench(() => behaviour, parts);
    return notifier.notify(device(1), PING);
  };

  it.each([
    [410, 'Unregistered'],
    [410, 'ExpiredToken'],
    [400, 'Unregistered'],
  ])('[PING-20] %i %s removes the address of the device', async (status, reason) => {
    expect(await outcomeWhen({ status, reason })).toEqual({
      status: 'retired',
      reason: `APNs answered ${status} ${reason}`,
    });
  });

  it.each([
    [400, 'BadDeviceToken'],
    [400, 'DeviceTokenNotForTopic'],
    [400, 'BadTopic'],
    [400, 'DuplicateHeaders'],
    [404, 'BadPath'],
    [405, 'MethodNotAllowed'],
    [413, 'PayloadTooLarge'],
  ])('[PING-20] %i %s is final and concerns only this ping', async (status, reason) => {
    expect(await outcomeWhen({ status, reason })).toEqual({
      status: 'failed',
      reason: `APNs answered ${status} ${reason}`,
      retryAfterMs: null,
      isFinal: true,
    });
  });

  it.each([
    [500, 'InternalServerError', undefined, null],
    [503, 'ServiceUnavailable', 30, 30_000],
    [503, 'Shutdown', undefined, null],
    [403, 'Forbidden', undefined, null],
    [429, 'TooManyProviderTokenUpdates', undefined, null],
  ])('[PING-20] %i %s is retried, and concerns all pings', async (status, reason, asked, waits) => {
    const behaviour = { status, reason, ...(asked === undefined ? {} : { retryAfterS: asked }) };
    expect(await outcomeWhen(behaviour)).toMatchObject({ isFinal: false, isServiceDown: true, retryAfterMs: waits });
  });

  it('[PING-20] 429 concerns this device, and Retry-After is respected', async () => {
    const outcome = await outcomeWhen({ status: 429, reason: 'TooManyRequests', retryAfterS: 7 });
    expect(outcome).toEqual({
      status: 'failed',
      reason: 'APNs answered 429 TooManyRequests',
      retryAfterMs: 7_000,
      isFinal: false,
    });
  });

  it('[PING-20] an unknown reason, or none, is reported by its status', async () => {
    expect(await outcomeWhen({ status: 418 })).toMatchObject({ reason: 'APNs answered 418', isFinal: true });
    expect(await outcomeWhen({ status: 599, reason: 'Something<b>' })).toMatchObject({ reason: 'APNs answered 599' });
  });
});

describe('connections to Apple', () => {
  it("[PING-21] a thousand pings share at most four connections, each within Apple's limit of streams", async () => {
    const { service, notifier } = await bench(undefined, {}, { streamsMax: 20 });
    const outcomes = await pingAll(notifier, 1_000);
    expect(outcomes.filter(({ status }) => status === 'accepted')).toHaveLength(1_000);
    expect(new Set(service.taken.map(({ device: token }) => token)).size).toBe(1_000);
    expect(service.connectionsMostAtOnce).toBeLessThanOrEqual(4);
    expect(service.connectionsEver).toBe(3);
  });

  it('[PING-21] one malformed device among a thousand affects only itself', async () => {
    const { service, notifier } = await bench();
    const targets = Array.from({ length: 1_000 }, (_, index) =>
      device(
        index,
        index === 500 ? { devicePin: `bad${'0'.repeat(61)}` } : index === 501 ? { devicePin: 'x\r\ny' } : {},
      ),
    );
    const outcomes = await Promise.all(targets.map((target) => notifier.notify(target, PING)));
    expect(outcomes[500]).toMatchObject({ reason: 'APNs answered 400 BadDeviceToken', isFinal: true });
    expect(outcomes[501]).toMatchObject({ reason: 'device_pin is not a device token of APNs', isFinal: true });
    expect(outcomes.filter(({ status }) => status === 'accepted')).toHaveLength(998);
    expect(service.connectionsEver).toBeLessThanOrEqual(3);
  });

  it('[PING-22] a GOAWAY during a fan-out loses and repeats nothing', async () => {
    const { service, notifier } = await bench((_request, index) => (index % 150 === 149 ? 'go_away' : { status: 200 }));
    const outcomes = await pingAll(notifier, 500);
    const accepted = outcomes.flatMap(({ status }, index) => (status === 'accepted' ? [tokenOf(index)] : []));
    const unsent = outcomes.filter((outcome) => outcome.status === 'failed' && outcome.isAnswerLost !== true);
    expect(accepted.length + unsent.length).toBe(500);
    // Apple has taken exactly the accepted pings, each once.
    expect(service.taken.map(({ device: token }) => token).sort()).toEqual(accepted.sort());
    // Two connections took 150 each; requests they had not seen were sent once more, and then left for later.
    expect(accepted.length).toBeGreaterThanOrEqual(300);
  });

  it('[PING-22] a stream that Apple refuses is sent once more', async () => {
    let refusals = 0;
    const { service, notifier } = await bench(() => (refusals++ === 0 ? 'refuse_stream' : { status: 200 }));
    expect(await pingAll(notifier, 1)).toEqual([{ status: 'accepted' }]);
    expect(service.taken).toHaveLength(1);
  });

  it('[PING-22] if the connection is cut after the request was taken, the outcome says that the answer is lost', async () => {
    const { service, notifier } = await bench((_request, index) => (index === 0 ? 'cut' : { status: 200 }));
    expect(await notifier.notify(device(1), PING)).toMatchObject({
      status: 'failed',
      isFinal: false,
      isServiceDown: true,
      isAnswerLost: true,
      reason: expect.stringMatching(/^APNs did not answer: /),
    });
    expect(service.taken).toHaveLength(1);
    // The next ping opens a new connection.
    expect(await notifier.notify(device(2), PING)).toEqual({ status: 'accepted' });
  });

  it('[PING-22] an answer that does not come is given up', async () => {
    const { notifier } = await bench(() => 'silence', { timeoutMs: 200 });
    expect(await notifier.notify(device(1), PING)).toMatchObject({
      reason: 'APNs did not answer: no answer in 200 ms',
      isAnswerLost: true,
    });
  });

  it('[PING-22] if the service cannot be reached, nothing was sent', async () => {
    const { service, notifier } = await bench();
    await service.close();
    const [outcome] = await pingAll(notifier, 1);
    expect(outcome).toEqual({
      status: 'failed',
      reason: 'APNs cannot be reached: ECONNREFUSED',
      retryAfterMs: null,
      isFinal: false,
      isServiceDown: true,
    });
  });

  it('[PING-22] an untrusted certificate is refused', async () => {
    const { service, notifier } = await bench(undefined, { ca: undefined });
    const [outcome] = await pingAll(notifier, 1);
    expect(outcome).toMatchObject({ reason: 'APNs cannot be reached: DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(service.taken).toHaveLength(0);
  });
});
