import type { PingMessage, PingOutcome, PingTarget } from '@tidemark/core';
import {
  openWebPushStandIn,
  settableClock,
  TEST_ONLY_CERTIFICATE,
  type WebPushBehaviour,
  type WebPushStandIn,
  type WebPushStandInOptions,
} from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BROWSER_PUSH_HOSTS, isListed, readHostList } from '../../config/host-list.ts';
import { checkedLookup, type Resolve, systemResolve } from '../../outbound/checked-lookup.ts';
import { encryptPayload, WEB_PUSH_PAYLOAD_BYTES_MAX } from './encrypt-payload.ts';
import type { ClosableNotifier } from './notifier.ts';
import { newVapidKeys } from './vapid.ts';
import { type WebPushNotifierParts, webPushNotifier } from './web-push-notifier.ts';

const KEYS = newVapidKeys();
const PING: PingMessage = { id: 'abc_0', sources: ['Order', 'Prodükt'], message: 'Grüße 💧', badge: 3, vibrateS: 0.5 };

interface Bench {
  readonly service: WebPushStandIn;
  readonly notifier: ClosableNotifier;
  readonly clock: ReturnType<typeof settableClock>;
  readonly ping: (ping?: PingMessage, pin?: string) => Promise<PingOutcome>;
}

async function bench(
  behave: WebPushStandInOptions['behave'] = () => ({ status: 201 }),
  parts: Partial<WebPushNotifierParts> = {},
): Promise<Bench> {
  const clock = settableClock();
  const service = await openWebPushStandIn({ publicKey: KEYS.publicKey, nowMs: clock.nowMs, behave });
  const notifier = webPushNotifier({
    keys: KEYS,
    subject: 'mailto:ops@example.com',
    hosts: ['localhost', '127.0.0.1'],
    addressRules: { denyPrivate: false },
    ttlS: 3_600,
    clock,
    jitter: () => 1,
    ca: [TEST_ONLY_CERTIFICATE],
    ...parts,
  });
  onTestFinished(async () => {
    notifier.close();
    await service.close();
  });
  const pin = service.subscribe();
  return { service, notifier, clock, ping: (ping = PING, at = pin) => notifier.notify(browser(at), ping) };
}

function browser(devicePin: string): PingTarget {
  return { client: 'c1', deviceType: 'web', pushType: 'webpush', devicePin, devicePort: null, appId: null };
}

describe('encryption', () => {
  it('[PING-26] the encryption matches the example of RFC 8291 byte for byte', () => {
    const bytes = (text: string) => Buffer.from(text, 'base64url');
    const encrypted = encryptPayload(
      'When I grow up, I want to be a watermelon',
      {
        p256dh: bytes('BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'),
        auth: bytes('BTBZMqHH6r4Tts7J_aSIgg'),
      },
      {
        privateKey: bytes('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw'),
        salt: bytes('DGv6ra1nlYgDCS1FRnbzlw'),
      },
    );
    expect(encrypted.toString('base64url')).toBe(
      'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
    );
  });
});

describe('a ping to a browser', () => {
  it('[PING-26] a ping arrives encrypted, signed for the service, with time to live, urgency and topic', async () => {
    const { service, ping } = await bench();
    expect(await ping()).toEqual({ status: 'accepted' });
    await ping({ id: 'p', sources: [] });
    const [first, second] = service.taken;
    expect(JSON.parse(first?.payload ?? '')).toEqual({
      ping_id: 'abc_0',
      do_sync: ['Order', 'Prodükt'],
      message: 'Grüße 💧',
      badge: 3,
      vibrate: 0.5,
    });
    expect(first?.headers).toMatchObject({ ttl: '3600', urgency: 'high', topic: expect.stringMatching(/^[\w-]{32}$/) });
    expect(second?.headers.urgency).toBe('normal');
    expect(JSON.parse(second?.payload ?? '')).toEqual({ ping_id: 'p', do_sync: [] });
  });

  it('[PING-26] one signature is used for many pings, and renewed before it expires', async () => {
    const { service, ping, clock } = await bench();
    for (let count = 0; count < 3; count++) await ping();
    clock.set(clock.nowMs() + 11 * 3_600_000 + 1_000);
    expect(await ping()).toEqual({ status: 'accepted' });
    expect(new Set(service.taken.map(({ headers }) => headers.authorization)).size).toBe(2);
  });

  it('[PING-26] a service refuses a subscription that was made for another server', async () => {
    const { ping } = await bench(undefined, { keys: newVapidKeys() });
    expect(await ping()).toMatchObject({ isFinal: true, reason: 'the push service answered 403' });
  });

  it('[PING-18] a message too long for one record is shortened; too many sources are refused', async () => {
    const { service, ping } = await bench();
    expect(await ping({ ...PING, message: '💧'.repeat(2_000) })).toMatchObject({
      status: 'accepted',
      note: expect.stringMatching(/^the message was shortened to 9[0-9]{2} of 2000 characters$/),
    });
    expect(Buffer.byteLength(service.taken[0]?.payload ?? '')).toBeGreaterThan(WEB_PUSH_PAYLOAD_BYTES_MAX - 8);
    const sources = Array.from({ length: 100 }, (_, index) => `${index}${'x'.repeat(60)}`);
    expect(await ping({ ...PING, sources })).toMatchObject({
      isFinal: true,
      reason: 'the ping is larger than the 3993 bytes that a push service accepts',
    });
  });

  it('[PING-26] a key that is not a point of the curve, and an invalid subscription, are refused', async () => {
    const { service, ping } = await bench();
    const auth = 'A'.repeat(22);
    const p256dh = Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)]).toString('base64url');
    const pin = JSON.stringify({ endpoint: `${service.origin}/push/b0`, keys: { p256dh, auth } });
    expect(await ping(PING, pin)).toMatchObject({
      isFinal: true,
      reason: 'the key p256dh of the subscription is not valid',
    });
    expect(await ping(PING, '{}')).toMatchObject({ isFinal: true, reason: 'device_pin is not a push subscription' });
  });
});

describe('what a push service answers', () => {
  const outcomeWhen = async (behaviour: WebPushBehaviour, parts: Partial<WebPushNotifierParts> = {}) =>
    (await bench(() => behaviour, parts)).ping();

  it.each([200, 201, 202, 204])('[PING-27] %i means accepted', async (status) => {
    expect(await outcomeWhen({ status })).toEqual({ status: 'accepted' });
  });

  it.each([404, 410])('[PING-27] %i removes the subscription', async (status) => {
    expect(await outcomeWhen({ status })).toEqual({
      status: 'retired',
      reason: `the push service answered ${status}`,
    });
  });

  it.each([400, 401, 403, 413])('[PING-27] %i is final', async (status) => {
    expect(await outcomeWhen({ status })).toMatchObject({
      isFinal: true,
      reason: `the push service answered ${status}`,
    });
  });

  it.each([
    [429, '12', 12_000],
    [503, '3', 3_000],
    [500, undefined, null],
  ])('[PING-27] %i with Retry-After %s is retried after %s ms', async (status, asked, waitMs) => {
    const headers = asked === undefined ? {} : { 'retry-after': asked };
    expect(await outcomeWhen({ status, headers })).toEqual({
      status: 'failed',
      reason: `the push service answered ${status}`,
      retryAfterMs: waitMs,
      isFinal: false,
    });
  });

  it('[PING-27] a redirect is not followed', async () => {
    const { service, ping } = await bench(() => ({ status: 307, headers: { location: '/push/b1' } }));
    service.subscribe();
    expect(await ping()).toMatchObject({ isFinal: true, reason: 'the push service redirects, which is not followed' });
    expect(service.taken.map(({ browser: name }) => name)).toEqual(['/push/b0']);
  });

  it('[PING-27] a silent answer and an endless answer are given up', async () => {
    expect(await outcomeWhen('silence', { timeoutMs: 300 })).toMatchObject({
      isAnswerLost: true,
      reason: 'the push service did not answer: no answer in 300 ms',
    });
    expect(await outcomeWhen({ status: 201, body: 'x'.repeat(1_000_000) })).toEqual({ status: 'accepted' });
  });

  it('[PING-27] if the connection is cut after the message was taken, the browser may have been pinged', async () => {
    expect(await outcomeWhen('cut')).toMatchObject({ isAnswerLost: true, isFinal: false });
  });

  it('[PING-30] a push service that is down is paused, and others are not', async () => {
    const { service, ping } = await bench(() => ({ status: 500 }));
    const { ping: pingElsewhere } = await bench();
    for (let count = 0; count < 5; count++) await ping();
    expect(await ping()).toMatchObject({ reason: 'the push service is down', retryAfterMs: 1_000, isFinal: false });
    expect(service.taken).toHaveLength(5);
    expect(await pingElsewhere()).toEqual({ status: 'accepted' });
  });

  it('[PING-30] a call that failed before it was sent leaves the probe to the next call', async () => {
    let isBroken = false;
    const resolve: Resolve = (name) => {
      if (isBroken) throw new Error('broken');
      return systemResolve(name);
    };
    const answer = { status: 500, headers: { connection: 'close' } };
    const { service, ping, clock } = await bench((_, index) => (index < 5 ? answer : { status: 201 }), { resolve });
    for (let count = 0; count < 5; count++) await ping();
    clock.advance(1_000);
    isBroken = true;
    await expect(ping()).rejects.toThrow('broken');
    isBroken = false;
    expect([await ping(), service.taken.length]).toEqual([{ status: 'accepted' }, 6]);
  });
});

describe('allowed endpoints', () => {
  const elsewhere = async (host: string, parts: Partial<WebPushNotifierParts>) => {
    const { service, ping } = await bench(undefined, { hosts: ['*'], ...parts });
    const { port } = new URL(service.origin);
    const outcome = await ping(PING, service.subscribe().replace('localhost', host));
    return { outcome, taken: service.taken.length, port };
  };
  const leadsTo =
    (...addresses: string[]): Resolve =>
    async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

  it.each(['169.254.169.254', '[fe80::1]', '[::ffff:169.254.169.254]', '0.0.0.0', '2852039166'])(
    '[PING-28] %s is never called, even if private addresses are allowed',
    async (host) => {
      const { outcome } = await elsewhere(host, { addressRules: { denyPrivate: false } });
      expect(outcome).toMatchObject({ isFinal: true, reason: 'the push service is at an address that is not allowed' });
    },
  );

  it.each(['127.0.0.1', '[::1]', '10.0.0.1', '192.168.1.1'])('[PING-28] %s is not called by default', async (host) => {
    const { outcome, taken } = await elsewhere(host, { addressRules: { denyPrivate: true } });
    expect(outcome).toMatchObject({ isFinal: true });
    expect(taken).toBe(0);
  });

  it.each([[['169.254.169.254']], [['127.0.0.1']], [['93.184.216.34', '10.0.0.1']]])(
    '[PING-28] a name that resolves to %s is not called',
    async (addresses) => {
      const resolve = leadsTo(...addresses);
      const { outcome, taken } = await elsewhere('push.example', { resolve, addressRules: { denyPrivate: true } });
      expect(outcome).toMatchObject({
        isFinal: false,
        reason: 'the push service cannot be reached: resolves to an address that is not allowed',
      });
      expect(taken).toBe(0);
    },
  );

  it('[PING-28] the connection uses the address that was checked', async () => {
    const lookups: string[] = [];
    const resolve: Resolve = (name) => {
      lookups.push(name);
      return leadsTo('127.0.0.1')(name);
    };
    const lookup = checkedLookup(resolve, { denyPrivate: false });
    const one = await new Promise((resolve) => lookup('a.example', {}, (...answer) => resolve(answer)));
    const all = await new Promise((resolve) => lookup('a.example', { all: true }, (...answer) => resolve(answer)));
    expect([one, all]).toEqual([
      [null, '127.0.0.1', 4],
      [null, [{ address: '127.0.0.1', family: 4 }]],
    ]);
    expect(lookups).toHaveLength(2);
  });

  it('[PING-28] only push services on the list are called', async () => {
    const { service, ping } = await bench(undefined, { hosts: ['push.example'] });
    expect(await ping()).toMatchObject({
      isFinal: true,
      reason: 'the push service of the subscription is not allowed',
    });
    expect(service.taken).toEqual([]);
    const hosts = readHostList(BROWSER_PUSH_HOSTS) ?? [];
    expect(['fcm.googleapis.com', 'updates.push.services.mozilla.com'].map((host) => isListed(hosts, host))).toEqual([
      true,
      true,
    ]);
    const strangers = [
      'evil.example',
      'xfcm.googleapis.com',
      'push.services.mozilla.com.evil.example',
      'push.apple.com',
    ];
    expect(strangers.filter((host) => isListed(hosts, host))).toEqual([]);
    expect(readHostList('a.example, *, *.b.example')).toEqual(['a.example', '*', '*.b.example']);
    for (const text of ['', 'a,,b', 'https://a.example', 'a b', '*a.example']) expect(readHostList(text)).toBeNull();
  });
});
