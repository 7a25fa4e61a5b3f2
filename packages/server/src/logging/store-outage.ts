import { STORE_DOWN } from '@tidemark/core';
import type { Logger } from 'pino';

/**
 * Logs that the store is lost as one line, and that it is back as another. Meanwhile everything that asks the store fails,
 * many times a second; those lines are left out, because they say the same.
 */
export class StoreOutage {
  readonly #logger: Logger;
  #isOpen = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  begin(reason: string): void {
    this.#isOpen = true;
    this.#logger.warn({ reason }, 'store_lost');
  }

  /** `failedCalls` counts the calls to the store that have failed since it was lost. */
  end(failedCalls: number): void {
    this.#isOpen = false;
    this.#logger.warn({ failed_calls: failedCalls }, 'store_back');
  }

  /** True if the store is lost and that is what a request was refused for. */
  causes(code: string | null): boolean {
    return this.#isOpen && code === 'store_unavailable';
  }

  /** True if the store is lost and a line only says so. */
  explains(reason: unknown): boolean {
    return this.#isOpen && typeof reason === 'string' && reason.startsWith(STORE_DOWN);
  }
}
