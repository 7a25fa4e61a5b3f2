import { CALLS_LOGGED_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';

/** One call to the server. It has no bodies, no tokens and no query. */
export interface LoggedCall {
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  /** The HTTP status; null: no answer came. */
  readonly status: number | null;
  /** How long the answer took to begin. */
  readonly tookMs: number;
}

/** Remembers the last calls to the server, and tells the app of each. */
export class CallLog {
  readonly #calls: LoggedCall[] = [];
  readonly #onCall: ((call: LoggedCall) => void) | null;

  constructor(onCall: ((call: LoggedCall) => void) | null) {
    this.#onCall = onCall;
  }

  get calls(): readonly LoggedCall[] {
    return [...this.#calls];
  }

  /** Returns a `fetch` that notes its calls here. */
  watch(platform: Platform): Platform['fetch'] {
    return async (url, init) => {
      const atMs = platform.nowMs();
      let status: number | null = null;
      try {
        const response = await platform.fetch(url, init);
        status = response.status;
        return response;
      } finally {
        const path = new URL(url).pathname;
        this.#add({ atMs, method: init.method ?? 'GET', path, status, tookMs: platform.nowMs() - atMs });
      }
    };
  }

  #add(call: LoggedCall): void {
    if (this.#calls.push(call) > CALLS_LOGGED_MAX) this.#calls.shift();
    this.#onCall?.(call);
  }
}
