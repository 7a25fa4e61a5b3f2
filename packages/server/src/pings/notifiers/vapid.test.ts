import { createECDH, createPublicKey, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newVapidKeys, Vapid, type VapidKeys, vapidKeysOf } from './vapid.ts';

/** Keys whose private number begins with this number of zero bytes. */
function keysWithZeros(zeros: number): VapidKeys {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(Buffer.alloc(32 - zeros, 7));
  return vapidKeysOf(pair);
}

function isSignedBy(token: string, { publicKey }: VapidKeys): boolean {
  const point = Buffer.from(publicKey, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'));
  const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y } as never, format: 'jwk' });
  const [head, body, signature = ''] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  return verify('sha256', Buffer.from(`${head}.${body}`), { key, dsaEncoding: 'ieee-p1363' }, bytes);
}

describe('keys of web push', () => {
  it.each([0, 1, 2])('[PING-26] web push keys whose number begins with %i zero bytes can sign', async (zeros) => {
    const keys = keysWithZeros(zeros);
    expect(Buffer.from(keys.privateKey, 'base64url')).toHaveLength(32);
    const vapid = new Vapid({ keys, subject: 'mailto:operator@tidemark.example', clock: { nowMs: () => 1_000 } });
    const header = await vapid.authorization('https://push.example');
    const [, token = '', shown] = /^vapid t=([^,]+), ?k=(.+)$/.exec(header) ?? [];
    expect([isSignedBy(token, keys), shown]).toEqual([true, keys.publicKey]);
  });

  it('[PING-26] web push keys are different each time, and have the right length', () => {
    const [one, other] = [newVapidKeys(), newVapidKeys()];
    expect(one.privateKey).not.toBe(other.privateKey);
    expect([one.privateKey.length, Buffer.from(one.publicKey, 'base64url').length]).toEqual([43, 65]);
  });
});
