import {
  AdapterRefusal,
  type Clock,
  type Log,
  type LogFields,
  LoggedFailure,
  type ObjectsAnswer,
  type QueryAnswer,
  type Random,
} from '@tidemark/core';
import { BACKEND_DETAIL_UNITS_MAX, type BackendFailure, Refusal } from '@tidemark/protocol';
import { systemTimers, type Timers } from '../jobs/timers.ts';
import { BACKEND_FAILURES_KEPT_MAX } from '../limits.ts';
import { BlockedAddress } from '../outbound/checked-lookup.ts';
import type { BreakerState, BreakerView } from '../outbound/circuit-breaker.ts';
import { signWebhook } from '../outbound/sign-webhook.ts';
import { isAboutSignature, isNoSuchCall, refusalOfAnswer, SignatureRefused } from './answer-refusal.ts';
import type { BackendCall } from './backend-contract.ts';
import { failureOf, unavailable } from './backend-failure.ts';
import type { BackendHttp, Exchange } from './backend-http.ts';
import { CALL_KINDS, CallGates, type CallKind, type CallSlot } from './call-gates.ts';
import { parseObject, readText, textChunks, unusableAnswer } from './read-answer.ts';

export interface BackendCallsParts {
  readonly http: BackendHttp;
  /** Returns the current address of the backend; null if none is set. */
  readonly address: () => Promise<string | null>;
  /** Shared with the backend. */
  readonly secret: () => Promise<string>;
  readonly clock: Clock;
  /** Measures durations: it is never set. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly random: Random;
  /** Returns random fractions from 0 up to 1. */
  readonly jitter: () => number;
  readonly log: Log;
  readonly timers?: Timers;
  /** The deadline of one call; queries have their own. */
  readonly timeoutMs: number;
  readonly queryTimeoutMs: number;
  /** Called after every call, for the statistics. */
  readonly onCall?: (call: BackendCall, outcome: CallOutcome, tookMs: number) => void;
  readonly onBreaker?: (state: BreakerState, kind: CallKind) => void;
}

/** `held_back`: the backend was not called, because its breaker is open or too many calls are under way. */
export type CallOutcome = 'answered' | 'refused' | 'failed' | 'held_back';

/** The state of the worst breaker, and of the breaker of each kind of call. */
export interface CallsHealth extends BreakerView {
  readonly isSet: boolean;
  readonly kinds: Readonly<Record<CallKind, BreakerView>>;
}

const ID_BYTES = 16;
const MS_PER_S = 1_000;
/** To a query: the backend pushes every change by itself, so nothing is to be replaced. */
const NO_CONTENT = 204;
const SEVERITY = { closed: 0, trying: 1, open: 2 } as const;

/** Converts an answer, or throws what is wrong with it. */
export type ReadAnswer<T> = (read: AnswerRead) => T;

export interface AnswerRead {
  readonly answer: Readonly<Record<string, unknown>>;
  readonly status: number;
}

/** The body of a call. The log names source, user and op_id if they are present. */
export interface CallBody {
  readonly [field: string]: unknown;
  readonly password?: string;
  readonly source?: string;
  readonly user_id?: string | null;
  readonly op_id?: string;
}

interface PendingCall {
  readonly call: BackendCall;
  readonly body: CallBody;
  readonly url: URL;
  readonly webhookId: string;
  readonly signingSecret: string;
  readonly permit: CallSlot['permit'];
  readonly startMs: number;
  readonly exchange?: Exchange;
  /** The words of the backend about its refusal, without secrets. */
  said: string | null;
}

type Posted = PendingCall & { readonly exchange: Exchange };

/** Signed calls to the backend. Each passes a circuit breaker, has one result, and is logged if it failed. */
export class BackendCalls {
  readonly #parts: BackendCallsParts;
  readonly #gates: CallGates;
  /** Newest first. */
  readonly #failures: BackendFailure[] = [];
  #onFailure: (failure: BackendFailure) => void = () => undefined;

  constructor(parts: BackendCallsParts) {
    this.#parts = parts;
    const { clock, steadyClock = clock, jitter, log, timers = systemTimers, onBreaker } = parts;
    this.#gates = new CallGates({
      clock: steadyClock,
      jitter,
      timers,
      onBreaker: (state, calls) => {
        log.warn('backend_breaker', { state, calls });
        onBreaker?.(state, calls);
      },
    });
  }

  health(address: string | null): CallsHealth {
    const kinds = this.#gates.views(address);
    const worst = CALL_KINDS.map((kind) => kinds[kind]).reduce((one, other) => (isWorse(other, one) ? other : one));
    return { isSet: address !== null, ...worst, kinds };
  }

  /** Calls the listener after every call that failed. There is one listener. */
  watchFailures(listener: (failure: BackendFailure) => void): void {
    this.#onFailure = listener;
  }

  /** Returns the last calls of this process that failed, newest first. */
  get lastFailures(): readonly BackendFailure[] {
    return this.#failures;
  }

  async query(body: CallBody): Promise<QueryAnswer> {
    const posted = await this.#post('query', body, this.#parts.queryTimeoutMs);
    if (posted.exchange.status !== NO_CONTENT) return this.#objects(posted);
    posted.exchange.release();
    this.#end(posted, null);
    return { isUnchanged: true };
  }

  async search(body: CallBody): Promise<ObjectsAnswer> {
    return this.#objects(await this.#post('search', body, this.#parts.timeoutMs));
  }

  /** Returns a small answer, read to the end. `authenticate` also reads refusals, which are answers to it. */
  async exchange<T>(call: BackendCall, body: CallBody, read: ReadAnswer<T>): Promise<T> {
    const posted = await this.#post(call, body, this.#parts.timeoutMs);
    const { exchange } = posted;
    try {
      const { status } = exchange;
      const isNo = call === 'authenticate' && (status === 401 || status === 403 || isNoSuchCall(status));
      if (!isNo && !isSuccess(status)) throw await this.#refusalOf(posted);
      const text = await readText(exchange);
      // A refused signature says nothing about the user.
      if (isNo && isAboutSignature(text)) throw new SignatureRefused();
      const answer = read({ answer: isNo ? {} : parseObject(text), status });
      this.#end(posted, null, isNo ? 'refused' : 'answered');
      return answer;
    } catch (error) {
      throw this.#end(posted, error);
    } finally {
      exchange.release();
    }
  }

  /** Returns an answer that is read as it arrives. The result of the call is known when it has been read. */
  async #objects(posted: Posted): Promise<ObjectsAnswer> {
    const { exchange } = posted;
    try {
      if (!isSuccess(exchange.status)) throw await this.#refusalOf(posted);
      requireJson(exchange);
    } catch (error) {
      exchange.release();
      throw this.#end(posted, error);
    }
    return {
      chunks: textChunks(exchange, (failure) => this.#end(posted, failure)),
      onUnusable: (failure) => {
        this.#recordFailure(posted, failure, failure);
        return new LoggedFailure(failure);
      },
    };
  }

  async #post(call: BackendCall, body: CallBody, deadlineMs: number): Promise<Posted> {
    const { http, address, secret, clock } = this.#parts;
    const base = await address();
    if (base === null) throw new LoggedFailure(unavailable('no address is set for the backend'));
    // Reads from the store before asking the breaker, so that failures of the store do not count for the backend.
    const signingSecret = await secret();
    const { permit, release } = await this.#enter(base, call);
    const url = new URL(`${base.replace(/\/+$/, '')}/${call}`);
    const webhookId = `msg_${Buffer.from(this.#parts.random.bytes(ID_BYTES)).toString('base64url')}`;
    const startMs = clock.nowMs();
    const pending: PendingCall = { call, body, url, webhookId, signingSecret, permit, startMs, said: null };
    try {
      const text = JSON.stringify(body);
      const headers = this.#headers(text, webhookId, signingSecret);
      const exchange = await http.post({ url, headers, body: text, deadlineMs, onClosed: release });
      return Object.assign(pending, { exchange });
    } catch (error) {
      throw this.#end(pending, error);
    }
  }

  async #enter(address: string, call: BackendCall): Promise<CallSlot> {
    try {
      return await this.#gates.enter(address, call);
    } catch (error) {
      this.#parts.onCall?.(call, 'held_back', 0);
      // The opening of the breaker has been logged already.
      const isBreaker = error instanceof Refusal && error.code === 'backend_unavailable';
      throw isBreaker ? new LoggedFailure(error) : error;
    }
  }

  #headers(body: string, id: string, secret: string): Readonly<Record<string, string>> {
    const timestampS = Math.floor(this.#parts.clock.nowMs() / MS_PER_S);
    return {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      accept: 'application/json',
      'user-agent': 'tidemark',
      ...signWebhook(secret, { id, timestampS, body }),
    };
  }

  async #refusalOf(posted: Posted): Promise<Error> {
    const { error, ...answer } = await refusalOfAnswer(posted.exchange, posted.call, this.#parts.clock.nowMs());
    posted.said = wordsOf(posted, answer);
    return error;
  }

  /**
   * Counts the call, reports it to the breaker, logs a failure, and returns the error for the caller. Called once per
   * call.
   */
  #end(pending: PendingCall, error: unknown, outcome: CallOutcome = 'answered'): unknown {
    const { call, permit, startMs } = pending;
    const { clock, onCall } = this.#parts;
    const tookMs = clock.nowMs() - startMs;
    const isRefusal =
      error instanceof AdapterRefusal || (error instanceof Refusal && error.code === 'search_not_available');
    if (error === null || isRefusal) {
      permit.succeed();
      onCall?.(call, isRefusal ? 'refused' : outcome, tookMs);
      return error;
    }
    const failure = failureOf(error);
    this.#recordFailure(pending, error, failure);
    permit.fail(failure.retryAfterS === null ? null : failure.retryAfterS * MS_PER_S);
    onCall?.(call, 'failed', tookMs);
    return new LoggedFailure(failure);
  }

  /** Remembers a failure, and logs everything known about it in one line. Callers do not log the failure again. */
  #recordFailure(pending: PendingCall, error: unknown, { code, message: reason }: Refusal): void {
    const { call, url, body, exchange, startMs, webhookId: webhook_id, said: detail } = pending;
    const nowMs = this.#parts.clock.nowMs();
    const duration_ms = nowMs - startMs;
    const status = exchange?.status ?? null;
    const { source = null, user_id = null, op_id = null } = body;
    const at = new Date(nowMs).toISOString();
    const failed = { at, call, source, user_id, op_id, status, code, reason, detail, duration_ms, webhook_id };
    this.#failures.unshift(failed);
    this.#onFailure(failed);
    this.#failures.length = Math.min(this.#failures.length, BACKEND_FAILURES_KEPT_MAX);
    const fields: LogFields = {
      call,
      // Omits credentials and query, which may hold secrets.
      url: `${url.origin}${url.pathname}`,
      duration_ms,
      status,
      code,
      reason,
      detail,
      webhook_id,
      ...(body.source === undefined ? {} : { source: body.source }),
      ...(body.user_id === undefined ? {} : { user: body.user_id }),
      ...(body.op_id === undefined ? {} : { op_id: body.op_id }),
    };
    if (error instanceof BlockedAddress) {
      this.#parts.log.warn('backend_blocked', { ...fields, host: error.host, address: error.address });
    } else this.#parts.log.warn('backend_failed', fields);
  }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** True if this breaker blocks calls more than the other one, or for longer. */
function isWorse(one: BreakerView, other: BreakerView): boolean {
  if (one.state !== other.state) return SEVERITY[one.state] > SEVERITY[other.state];
  return (one.untilMs ?? 0) > (other.untilMs ?? 0) || one.failures > other.failures;
}

/**
 * Returns the detail of a refusal, or else the beginning of its body, in one line and without the secrets of the call. The
 * body of a refused `authenticate` may repeat the password in any encoding, so it is left out.
 */
function wordsOf(
  { call, signingSecret, body: { password = '' } }: PendingCall,
  { detail, body }: { readonly detail: string | null; readonly body: string },
): string | null {
  let words = detail ?? (call === 'authenticate' ? '' : body);
  for (const secret of [password, signingSecret, signingSecret.replace(/^whsec_/, '')]) {
    if (secret !== '') words = words.replaceAll(secret, '***');
  }
  const line = words.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return line === '' ? null : line.slice(0, BACKEND_DETAIL_UNITS_MAX).toWellFormed();
}

function requireJson({ headers }: Exchange): void {
  const type = String(headers['content-type'] ?? '');
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) throw unusableAnswer('it is not JSON');
}
