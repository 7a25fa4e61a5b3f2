import { REFRESH_RETRY_AFTER_S, type Trouble } from '@tidemark/protocol';

/** What a device is told of a source whose refresh takes longer than a pull waits. */
export const REFRESH_PENDING: Trouble = {
  code: 'refresh_pending',
  detail: 'the backend has not answered yet; what is stored is delivered meanwhile',
  retry_after_s: REFRESH_RETRY_AFTER_S,
};

export interface PatienceOptions {
  /** How long devices wait for one refresh. Absent: until it ends. */
  readonly pullWaitMs?: number;
  /** Resolves after so long. Absent: devices wait until the refresh ends. */
  readonly wait?: (ms: number) => Promise<void>;
}

/** How long devices wait for one refresh. All of them share one timer, which starts when the backend is asked. */
export class Patience {
  /** Resolves when devices are not to wait any longer; never, if the wait has no bound. */
  readonly over: Promise<Trouble>;
  readonly #options: PatienceOptions;
  #end: () => void = () => undefined;
  #isOver = false;

  constructor(options: PatienceOptions) {
    this.#options = options;
    this.over = new Promise((resolve) => {
      this.#end = () => resolve(REFRESH_PENDING);
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  begin(): void {
    const { pullWaitMs, wait } = this.#options;
    if (pullWaitMs === undefined || wait === undefined) return;
    void wait(pullWaitMs).then(() => {
      this.#isOver = true;
      this.#end();
    });
  }
}
