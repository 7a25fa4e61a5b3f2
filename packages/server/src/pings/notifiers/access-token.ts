import { type Clock, elapsedMs } from '@tidemark/core';
import { parseJson } from '@tidemark/protocol';
import { importPKCS8, SignJWT } from 'jose';
import type { Timers } from '../../jobs/timers.ts';
import { retryAfterMs } from '../../outbound/retry-after-ms.ts';
import { httpsExchange } from './https-exchange.ts';

/** What Google's file for a service account says, as far as it matters here. */
export interface ServiceAccount {
  readonly projectId: string;
  readonly clientEmail: string;
  readonly privateKeyId: string | null;
  /** PKCS #8 as PEM. */
  readonly privateKey: string;
  readonly tokenUri: string;
}

export interface AccessTokenParts {
  readonly account: ServiceAccount;
  readonly clock: Clock;
  readonly ca?: readonly string[] | undefined;
  readonly timeoutMs: number;
  readonly timers?: Timers;
}

/** Why there is no token just now. */
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
/** A token is not used to its very end: a request may be under way for a while. */
const SPARE_MS = 300_000;

interface Got {
  readonly text: string;
  readonly askedAtMs: number;
  readonly goodMs: number;
}

/** The token by which Google knows the service account: got with a signed assertion, kept until shortly before it ends. */
export class AccessToken {
  readonly #parts: AccessTokenParts;
  #got: Got | null = null;
  #getting: Promise<string> | null = null;

  constructor(parts: AccessTokenParts) {
    this.#parts = parts;
  }

  /** Rejects with `NoAccessToken`. However many ask at once, Google is asked once. */
  async text(): Promise<string> {
    if (this.#got !== null && elapsedMs(this.#got.askedAtMs, this.#parts.clock.nowMs()) < this.#got.goodMs)
      return this.#got.text;
    this.#getting ??= this.#get().finally(() => {
      this.#getting = null;
    });
    return this.#getting;
  }

  /** Google does not take this one any more. */
  expire(text: string): void {
    if (this.#got?.text === text) this.#got = null;
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
    this.#got = { text, askedAtMs, goodMs: Math.max(0, expiresInS * 1_000 - SPARE_MS) };
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
  const grant = parsed(body);
  const { access_token: text, expires_in: expiresInS } = grant;
  return {
    text: typeof text === 'string' && /^[\x21-\x7e]{1,4096}$/.test(text) ? text : null,
    expiresInS: typeof expiresInS === 'number' && expiresInS > 0 ? expiresInS : ASSERTION_S,
  };
}

/** OAuth's word for what is wrong. */
function errorIn(body: string): string {
  const { error } = parsed(body);
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? ` ${error}` : '';
}

function parsed(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJson(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
