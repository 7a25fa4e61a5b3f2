import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';

export interface Recipient {
  readonly p256dh: Uint8Array;
  readonly auth: Uint8Array;
}

/** Random values for one message. Only tests pass them, for the example of RFC 8291. */
export interface MessageKeys {
  readonly salt: Uint8Array;
  /** A private key of P-256. */
  readonly privateKey: Uint8Array;
}

const RECORD_BYTES = 4_096;
const SALT_BYTES = 16;
const KEY_BYTES = 16;
const NONCE_BYTES = 12;
const SECRET_BYTES = 32;
const TAG_BYTES = 16;
/** Marks the last record (RFC 8188). */
const LAST_RECORD = Buffer.of(2);
const HEADER_BYTES = SALT_BYTES + 4 + 1 + 65;

/** The payload that fits into the one record which every push service accepts. */
export const WEB_PUSH_PAYLOAD_BYTES_MAX = RECORD_BYTES - HEADER_BYTES - TAG_BYTES - LAST_RECORD.length;

/**
 * Encrypts a payload for one browser (RFC 8291), in the content encoding `aes128gcm` (RFC 8188). Throws if the key of
 * the browser is not a point of the curve.
 */
export function encryptPayload(payload: string, recipient: Recipient, randomKeys?: MessageKeys): Buffer {
  const sender = createECDH('prime256v1');
  if (randomKeys === undefined) sender.generateKeys();
  else sender.setPrivateKey(randomKeys.privateKey);
  const salt = randomKeys?.salt ?? randomBytes(SALT_BYTES);
  const publicKey = sender.getPublicKey();
  const shared = sender.computeSecret(recipient.p256dh);
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), recipient.p256dh, publicKey]);
  const secret = derive(shared, recipient.auth, info, SECRET_BYTES);
  const key = derive(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), KEY_BYTES);
  const nonce = derive(secret, salt, Buffer.from('Content-Encoding: nonce\0'), NONCE_BYTES);
  const cipher = createCipheriv('aes-128-gcm', key, nonce);
  const record = [cipher.update(payload, 'utf8'), cipher.update(LAST_RECORD), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([headerOf(salt, publicKey), ...record]);
}

function derive(secret: Uint8Array, salt: Uint8Array, info: Uint8Array, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, bytes));
}

function headerOf(salt: Uint8Array, publicKey: Buffer): Buffer {
  const recordBytes = Buffer.alloc(4);
  recordBytes.writeUInt32BE(RECORD_BYTES);
  return Buffer.concat([salt, recordBytes, Buffer.of(publicKey.length), publicKey]);
}
