import {
  type Adapter,
  AdapterRefusal,
  type Authenticator,
  type Clock,
  type Log,
  type ObjectsAnswer,
  type PersonalCall,
  type QueryCall,
  type Random,
  type UploadCall,
} from '@tidemark/core';
import { BACKEND_DETAIL_UNITS_MAX, type JsonValue, nameProblem, parseJson, Refusal } from '@tidemark/protocol';
import { BlockedAddress } from '../outbound/checked-lookup.ts';
import { type BreakerState, type BreakerView, CircuitBreaker, type Leave } from '../outbound/circuit-breaker.ts';
import { retryAfterMs } from '../outbound/retry-after-ms.ts';
import { signWebhook } from '../outbound/sign-webhook.ts';
import type { BackendCall } from './backend-contract.ts';
import { failureOf, unavailable } from './backend-failure.ts';
import type { BackendHttp, Exchange } from './backend-http.ts';
import { notUsable, parseObject, readText, textChunks } from './read-answer.ts';

export interface HttpBackendParts {
  readonly http: BackendHttp;
  /** Where the backend is at this moment; null: nowhere. */
  readonly address: () => Promise<string | null>;
  /** Shared with the backend. */
  readonly secret: () => Promise<string>;
  readonly clock: Clock;
  readonly random: Random;
  /** Fractions from 0 up to 1. */
  readonly dice: () => number;
  readonly log: Log;
  /** For one call, and for one query. */
  readonly timeoutMs: number;
  readonly queryTimeoutMs: number;
  /** Hears of every call, for the statistics. */
  readonly onCall?: (call: BackendCall, outcome: CallOutcome, tookMs: number) => void;
  readonly onBreaker?: (state: BreakerState) => void;
}

/** `held_back`: the backend was not called, because it failed too often. */
export type CallOutcome = 'answered' | 'refused' | 'failed' | 'held_back';

export interface BackendHealth extends BreakerView {
  readonly isSet: boolean;
}

const ID_BYTES = 16;
/** A call that was to find out and never came back does not keep the others away for longer. */
const TRY_MS_MAX = 60_000;
const MS_PER_S = 1_000;
/** 4xx that say nothing about what was asked: another attempt may do better. */
const PASSING: ReadonlySet<number> = new Set([401, 408, 425, 429]);

const SIGNATURE_REFUSED = 'the backend does not accept the signature';
/** How the problem of a backend is called that does not trust the call, whatever was asked. */
const SIGNATURE_CODE = /^(?:signature_missing|signature_invalid|timestamp_out_of_range)$/;

/** What a backend answers that has no such call. */
const CANNOT: ReadonlySet<number> = new Set([404, 405, 501]);

/** The backend of a customer, reached by `POST {adapter_url}/<call>`. docs/backend.md is the contract. */
export class HttpBackend implements Adapter, Authenticator {
  readonly #parts: HttpBackendParts;
  #breaker: CircuitBreaker;
  /** Whose breaker it is. */
  #address: string | null = null;

  constructor(parts: HttpBackendParts) {
    this.#parts = parts;
    this.#breaker = this.#newBreaker();
  }

  async health(): Promise<BackendHealth> {
    const address = await this.#parts.address();
    return { isSet: address !== null, ...this.#breakerOf(address).view };
  }

  close(): void {
    this.#parts.http.close();
  }

  async authenticate(login: string, password: string): Promise<string | null> {
    return this.#exchange('authenticate', { login, password }, ({ user_id }, status) => {
      if (status === 401 || status === 403) return null;
      const user = user_id ?? login;
      if (typeof user === 'string' && nameProblem('login', user) === null) return user;
      throw notUsable('user_id is no name of a user');
    });
  }

  query({ source, user }: QueryCall): Promise<ObjectsAnswer> {
    const partition = user === null ? 'app' : 'user';
    return this.#objects('query', { source, user_id: user, partition }, this.#parts.queryTimeoutMs);
  }

  search(call: PersonalCall & { readonly params: JsonValue }): Promise<ObjectsAnswer> {
    const { source, user, params } = call;
    return this.#objects('search', { source, user_id: user, params }, this.#parts.timeoutMs);
  }

  async create(call: UploadCall & { readonly attributes: JsonValue }): Promise<string> {
    return this.#exchange('create', { ...uploadOf(call), attributes: call.attributes }, ({ id }) => {
      if (typeof id === 'string' && nameProblem('object', id) === null) return id;
      throw notUsable('it has no id of an object');
    });
  }

  async update(call: UploadCall & { readonly attributes: JsonValue }): Promise<void> {
    await this.#exchange('update', { ...uploadOf(call), attributes: call.attributes }, () => undefined);
  }

  async delete(call: UploadCall): Promise<void> {
    await this.#exchange('delete', uploadOf(call), () => undefined);
  }

  /** An answer that is read as it arrives. How the call ended is only known when it has been read. */
  async #objects(call: BackendCall, body: object, deadlineMs: number): Promise<ObjectsAnswer> {
    const posted = await this.#post(call, body, deadlineMs);
    try {
      const { status } = posted.exchange;
      if (status < 200 || status >= 300) throw await this.#refusalOf(posted, call);
      requireJson(posted.exchange);
    } catch (error) {
      posted.exchange.letGo();
      throw posted.end(error);
    }
    return { chunks: textChunks(posted.exchange, (failure) => void posted.end(failure)) };
  }

  /** A small answer, read to its end. Of a login, a refusal is an answer, too. */
  async #exchange<T>(call: BackendCall, body: object, read: ReadAnswer<T>): Promise<T> {
    const posted = await this.#post(call, body, this.#parts.timeoutMs);
    const { exchange } = posted;
    try {
      const { status } = exchange;
      const isNo = call === 'authenticate' && (status === 401 || status === 403);
      if (!isNo && (status < 200 || status >= 300)) throw await this.#refusalOf(posted, call);
      const text = await readText(exchange);
      // A backend that does not trust us says nothing about the user.
      if (isNo && isAboutSignature(text)) throw new Refusal('backend_error', SIGNATURE_REFUSED);
      const answer = read(isNo ? {} : parseObject(text), status);
      posted.end(null, isNo ? 'refused' : 'answered');
      return answer;
    } catch (error) {
      throw posted.end(error);
    } finally {
      exchange.letGo();
    }
  }

  async #post(call: BackendCall, body: object, deadlineMs: number): Promise<Posted> {
    const { http, address, secret, clock, onCall } = this.#parts;
    const base = await address();
    if (base === null) throw unavailable('no address is set for the backend');
    // Whatever our own store has to say comes before the breaker is asked: its failures are not those of the backend.
    const signingSecret = await secret();
    const leave = this.#breakerOf(base).ask();
    if (typeof leave === 'number') {
      onCall?.(call, 'held_back', 0);
      throw unavailable('the backend fails and is left alone for a while', Math.ceil(leave / MS_PER_S));
    }
    const startMs = clock.nowMs();
    const end = (error: unknown, outcome: CallOutcome = 'answered') =>
      this.#end({ call, leave, startMs }, error, outcome);
    try {
      const url = new URL(`${base.replace(/\/+$/, '')}/${call}`);
      const text = JSON.stringify(body);
      const exchange = await http.post({ url, headers: this.#headers(text, signingSecret), body: text, deadlineMs });
      return { exchange, end };
    } catch (error) {
      throw end(error);
    }
  }

  #headers(body: string, secret: string): Readonly<Record<string, string>> {
    const { clock, random } = this.#parts;
    const id = `msg_${Buffer.from(random.bytes(ID_BYTES)).toString('base64url')}`;
    const signature = signWebhook(secret, { id, timestampS: Math.floor(clock.nowMs() / MS_PER_S), body });
    return {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      accept: 'application/json',
      'user-agent': 'tidemark',
      ...signature,
    };
  }

  /** What a status other than 2xx means. */
  async #refusalOf({ exchange }: Posted, call: BackendCall): Promise<Error> {
    const { status, headers } = exchange;
    if (status >= 300 && status < 400)
      return new Refusal('backend_error', 'the backend redirects, which is not followed');
    if (call === 'search' && CANNOT.has(status)) {
      return new Refusal('search_not_available', 'the backend does not know how to search');
    }
    const detail = await detailOf(exchange);
    if (status >= 400 && status < 500 && !PASSING.has(status) && call !== 'query') {
      return new AdapterRefusal(status === 409 ? 'conflict' : 'rejected', detail);
    }
    const asked = typeof headers['retry-after'] === 'string' ? headers['retry-after'] : null;
    const askedMs = retryAfterMs(asked, this.#parts.clock.nowMs());
    const what = status === 401 ? SIGNATURE_REFUSED : `the backend answered ${status}`;
    return new Refusal('backend_error', what, [], askedMs === null ? null : Math.ceil(askedMs / MS_PER_S));
  }

  /** Counts the call, tells the breaker, and answers the error in words for others. */
  #end({ call, leave, startMs }: CallUnderWay, error: unknown, outcome: CallOutcome): unknown {
    const { clock, onCall, log } = this.#parts;
    const tookMs = clock.nowMs() - startMs;
    const isRefusal =
      error instanceof AdapterRefusal || (error instanceof Refusal && error.code === 'search_not_available');
    if (error === null || isRefusal) {
      leave.succeed();
      onCall?.(call, isRefusal ? 'refused' : outcome, tookMs);
      return error;
    }
    const failure = failureOf(error);
    if (error instanceof BlockedAddress)
      log.warn('backend_blocked', { call, host: error.host, address: error.address });
    else log.warn('backend_failed', { call, code: failure.code, reason: failure.message });
    leave.fail(failure.retryAfterS === null ? null : failure.retryAfterS * MS_PER_S);
    onCall?.(call, 'failed', tookMs);
    return failure;
  }

  /** Another address is another backend. */
  #breakerOf(address: string | null): CircuitBreaker {
    if (address !== this.#address) {
      this.#address = address;
      this.#breaker = this.#newBreaker();
    }
    return this.#breaker;
  }

  #newBreaker(): CircuitBreaker {
    const { clock, dice, log, onBreaker } = this.#parts;
    return new CircuitBreaker({
      clock,
      dice,
      probeMs: TRY_MS_MAX,
      // Who asks for time may mean one source or one user.
      isAskingEnough: false,
      onChange: (state) => {
        log.warn('backend_breaker', { state });
        onBreaker?.(state);
      },
    });
  }
}

function isAboutSignature(text: string): boolean {
  try {
    const { code } = parseJson(text) as { readonly code?: unknown };
    return typeof code === 'string' && SIGNATURE_CODE.test(code);
  } catch {
    return false;
  }
}

/** Makes something of an answer, or throws what is wrong with it. */
type ReadAnswer<T> = (answer: Readonly<Record<string, unknown>>, status: number) => T;

interface CallUnderWay {
  readonly call: BackendCall;
  readonly leave: Leave;
  readonly startMs: number;
}

interface Posted {
  readonly exchange: Exchange;
  /** To be called once; null: it went well. */
  readonly end: (error: unknown, outcome?: CallOutcome) => unknown;
}

function uploadOf({ source, user, opId, id }: UploadCall): object {
  return { source, user_id: user, op_id: opId, id };
}

function requireJson({ headers }: Exchange): void {
  const type = String(headers['content-type'] ?? '');
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) throw notUsable('it is not JSON');
}

const DETAIL_BYTES_MAX = 16_384;

/** What the backend says about its refusal, for the people at the device. */
async function detailOf(exchange: Exchange): Promise<string> {
  try {
    const { detail } = parseObject(await readText(exchange, DETAIL_BYTES_MAX));
    if (typeof detail === 'string' && detail !== '') return detail.slice(0, BACKEND_DETAIL_UNITS_MAX).toWellFormed();
  } catch {
    // A refusal is one without words, too.
  }
  return `the backend answered ${exchange.status}`;
}
