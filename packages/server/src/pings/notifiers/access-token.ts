import { type Clock, elapsedMs } from '@tidemark/core';
import { parseMembers, retryAfterMs } from '@tidemark/protocol';
import { importPKCS8, SignJWT } from 'jose';
import type { ServiceAccount } from '../../config/push-keys.ts';
import type { Timers } from '../../jobs/timers.ts';
import { httpsExchange } from './https-exchange.ts';

export interface AccessTokenParts {
  readonly account: ServiceAccount;
  readonly clock: Clock;
  readonly ca?: readonly string[] | undefined;
  readonly timeoutMs: number;
  readonly timers?: Timers;
}

/** There is no access token; the message says why. */
export class NoAccessToken extends Error {
  override readonly name = 'NoAccessToken';
  readonly retryAfterMs: number | null;

  constructor(reason: string, waitMs: number | null) {
    super(reason);
    this.retryAfterMs = waitMs;
  }
}

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ASSERTION_S = 3_600;
/** A token is renewed this long before its end, since a request may take a while. */
const RENEW_BEFORE_MS = 300_000;

interface CachedToken {
  readonly text: string;
  readonly askedAtMs: number;
  readonly lifetimeMs: number;
}

/**
 * The OAuth token of the service account: requested with a signed assertion, and cached until shortly before it
 * expires.
 */
export class AccessToken {
  readonly #parts: AccessTokenParts;
  #cached: CachedToken | null = null;
  #pending: Promise<string> | null = null;

  constructor(parts: AccessTokenParts) {
    this.#parts = parts;
  }

  /** Rejects with `NoAccessToken`. Concurrent callers share one request to Google. */
  async text(): Promise<string> {
    if (this.#cached !== null && elapsedMs(this.#cached.askedAtMs, this.#parts.clock.nowMs()) < this.#cached.lifetimeMs)
      return this.#cached.text;
    this.#pending ??= this.#get().finally(() => {
      this.#pending = null;
    });
    return this.#pending;
  }

  /** Drops a token that Google has refused. */
  expire(text: string): void {
    if (this.#cached?.text === text) this.#cached = null;
  }

  async #get(): Promise<string> {
    const { account, clock, ca, timeoutMs, timers } = this.#parts;
    const askedAtMs = clock.nowMs();
    const reply = await httpsExchange({
      url: account.tokenUri,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: GRANT_TYPE, assertion: await this.#assertion(askedAtMs) }).toString(),
      ca,
      timeoutMs,
      ...(timers === undefined ? {} : { timers }),
    });
    if (reply.kind !== 'answered') throw new NoAccessToken(`no access token: ${reply.reason}`, null);
    const { text, expiresInS } = readGrant(reply.body);
    if (reply.status !== 200 || text === null) {
      const waitMs = retryAfterMs(reply.retryAfter, clock.nowMs());
      throw new NoAccessToken(`no access token: answered ${reply.status}${errorIn(reply.body)}`, waitMs);
    }
    this.#cached = { text, askedAtMs, lifetimeMs: Math.max(0, expiresInS * 1_000 - RENEW_BEFORE_MS) };
    return text;
  }

  async #assertion(nowMs: number): Promise<string> {
    const { clientEmail, privateKey, privateKeyId, tokenUri } = this.#parts.account;
    const issuedAtS = Math.floor(nowMs / 1_000);
    return new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(privateKeyId === null ? {} : { kid: privateKeyId }) })
      .setIssuer(clientEmail)
      .setAudience(tokenUri)
      .setIssuedAt(issuedAtS)
      .setExpirationTime(issuedAtS + ASSERTION_S)
      .sign(await importPKCS8(privateKey, 'RS256'));
  }
}

function readGrant(body: string): { readonly text: string | null; readonly expiresInS: number } {
  const grant = parseMembers(body);
  const { access_token: text, expires_in: expiresInS } = grant;
  return {
    text: typeof text === 'string' && /^[\x21-\x7e]{1,4096}$/.test(text) ? text : null,
    expiresInS: typeof expiresInS === 'number' && expiresInS > 0 ? expiresInS : ASSERTION_S,
  };
}

/** Returns the error code of OAuth. */
function errorIn(body: string): string {
  const { error } = parseMembers(body);
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? ` ${error}` : '';
}
