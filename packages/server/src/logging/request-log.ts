import type { Logger } from 'pino';
import type { RequestLogRules } from '../config/config.ts';
import { REQUEST_LINES_PER_S_MAX } from '../limits.ts';
import type { StoreOutage } from './store-outage.ts';

/** What the log says about a request: never a body, a header or a query. */
export interface RequestFacts {
  readonly request_id: string;
  readonly method: string;
  /** The template of the route; null for unknown paths. */
  readonly route: string | null;
  /** The path of a request that found nothing at it; null if the template of the route says enough. */
  readonly path: string | null;
  /** Null: the caller hung up before the answer began. */
  readonly status: number | null;
  /** True if the caller hung up before the answer was complete; never for streams, which have no end. */
  readonly aborted: boolean;
  /** The code of the refusal, if the request was refused. */
  readonly code: string | null;
  readonly duration_ms: number;
  /** The announced length of the body; null: it came in chunks. */
  readonly bytes_in: number | null;
  /** The bytes of the answer with its headers. */
  readonly bytes_out: number;
  readonly user_id: string | null;
  readonly client_id: string | null;
  readonly token_id: string | null;
}

/** What decides whether a line is written. */
export interface RequestResult {
  readonly status: number;
  /** The code of the refusal, if the request was refused. */
  readonly code: string | null;
  readonly elapsedMs: number;
  /** True if the request lasts as long as the caller likes: it is never slow. */
  readonly isStream: boolean;
}

const WINDOW_MS = 1_000;
const NOTHING: RequestLogRules = { isComplete: false, slowMs: Number.POSITIVE_INFINITY };

/** Logs one line per request: of all requests, or only of those that failed or were slow. */
export class RequestLog {
  readonly #logger: Logger;
  readonly #outage: Pick<StoreOutage, 'causes'>;
  readonly #nowMs: () => number;
  #rules = NOTHING;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #omitted = 0;

  constructor(logger: Logger, outage: Pick<StoreOutage, 'causes'>, nowMs = () => performance.now()) {
    this.#logger = logger;
    this.#outage = outage;
    this.#nowMs = nowMs;
  }

  /** Applies other rules; also while the server runs. */
  configure(rules: RequestLogRules): void {
    this.#rules = rules;
  }

  /** Logs a request. `describe` is only called if a line is written, so that other requests cost two comparisons. */
  ended({ status, code, elapsedMs, isStream }: RequestResult, describe: () => RequestFacts): void {
    const isRemarkable = status >= 500 || (elapsedMs > this.#rules.slowMs && !isStream);
    if (this.#rules.isComplete) this.#logger[isRemarkable ? 'warn' : 'info'](describe(), 'request');
    else if (isRemarkable && !this.#outage.causes(code) && this.#hasRoom()) this.#logger.warn(describe(), 'request');
  }

  /** An overloaded server refuses thousands of requests in a second; logging all of them would add to its load. */
  #hasRoom(): boolean {
    const nowMs = this.#nowMs();
    if (nowMs - this.#windowStartMs >= WINDOW_MS) {
      if (this.#omitted > 0) this.#logger.warn({ count: this.#omitted }, 'requests_not_logged');
      this.#windowStartMs = nowMs;
      this.#lines = 0;
      this.#omitted = 0;
    }
    if (this.#lines >= REQUEST_LINES_PER_S_MAX) {
      this.#omitted++;
      return false;
    }
    this.#lines++;
    return true;
  }
}
