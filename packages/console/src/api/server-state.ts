/** Whether the server answers, as far as the calls of this page tell. */
export interface ServerState {
  readonly isGone: boolean;
  /** When it answered last; null: never. */
  readonly answeredAtMs: number | null;
}

/** The answers of a proxy whose server is gone. */
const GONE_STATUSES: ReadonlySet<number> = new Set([502, 504]);

/** Remembers when the server answered last, and tells listeners when it goes and comes back. */
export class ServerWatch {
  readonly #listeners = new Set<() => void>();
  #state: ServerState = { isGone: false, answeredAtMs: null };

  /** The same object until the server goes or comes back. */
  get state(): ServerState {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Notes the status of an answer. */
  answered(status: number, nowMs: number): void {
    if (GONE_STATUSES.has(status)) this.failed();
    else this.#set({ isGone: false, answeredAtMs: nowMs });
  }

  /** Notes that there was no answer. */
  failed(): void {
    this.#set({ ...this.#state, isGone: true });
  }

  #set(state: ServerState): void {
    const hasChanged = state.isGone !== this.#state.isGone;
    // Failures while the server is gone change nothing, and an answer alone renders nothing.
    if (hasChanged || !state.isGone) this.#state = state;
    if (hasChanged) for (const listener of this.#listeners) listener();
  }
}
