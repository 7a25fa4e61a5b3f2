import {
  type Adapter,
  AdapterRefusal,
  type Authenticator,
  type Clock,
  type Log,
  type LogFields,
  LoggedFailure,
  type LoginAnswer,
  type ObjectsAnswer,
  type PersonalCall,
  type QueryCall,
  type Random,
  type UploadCall,
} from '@tidemark/core';
import { type JsonValue, nameProblem, Refusal } from '@tidemark/protocol';
import { systemTimers, type Timers } from '../jobs/timers.ts';
import { BlockedAddress } from '../outbound/checked-lookup.ts';
import type { BreakerState, BreakerView } from '../outbound/circuit-breaker.ts';
import { signWebhook } from '../outbound/sign-webhook.ts';
import { isAboutSignature, isNoSuchCall, refusalOfAnswer, SignatureRefused } from './answer-refusal.ts';
import type { BackendCall } from './backend-contract.ts';
import { failureOf, unavailable } from './backend-failure.ts';
import type { BackendHttp, Exchange } from './backend-http.ts';
import { CALL_KINDS, CallGates, type CallKind, type Entry } from './call-gates.ts';
import { notUsable, parseObject, readText, textChunks } from './read-answer.ts';

export interface HttpBackendParts {
  readonly http: BackendHttp;
  /** Where the backend is at this moment; null: nowhere. */
  readonly address: () => Promise<string | null>;
  /** Shared with the backend. */
  readonly secret: () => Promise<string>;
  readonly clock: Clock;
  /** Measures durations: it is never set. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly random: Random;
  /** Fractions from 0 up to 1. */
  readonly dice: () => number;
  readonly log: Log;
  readonly timers?: Timers;
  /** For one call, and for one query. */
  readonly timeoutMs: number;
  readonly queryTimeoutMs: number;
  /** Hears of every call, for the statistics. */
  readonly onCall?: (call: BackendCall, outcome: CallOutcome, tookMs: number) => void;
  readonly onBreaker?: (state: BreakerState, kind: CallKind) => void;
}

/** `held_back`: the backend was not called, because it failed too often, or because too many calls are with it. */
export type CallOutcome = 'answered' | 'refused' | 'failed' | 'held_back';

/** Who checks logins, as far as the backend has shown. `unknown`: nobody has logged in since it was set. */
export type LoginsCheckedBy = 'backend' | 'own_passwords' | 'unknown';

/** The breaker that is worst off, and that of each kind of call. */
export interface BackendHealth extends BreakerView {
  readonly isSet: boolean;
  readonly kinds: Readonly<Record<CallKind, BreakerView>>;
  readonly loginsCheckedBy: LoginsCheckedBy;
}

const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const ID_BYTES = 16;
const MS_PER_S = 1_000;
const SEVERITY = { closed: 0, trying: 1, open: 2 } as const;

/** The backend of a customer, reached by `POST {adapter_url}/<call>`. docs/backend.md is the contract. */
export class HttpBackend implements Adapter, Authenticator {
  readonly #parts: HttpBackendParts;
  readonly #gates: CallGates;
  /** Who checks logins where; null: not known yet. */
  #logins: { readonly address: string; readonly by: LoginsCheckedBy } | null = null;

  constructor(parts: HttpBackendParts) {
    this.#parts = parts;
    const { clock, steadyClock = clock, dice, log, timers = systemTimers, onBreaker } = parts;
    this.#gates = new CallGates({
      clock: steadyClock,
      dice,
      timers,
      onBreaker: (state, calls) => {
        log.warn('backend_breaker', { state, calls });
        onBreaker?.(state, calls);
      },
    });
  }

  async health(): Promise<BackendHealth> {
    const address = await this.#parts.address();
    const kinds = this.#gates.views(address);
    const worst = CALL_KINDS.map((kind) => kinds[kind]).reduce((one, other) => (isWorse(other, one) ? other : one));
    const loginsCheckedBy = this.#logins?.address === address ? this.#logins.by : 'unknown';
    return { isSet: address !== null, ...worst, kinds, loginsCheckedBy };
  }

  close(): void {
    this.#parts.http.close();
  }

  /**
   * The same backend for an operator who wants to know how it is: with breakers of its own, so that it is called even while
   * others leave it alone, and with nothing logged or counted. `secret`: calls are signed with this one instead.
   */
  probe(secret?: string): HttpBackend {
    const { onCall: _onCall, onBreaker: _onBreaker, ...parts } = this.#parts;
    return new HttpBackend({ ...parts, log: SILENT, ...(secret === undefined ? {} : { secret: async () => secret }) });
  }

  async authenticate(login: string, password: string): Promise<LoginAnswer> {
    const address = await this.#parts.address();
    const answer = await this.#exchange('authenticate', { login, password }, (read) => loginAnswer(login, read));
    if (address !== null) this.#noteLogins(address, answer);
    return answer;
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
    return this.#exchange('create', { ...uploadOf(call), attributes: call.attributes }, ({ answer: { id } }) => {
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
  async #objects(call: BackendCall, body: CallBody, deadlineMs: number): Promise<ObjectsAnswer> {
    const posted = await this.#post(call, body, deadlineMs);
    const { exchange } = posted;
    try {
      if (!isSuccess(exchange.status)) throw await this.#refusalOf(posted);
      requireJson(exchange);
    } catch (error) {
      exchange.letGo();
      throw this.#end(posted, error);
    }
    return { chunks: textChunks(exchange, (failure) => this.#end(posted, failure)) };
  }

  /** A small answer, read to its end. `authenticate` reads refusals, too: they are answers. */
  async #exchange<T>(call: BackendCall, body: CallBody, read: ReadAnswer<T>): Promise<T> {
    const posted = await this.#post(call, body, this.#parts.timeoutMs);
    const { exchange } = posted;
    try {
      const { status } = exchange;
      const isNo = call === 'authenticate' && (status === 401 || status === 403 || isNoSuchCall(status));
      if (!isNo && !isSuccess(status)) throw await this.#refusalOf(posted);
      const text = await readText(exchange);
      // A backend that does not trust us says nothing about the user.
      if (isNo && isAboutSignature(text)) throw new SignatureRefused();
      const answer = read({ answer: isNo ? {} : parseObject(text), status });
      this.#end(posted, null, isNo ? 'refused' : 'answered');
      return answer;
    } catch (error) {
      throw this.#end(posted, error);
    } finally {
      exchange.letGo();
    }
  }

  async #post(call: BackendCall, body: CallBody, deadlineMs: number): Promise<Posted> {
    const { http, address, secret, clock } = this.#parts;
    const base = await address();
    if (base === null) throw new LoggedFailure(unavailable('no address is set for the backend'));
    // Whatever our own store has to say comes before the breaker is asked: its failures are not those of the backend.
    const signingSecret = await secret();
    const { leave, release } = await this.#enter(base, call);
    const url = new URL(`${base.replace(/\/+$/, '')}/${call}`);
    const webhookId = `msg_${Buffer.from(this.#parts.random.bytes(ID_BYTES)).toString('base64url')}`;
    const underWay: CallUnderWay = { call, body, url, webhookId, leave, startMs: clock.nowMs(), said: null };
    try {
      const text = JSON.stringify(body);
      const headers = this.#headers(text, webhookId, signingSecret);
      const exchange = await http.post({ url, headers, body: text, deadlineMs, onClosed: release });
      return Object.assign(underWay, { exchange });
    } catch (error) {
      throw this.#end(underWay, error);
    }
  }

  async #enter(address: string, call: BackendCall): Promise<Entry> {
    try {
      return await this.#gates.enter(address, call);
    } catch (error) {
      this.#parts.onCall?.(call, 'held_back', 0);
      // That the breaker has opened was logged when it did.
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
    const { error, detail } = await refusalOfAnswer(posted.exchange, posted.call, this.#parts.clock.nowMs());
    posted.said = detail;
    return error;
  }

  /** Counts the call, tells the breaker, logs a failure, and answers the error in words for others. Called once a call. */
  #end(underWay: CallUnderWay, error: unknown, outcome: CallOutcome = 'answered'): unknown {
    const { call, leave, startMs } = underWay;
    const { clock, onCall } = this.#parts;
    const tookMs = clock.nowMs() - startMs;
    const isRefusal =
      error instanceof AdapterRefusal || (error instanceof Refusal && error.code === 'search_not_available');
    if (error === null || isRefusal) {
      leave.succeed();
      onCall?.(call, isRefusal ? 'refused' : outcome, tookMs);
      return error;
    }
    const failure = failureOf(error);
    this.#logFailure(underWay, error, failure);
    leave.fail(failure.retryAfterS === null ? null : failure.retryAfterS * MS_PER_S);
    onCall?.(call, 'failed', tookMs);
    return new LoggedFailure(failure);
  }

  /** One line with everything that is known of the failure. Nobody who gets the failure logs it again. */
  #logFailure(underWay: CallUnderWay, error: unknown, failure: Refusal): void {
    const { call, url, body, exchange, startMs, webhookId } = underWay;
    const fields: LogFields = {
      call,
      // Neither a password nor a query: addresses may contain secrets there.
      url: `${url.origin}${url.pathname}`,
      duration_ms: this.#parts.clock.nowMs() - startMs,
      status: exchange?.status ?? null,
      code: failure.code,
      reason: failure.message,
      detail: saidWithoutPassword(underWay),
      webhook_id: webhookId,
      ...(body.source === undefined ? {} : { source: body.source }),
      ...(body.user_id === undefined ? {} : { user: body.user_id }),
      ...(body.op_id === undefined ? {} : { op_id: body.op_id }),
    };
    if (error instanceof BlockedAddress) {
      this.#parts.log.warn('backend_blocked', { ...fields, host: error.host, address: error.address });
    } else this.#parts.log.warn('backend_failed', fields);
  }

  /** Logs who checks logins when that changes, and not at every login. */
  #noteLogins(address: string, answer: LoginAnswer): void {
    const by = answer.kind === 'not_handled' ? 'own_passwords' : 'backend';
    const before = this.#logins?.address === address ? this.#logins.by : 'unknown';
    this.#logins = { address, by };
    if (answer.kind === 'not_handled' && before !== by) {
      const reason = `the backend answers ${answer.status} to authenticate`;
      this.#parts.log.warn('logins_checked_by_own_passwords', { reason });
    } else if (before === 'own_passwords' && by === 'backend') this.#parts.log.info('logins_checked_by_backend');
  }
}

/** Makes something of an answer, or throws what is wrong with it. */
type ReadAnswer<T> = (read: AnswerRead) => T;

interface AnswerRead {
  readonly answer: Readonly<Record<string, unknown>>;
  readonly status: number;
}

/** A body that is posted. The log names source, user and op_id where it has them. */
interface CallBody {
  readonly [field: string]: unknown;
  readonly password?: string;
  readonly source?: string;
  readonly user_id?: string | null;
  readonly op_id?: string;
}

interface CallUnderWay {
  readonly call: BackendCall;
  readonly body: CallBody;
  readonly url: URL;
  readonly webhookId: string;
  readonly leave: Entry['leave'];
  readonly startMs: number;
  readonly exchange?: Exchange;
  /** What the backend has said about its refusal. */
  said: string | null;
}

type Posted = CallUnderWay & { readonly exchange: Exchange };

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether this breaker keeps calls away more than the other one, or for longer. */
function isWorse(one: BreakerView, other: BreakerView): boolean {
  if (one.state !== other.state) return SEVERITY[one.state] > SEVERITY[other.state];
  return (one.untilMs ?? 0) > (other.untilMs ?? 0) || one.failures > other.failures;
}

function loginAnswer(login: string, { answer: { user_id }, status }: AnswerRead): LoginAnswer {
  if (isNoSuchCall(status)) return { kind: 'not_handled', status };
  if (!isSuccess(status)) return { kind: 'refused' };
  const user = user_id ?? login;
  if (typeof user === 'string' && nameProblem('login', user) === null) return { kind: 'user', user };
  throw notUsable('user_id is no name of a user');
}

/** A backend that repeats the password in its words must not bring it into the log. */
function saidWithoutPassword({ said, body: { password = '' } }: CallUnderWay): string | null {
  return password === '' ? said : (said?.replaceAll(password, '***') ?? null);
}

function uploadOf({ source, user, opId, id }: UploadCall) {
  return { source, user_id: user, op_id: opId, id };
}

function requireJson({ headers }: Exchange): void {
  const type = String(headers['content-type'] ?? '');
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) throw notUsable('it is not JSON');
}
