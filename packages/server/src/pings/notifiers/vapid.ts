import { createECDH, type ECDH } from 'node:crypto';
import { BoundedMap, type Clock, refs, type Store } from '@tidemark/core';
import { parseJson } from '@tidemark/protocol';
import { type CryptoKey, importJWK, SignJWT } from 'jose';

/**
 * The key pair by which push services recognise this server (RFC 8292), as base64url: the public key for browsers,
 * and the private scalar.
 */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

interface VapidParts {
  readonly keys: VapidKeys;
  /** Where a push service can reach the operator: a `mailto:` or `https:` URL. Null if it is not configured. */
  readonly subject: string | null;
  readonly clock: Clock;
}

/** Push services accept a day at most. */
const LIFETIME_S = 12 * 3_600;
const RENEW_AFTER_MS = (LIFETIME_S - 3_600) * 1_000;
/** Push services whose token is cached. There are few, but endpoints come from devices. */
const ORIGINS_MAX = 100;

interface Signed {
  readonly atMs: number;
  readonly header: Promise<string>;
}

export function newVapidKeys(): VapidKeys {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  return vapidKeysOf(pair);
}

const SCALAR_BYTES = 32;

export function vapidKeysOf(pair: ECDH): VapidKeys {
  // Leading zero bytes are missing from the key, in one of 256 cases.
  const scalar = pair.getPrivateKey();
  const whole = Buffer.concat([Buffer.alloc(SCALAR_BYTES - scalar.length), scalar]);
  return { publicKey: pair.getPublicKey('base64url'), privateKey: whole.toString('base64url') };
}

/** Signs the tokens by which a push service checks that the subscription was made for this server. */
export class Vapid {
  readonly #parts: VapidParts;
  readonly #key: Promise<CryptoKey>;
  /** Tokens by origin. */
  readonly #signed = new BoundedMap<string, Signed>(ORIGINS_MAX);

  constructor(parts: VapidParts) {
    this.#parts = parts;
    this.#key = importJWK(jwkOf(parts.keys), 'ES256') as Promise<CryptoKey>;
    this.#key.catch(() => undefined);
  }

  /** Returns the `Authorization` header for endpoints of the origin. */
  authorization(origin: string): Promise<string> {
    const nowMs = this.#parts.clock.nowMs();
    const known = this.#signed.get(origin);
    const isGood = known !== undefined && Math.abs(nowMs - known.atMs) < RENEW_AFTER_MS;
    const signed = isGood ? known : { atMs: nowMs, header: this.#sign(origin, Math.floor(nowMs / 1_000)) };
    // Setting it again makes it the most recently used one.
    this.#signed.set(origin, signed);
    return signed.header;
  }

  async #sign(origin: string, nowS: number): Promise<string> {
    const { keys, subject } = this.#parts;
    const token = await new SignJWT(subject === null ? {} : { sub: subject })
      .setProtectedHeader({ typ: 'JWT', alg: 'ES256' })
      .setAudience(origin)
      .setExpirationTime(nowS + LIFETIME_S)
      .sign(await this.#key);
    return `vapid t=${token}, k=${keys.publicKey}`;
  }
}

function jwkOf({ publicKey, privateKey }: VapidKeys) {
  const point = Buffer.from(publicKey, 'base64url');
  const x = point.subarray(1, 33).toString('base64url');
  const y = point.subarray(33).toString('base64url');
  return { kty: 'EC', crv: 'P-256', x, y, d: privateKey };
}

/**
 * Returns the keys of this installation. The first start creates them in the store, where all servers find them.
 * Browsers subscribe with them, so losing them would lose all browsers.
 */
export async function loadVapidKeys(store: Store): Promise<VapidKeys> {
  const ref = refs.setting('vapid');
  const kept = await store.readEntry(ref);
  if (kept !== null) return parseJson(kept.value) as VapidKeys;
  const keys = newVapidKeys();
  const { status } = await store.writeEntries({
    writes: [{ ...ref, value: JSON.stringify(keys), expect: 0 }],
    guards: [],
  });
  // Another server that started at the same time has written its keys first.
  return status === 'written' ? keys : loadVapidKeys(store);
}
