import { createECDH } from 'node:crypto';
import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { addressProblem, readSubscription } from './device-address.ts';

const ecdh = createECDH('prime256v1');
ecdh.generateKeys();
const KEYS = { p256dh: ecdh.getPublicKey('base64url'), auth: Buffer.alloc(16, 7).toString('base64url') };
const ENDPOINT = 'https://updates.push.services.mozilla.com/wpush/v2/abc';
const subscription = (changes: object = {}) => JSON.stringify({ endpoint: ENDPOINT, keys: KEYS, ...changes });

describe('addresses', () => {
  it('[CLIENT-8] an address must have the format of its push service', () => {
    const good = [
      ['apns', 'ab'.repeat(32)],
      ['apns_sandbox', 'AB01'.repeat(8)],
      ['apns', '0'.repeat(16)],
      ['apns', 'f'.repeat(200)],
      ['fcm', 'dQw4w9WgXcQ:APA91b-_x'],
      ['webpush', subscription()],
      ['webpush', subscription({ expirationTime: null, extra: 1 })],
      ['webhook', 'any thing'],
      ['live', 'x'],
    ] as const;
    for (const [type, pin] of good) expect(addressProblem(type, pin), `${type} ${pin}`).toBeNull();
    const bad = [
      ['apns', 'ab'.repeat(7)],
      ['apns', 'ab'.repeat(101)],
      ['apns', `${'ab'.repeat(32)}c`],
      ['apns', `${'ab'.repeat(31)}/x`],
      ['apns', `${'ab'.repeat(32)}\n`],
      ['fcm', 'two words'],
      ['fcm', 'Grüße'],
      ['fcm', 'x\r\ny'],
      ['webpush', 'https://push.example/x'],
      ['webpush', 'null'],
      ['webpush', '[]'],
      ['webpush', '{'],
      ['webpush', subscription({ endpoint: 'http://push.example/x' })],
      ['webpush', subscription({ endpoint: 'https://u:p@push.example/x' })],
      ['webpush', subscription({ endpoint: 'https://push.example/x#y' })],
      ['webpush', subscription({ endpoint: 'https://push.example/\tx' })],
      ['webpush', subscription({ endpoint: 7 })],
      ['webpush', subscription({ keys: null })],
      ['webpush', subscription({ keys: { ...KEYS, auth: 'AAAA' } })],
      ['webpush', subscription({ keys: { ...KEYS, p256dh: KEYS.auth } })],
      ['webpush', subscription({ keys: { ...KEYS, p256dh: '*' } })],
      ['webpush', subscription({ keys: { ...KEYS, p256dh: Buffer.alloc(65, 3).toString('base64url') } })],
    ] as const;
    for (const [type, pin] of bad) {
      const problem = addressProblem(type, pin);
      expect(problem, `${type} ${pin}`).not.toBeNull();
      expect(problem).not.toContain(pin);
    }
  });

  it('[CLIENT-8] the keys of a Web Push subscription are decoded', () => {
    expect(readSubscription(subscription())).toEqual({
      endpoint: ENDPOINT,
      p256dh: new Uint8Array(ecdh.getPublicKey()),
      auth: new Uint8Array(Buffer.alloc(16, 7)),
    });
  });
});

describe('registering', () => {
  const setUp = async () => (await newTidemark()).tidemark.clients;

  it('[CLIENT-8] an address in the wrong format is refused, and the error does not repeat it', async () => {
    const clients = await setUp();
    const secret = 'not-a-token';
    const refusal = await clients.register('ada', { device_type: 'ios', device_pin: secret }).catch(String);
    expect(refusal).toContain('device_pin must be a device token of APNs');
    expect(refusal).not.toContain(secret);
    expect(await refusalOf(clients.register('ada', { device_type: 'web', device_pin: secret }))).toBe('invalid_value');
    await clients.register('ada', { device_type: 'android', device_pin: secret });
  });

  it('[CLIENT-8] the push type takes precedence over the device type, and an unknown push type is refused', async () => {
    const clients = await setUp();
    await clients.register('ada', { device_type: 'ios', device_push_type: 'fcm', device_pin: 'a:b' });
    for (const device_push_type of ['gcm', 'APNS', '__proto__', 7]) {
      expect(await refusalOf(clients.register('ada', { device_push_type }))).toBe('invalid_value');
    }
  });

  it('[CLIENT-8] an update is checked against the resulting device, and only when it changes the address', async () => {
    const clients = await setUp();
    await clients.register('ada', { client_id: 'c', device_type: 'android', device_pin: 'a:b' });
    expect(await refusalOf(clients.update('ada', 'c', { device_type: 'ios' }))).toBe('invalid_value');
    expect(await clients.get('c')).toMatchObject({ device_type: 'android', device_pin: 'a:b' });
    await clients.update('ada', 'c', { device_type: 'ios', device_pin: 'ab'.repeat(32) });
    await clients.update('ada', 'c', { device_app_version: '2' });
    await clients.update('ada', 'c', { device_type: 'none' });
    expect(await clients.get('c')).toMatchObject({ device_type: 'none', device_app_version: '2' });
  });
});
