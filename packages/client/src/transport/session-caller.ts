import type { DeviceSession } from '@tidemark/protocol';
import { ClientError, clientError } from '../client-error.ts';
import { REFRESH_PAUSE_MS, TOKEN_LIFE_USED_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import type { SessionRow } from '../state/rows.ts';
import { readSession } from './read-answer.ts';
import type { BytesAnswer, BytesCall, OpenCall, Wire, WireCall } from './wire.ts';

/** Stores the session. */
export interface SessionStore {
  current(): SessionRow | null;
  /** Stores a session instead of the one with the replaced token. */
  keep(session: SessionRow, replaced: string): Promise<void>;
  /** Signs in again as the same user, without asking the user. Null: the user has to sign in. */
  renew(replaced: string, signal: AbortSignal): Promise<SessionRow | null>;
  /** Called when the server says that the device must be erased. */
  onWiped(): void;
}

/** Codes that end the session until the user signs in again. */
const ENDING_CODES: ReadonlySet<string> = new Set(['client_not_found', 'user_not_found']);

/** Statuses of a sign-in that is refused, and would be refused again. */
const REFUSED_STATUS: ReadonlySet<number | null> = new Set([400, 401, 403, 409, 413]);

/**
 * Makes calls on behalf of the signed-in user. The token is refreshed before it expires; if the server refuses it,
 * one refresh is tried before the user has to sign in again.
 */
export class SessionCaller {
  readonly #platform: Platform;
  readonly #wire: Wire;
  readonly #store: SessionStore;
  #refreshing: Promise<SessionRow> | null = null;
  #renewing: Promise<SessionRow | null> | null = null;
  #refreshedAtMs = Number.NEGATIVE_INFINITY;

  constructor(platform: Platform, wire: Wire, store: SessionStore) {
    this.#platform = platform;
    this.#wire = wire;
    this.#store = store;
  }

  ask<T>(call: Omit<WireCall<T>, 'token'>): Promise<T> {
    return this.#withToken((token) => this.#wire.ask({ ...call, token }));
  }

  open(call: Omit<OpenCall, 'token'>): Promise<Response> {
    return this.#withToken((token) => this.#wire.open({ ...call, token }));
  }

  exchange(call: Omit<BytesCall, 'token'>): Promise<BytesAnswer> {
    return this.#withToken((token) => this.#wire.exchange({ ...call, token }));
  }

  async #withToken<T>(send: (token: string) => Promise<T>): Promise<T> {
    try {
      return await this.#tryWithToken(send);
    } catch (error) {
      if (error instanceof ClientError && error.code === 'client_wiped') this.#store.onWiped();
      throw error;
    }
  }

  async #tryWithToken<T>(send: (token: string) => Promise<T>): Promise<T> {
    const { token } = await this.#fresh();
    try {
      return await send(token);
    } catch (error) {
      if (!isUnauthorized(error)) throw ended(error);
      const session = await this.#replaced(token);
      return await send(session.token).catch((again: unknown) => {
        throw isUnauthorized(again) ? signInRequired(again) : ended(again);
      });
    }
  }

  /** Returns the session, refreshed if most of its lifetime is over. */
  async #fresh(): Promise<SessionRow> {
    const session = this.#session();
    const { givenAtMs, expiresAtMs } = session;
    const nowMs = this.#platform.nowMs();
    const isDue = nowMs >= givenAtMs + (expiresAtMs - givenAtMs) * TOKEN_LIFE_USED_MAX;
    if (!isDue || nowMs < this.#refreshedAtMs + REFRESH_PAUSE_MS) return session;
    // The old token may still be valid: the server decides.
    return this.#refresh(session).catch(() => this.#session());
  }

  /** Returns another session than the refused one. */
  async #replaced(refused: string): Promise<SessionRow> {
    const session = this.#session();
    if (session.token !== refused) return session;
    try {
      return await this.#refresh(session);
    } catch (error) {
      if (!isUnauthorized(error)) throw ended(error);
      return await this.#renewed(refused, error);
    }
  }

  /** Concurrent callers share one renewal. A refusal of the server means that the user has to sign in. */
  async #renewed(refused: string, cause: unknown): Promise<SessionRow> {
    this.#renewing ??= this.#store.renew(refused, new AbortController().signal).finally(() => {
      this.#renewing = null;
    });
    const session = await this.#renewing.catch((error: unknown) => {
      if (error instanceof ClientError && REFUSED_STATUS.has(error.status)) return null;
      throw error;
    });
    if (session === null) throw signInRequired(cause);
    return session;
  }

  /** Concurrent callers share one refresh, which none of them can abort. */
  #refresh(session: SessionRow): Promise<SessionRow> {
    this.#refreshing ??= this.#askFresh(session, new AbortController().signal).finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  async #askFresh({ token }: SessionRow, signal: AbortSignal): Promise<SessionRow> {
    this.#refreshedAtMs = this.#platform.nowMs();
    const answer = await this.#wire.ask({ method: 'POST', path: '/token', token, body: {}, read: readSession, signal });
    const session = sessionRow(answer, this.#platform.nowMs());
    await this.#store.keep(session, token);
    // Another user may have signed in meanwhile.
    return this.#session();
  }

  #session(): SessionRow {
    const session = this.#store.current();
    if (session === null) throw clientError('signed_out', 'nobody is signed in');
    return session;
  }
}

export function sessionRow(answer: DeviceSession, nowMs: number): SessionRow {
  const expiresAtMs = Date.parse(answer.expires_at);
  return {
    token: answer.token,
    userId: answer.user_id,
    clientId: answer.client_id,
    ...(answer.generation === undefined ? {} : { generation: answer.generation }),
    expiresAtMs: Number.isNaN(expiresAtMs) ? nowMs : expiresAtMs,
    givenAtMs: nowMs,
  };
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof ClientError && error.status === 401;
}

function ended(error: unknown): unknown {
  return error instanceof ClientError && ENDING_CODES.has(error.code) ? signInRequired(error) : error;
}

function signInRequired(cause: unknown): ClientError {
  return clientError('sign_in_required', 'the session has ended; sign in again to go on', cause);
}
