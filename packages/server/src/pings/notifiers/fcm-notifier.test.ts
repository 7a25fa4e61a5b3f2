import type { PingMessage, PingOutcome, PingTarget } from '@tidemark/core';
import {
  type FcmBehaviour,
  type FcmStandIn,
  type FcmStandInOptions,
  newAccountKey,
  openFcmStandIn,
  settableClock,
  TEST_ONLY_CERTIFICATE,
} from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ServiceAccount } from '../../config/push-keys.ts';
import { type FcmNotifierParts, fcmNotifier } from './fcm-notifier.ts';
import type { ClosableNotifier } from './notifier.ts';

const KEY = newAccountKey();
const PROJECT = { projectId: 'shop-1', clientEmail: 'push@shop-1.iam.gserviceaccount.com' };
const TARGET: PingTarget = {
  client: 'c1',
  deviceType: 'android',
  pushType: 'fcm',
  devicePin: 'fcm:token-1',
  devicePort: null,
  appId: null,
};
const PING: PingMessage = {
  id: 'abc_0',
  sources: ['Order', 'Prodükt'],
  message: 'Grüße 💧',
  badge: 3,
  sound: 'drop',
  vibrateS: 0.5,
};

interface Bench {
  readonly service: FcmStandIn;
  readonly notifier: ClosableNotifier;
  readonly clock: ReturnType<typeof settableClock>;
}

async function bench(
  options: Partial<FcmStandInOptions> = {},
  parts: Partial<FcmNotifierParts> = {},
  account: Partial<ServiceAccount> = {},
): Promise<Bench> {
  const clock = settableClock();
  const service = await openFcmStandIn({ ...PROJECT, key: KEY, nowMs: clock.nowMs, ...options });
  const notifier = fcmNotifier({
    account: { ...PROJECT, privateKey: KEY, privateKeyId: 'k1', tokenUri: service.tokenUri, ...account },
    origin: service.origin,
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

describe('a ping by FCM', () => {
  it('[PING-23] a ping by FCM is a notification with data that are all texts', async () => {
    const { service, notifier } = await bench();
    expect(await notifier.notify(TARGET, PING)).toEqual({ status: 'accepted' });
    expect(service.taken[0]?.message).toEqual({
      token: 'fcm:token-1',
      notification: { body: 'Grüße 💧' },
      data: { ping_id: 'abc_0', do_sync: '["Order","Prodükt"]', badge: '3', sound: 'drop', vibrate: '0.5' },
      android: {
        priority: 'HIGH',
        ttl: '3600s',
        collapse_key: expect.stringMatching(/^[\w-]{32}$/),
        notification: { sound: 'drop', notification_count: 3, vibrate_timings: ['0s', '0.5s'] },
      },
    });
  });

  it('[PING-23] a ping without a message is data only, with normal priority', async () => {
    const { service, notifier } = await bench();
    await notifier.notify(TARGET, { id: 'p', sources: ['Order'] });
    expect(service.taken[0]?.message).toEqual({
      token: 'fcm:token-1',
      data: { ping_id: 'p', do_sync: '["Order"]' },
      android: { priority: 'NORMAL', ttl: '3600s', collapse_key: expect.any(String) },
    });
  });

  it('[PING-23] a ping by FCM also wakes the app on an Apple device', async () => {
    const { service, notifier } = await bench();
    await notifier.notify({ ...TARGET, deviceType: 'ios' }, PING);
    expect(service.taken[0]?.message).toMatchObject({
      apns: { payload: { aps: { badge: 3, sound: 'drop', 'content-available': 1 } } },
    });
    expect(service.taken[0]?.message).not.toHaveProperty('android');
  });

  it('[PING-18] a message too long for FCM is shortened, and the outcome says so; too many sources are refused', async () => {
    const { service, notifier } = await bench();
    expect(await notifier.notify(TARGET, { ...PING, message: '💧'.repeat(2_000) })).toMatchObject({
      status: 'accepted',
      note: expect.stringMatching(/^the message was shortened to 9[0-9]{2} of 2000 characters$/),
    });
    const sources = Array.from({ length: 100 }, (_, index) => `${index}${'x'.repeat(60)}`);
    expect(await notifier.notify(TARGET, { ...PING, sources })).toMatchObject({
      isFinal: true,
      reason: 'the ping is larger than the 4096 bytes that FCM accepts',
    });
    expect(service.taken).toHaveLength(1);
  });
});

describe('the access token', () => {
  it('[PING-24] the access token is requested once, however many pings wait, and again before it expires', async () => {
    const { service, notifier, clock } = await bench();
    await Promise.all(Array.from({ length: 50 }, (_, index) => notifier.notify(TARGET, { ...PING, id: `p_${index}` })));
    expect([service.assertions, service.taken.length]).toEqual([1, 50]);
    clock.set(clock.nowMs() + 54 * 60_000);
    await notifier.notify(TARGET, PING);
    expect(service.assertions).toBe(1);
    clock.set(clock.nowMs() + 2 * 60_000);
    expect(await notifier.notify(TARGET, PING)).toEqual({ status: 'accepted' });
    expect(service.assertions).toBe(2);
  });

  it('[PING-24] an access token that is refused is replaced at the next attempt', async () => {
    const { service, notifier } = await bench();
    await notifier.notify(TARGET, PING);
    service.revokeTokens();
    expect(await notifier.notify(TARGET, PING)).toMatchObject({
      reason: 'FCM answered 401 UNAUTHENTICATED',
      isFinal: false,
      isServiceDown: true,
    });
    expect(await notifier.notify(TARGET, PING)).toEqual({ status: 'accepted' });
    expect(service.assertions).toBe(2);
  });

  it('[PING-24] without an access token all pings wait, for as long as Google asks', async () => {
    const { notifier } = await bench({ grant: () => ({ status: 503, retryAfterS: 20 }) });
    expect(await notifier.notify(TARGET, PING)).toEqual({
      status: 'failed',
      reason: 'FCM: no access token: answered 503',
      retryAfterMs: 20_000,
      isFinal: false,
      isServiceDown: true,
    });
  });

  it('[PING-24] an assertion signed by another key, or for another account, gets no access token', async () => {
    const stranger = await bench({}, {}, { privateKey: newAccountKey() });
    const other = await bench({}, {}, { clientEmail: 'other@example' });
    for (const { notifier, service } of [stranger, other]) {
      expect(await notifier.notify(TARGET, PING)).toMatchObject({
        reason: 'FCM: no access token: answered 400 invalid_grant',
      });
      expect(service.taken).toEqual([]);
    }
  });
});

describe('what FCM answers', () => {
  const outcomeWhen = async (behaviour: FcmBehaviour, parts: Partial<FcmNotifierParts> = {}): Promise<PingOutcome> => {
    const { notifier } = await bench({ behave: () => behaviour }, parts);
    return notifier.notify(TARGET, PING);
  };

  it('[PING-25] UNREGISTERED removes the address of the device', async () => {
    expect(await outcomeWhen({ status: 404, errorCode: 'UNREGISTERED' })).toEqual({
      status: 'retired',
      reason: 'FCM answered 404 UNREGISTERED',
    });
  });

  it.each([
    [400, 'INVALID_ARGUMENT'],
    [403, 'SENDER_ID_MISMATCH'],
    [401, 'THIRD_PARTY_AUTH_ERROR'],
  ])('[PING-25] %i %s is final', async (status, errorCode) => {
    expect(await outcomeWhen({ status, errorCode })).toEqual({
      status: 'failed',
      reason: `FCM answered ${status} ${errorCode}`,
      retryAfterMs: null,
      isFinal: true,
    });
  });

  it.each([
    [429, 'QUOTA_EXCEEDED', undefined, 60_000],
    [429, 'QUOTA_EXCEEDED', 90, 90_000],
    [503, 'UNAVAILABLE', 5, 5_000],
    [500, 'INTERNAL', undefined, null],
    [403, undefined, undefined, null],
    [404, undefined, undefined, null],
  ])('[PING-25] %i %s with Retry-After %s makes all pings wait %s ms', async (status, errorCode, asked, waitMs) => {
    const behaviour = {
      status,
      ...(errorCode === undefined ? {} : { errorCode }),
      ...(asked === undefined ? {} : { retryAfterS: asked }),
    };
    expect(await outcomeWhen(behaviour)).toMatchObject({ isFinal: false, isServiceDown: true, retryAfterMs: waitMs });
  });

  it('[PING-25] if the connection is cut after the request was taken, or no answer comes, the device may have been pinged', async () => {
    expect(await outcomeWhen('cut')).toMatchObject({ isAnswerLost: true, isFinal: false });
    expect(await outcomeWhen('silence', { timeoutMs: 300 })).toMatchObject({
      isAnswerLost: true,
      reason: 'FCM did not answer: no answer in 300 ms',
    });
  });

  it('[PING-25] reasons never contain the address of the device', async () => {
    const outcomes = [await outcomeWhen({ status: 500 }), await outcomeWhen('cut'), await outcomeWhen({ status: 400 })];
    for (const outcome of outcomes) expect(JSON.stringify(outcome)).not.toContain('token-1');
  });
});
