import { Refusal } from '@tidemark/protocol';
import type { Tables } from './tables.ts';

const SETTLED = Promise.resolve();

/**
 * Decides which state of the store a read sees: the newest one that is committed and flushed, taken once per event of
 * Node's event loop (docs/decisions/0030).
 *
 *     main thread      event A          event B          answer to T      time →
 *                      write(T), read   read             promise of T resolves, read
 *     reads see        S1               S1               S2
 *     writer thread         T applied ········ flushed ┊ S2 committed, answer sent
 *
 * - In flight: what the writer thread has applied and not committed is invisible. LMDB commits only what is on the disk
 *   (`overlappingSync: false`), so no read sees a write that a crash could still take back.
 * - Within one event, all reads see the same state, also after promises that settle in between. Beginning a read
 *   transaction costs several times as much as a look-up, and nobody who is served by this event can have heard of a
 *   later commit.
 * - The next event sees what was committed before it, by this process or by another one.
 * - Answers of the writer thread arrive as an event of their own, and `refresh` is called before their promises resolve.
 *   So whoever awaits a write sees it.
 */
export class ReadState {
  readonly #tables: Tables;
  readonly #unavailableReason: () => string | null;
  #isTaken = false;

  /** `unavailableReason` returns why nothing may be read, for example after the writer thread died, or null. */
  constructor(tables: Tables, unavailableReason: () => string | null) {
    this.#tables = tables;
    this.#unavailableReason = unavailableReason;
  }

  /** Returns the tables in the state of this event. They must not be used after an `await`. */
  tables(): Tables {
    const reason = this.#unavailableReason();
    if (reason !== null) throw new Refusal('store_unavailable', reason);
    if (!this.#isTaken) {
      this.#isTaken = true;
      this.refresh();
      SETTLED.then(this.#releaseAfterPromises);
    }
    return this.#tables;
  }

  /** Makes reads see what is committed now. */
  refresh(): void {
    this.#tables.root.resetReadTxn();
  }

  /**
   * Node runs a tick that a promise asks for when all settled promises have been followed, and before the next event. A
   * tick that the event itself asks for would run before the promises.
   */
  readonly #releaseAfterPromises = (): void => process.nextTick(this.#release);

  readonly #release = (): void => {
    this.#isTaken = false;
  };
}
