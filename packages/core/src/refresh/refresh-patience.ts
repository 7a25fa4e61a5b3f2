import { type PartialError, REFRESH_RETRY_AFTER_S } from '@tidemark/protocol';

/** What a device is told of a source whose refresh takes longer than a pull waits. */
export const REFRESH_PENDING: PartialError = {
  code: 'refresh_pending',
  detail: 'the backend has not answered yet; what is stored is delivered meanwhile',
  retry_after_s: REFRESH_RETRY_AFTER_S,
};

export interface RefreshPatienceOptions {
  /** How long devices wait for one refresh. Absent: until it ends. */
  readonly pullWaitMs?: number;
  /** Resolves after so long. Absent: devices wait until the refresh ends. */
  readonly wait?: (ms: number) => Promise<void>;
}

/** How long devices wait for one refresh. All of them share one timer, which starts when the backend is asked. */
export class RefreshPatience {
  /** Resolves when devices are not to wait any longer; never, if the wait has no bound. */
  readonly over: Promise<PartialError>;
  readonly #options: RefreshPatienceOptions;
  #end: () => void = () => undefined;
  #isSpent = false;

  constructor(options: RefreshPatienceOptions) {
    this.#options = options;
    this.over = new Promise((resolve) => {
      this.#end = () => resolve(REFRESH_PENDING);
    });
  }

  get isSpent(): boolean {
    return this.#isSpent;
  }

  begin(): void {
    const { pullWaitMs, wait } = this.#options;
    if (pullWaitMs === undefined || wait === undefined) return;
    void wait(pullWaitMs).then(() => {
      this.#isSpent = true;
      this.#end();
    });
  }
}
