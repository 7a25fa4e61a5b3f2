import { type PartialError, REFRESH_RETRY_AFTER_S } from '@tidemark/protocol';

/** What a device is told of a source whose refresh takes longer than a pull waits. */
export const REFRESH_PENDING: PartialError = {
  code: 'refresh_pending',
  detail: 'the backend has not answered yet; what is stored is delivered meanwhile',
  retry_after_s: REFRESH_RETRY_AFTER_S,
};

/** What a device is told of a source whose data is not complete yet. It gets none of it. */
export const SOURCE_FILLING = {
  code: 'refresh_pending',
  detail: 'the source is being filled; it is delivered when it is complete',
  retry_after_s: REFRESH_RETRY_AFTER_S,
} as const satisfies PartialError;

export interface PullWaitOptions {
  /** How long devices wait for one refresh. Absent: until it ends. */
  readonly pullWaitMs?: number;
  /** Resolves after so long. Absent: devices wait until the refresh ends. */
  readonly wait?: (ms: number) => Promise<void>;
}

/** How long pulls wait for one refresh. They share one timer, which starts when the backend is asked. */
export class PullWait {
  /** Resolves when devices have waited long enough; never if the wait has no bound. */
  readonly expired: Promise<PartialError>;
  readonly #options: PullWaitOptions;
  #expire: () => void = () => undefined;
  #isExpired = false;

  constructor(options: PullWaitOptions) {
    this.#options = options;
    this.expired = new Promise((resolve) => {
      this.#expire = () => resolve(REFRESH_PENDING);
    });
  }

  get isExpired(): boolean {
    return this.#isExpired;
  }

  start(): void {
    const { pullWaitMs, wait } = this.#options;
    if (pullWaitMs === undefined || wait === undefined) return;
    void wait(pullWaitMs).then(() => {
      this.#isExpired = true;
      this.#expire();
    });
  }
}
