import type { PartialError } from '@tidemark/protocol';
import type { Platform } from '../ports/platform.ts';
import { pauseMs } from '../transport/pause-ms.ts';

/** A source whose backend had not answered when it was pulled. */
interface Pending {
  /** Consecutive pulls with this result. */
  readonly pulls: number;
  readonly cancel: () => void;
}

/** The code of a source whose backend has not answered yet. */
export const PENDING = 'refresh_pending';
const MS_PER_S = 1_000;

/** What the last pulls of the sources came to: complete, waiting for the backend, or in trouble. */
export class PullResults {
  readonly #platform: Platform;
  readonly #onDue: (source: string) => void;
  readonly #troubles = new Map<string, PartialError>();
  /** Errors of pages that more pages follow; they hold for the whole catch-up. */
  readonly #earlier = new Map<string, PartialError>();
  readonly #pending = new Map<string, Pending>();
  /** The last request after which a source was complete, or known to be unavailable. */
  readonly #doneAt = new Map<string, number>();

  /** `onDue` is called when a source must be pulled again because its backend had not answered. */
  constructor(platform: Platform, onDue: (source: string) => void) {
    this.#platform = platform;
    this.#onDue = onDue;
  }

  /** Errors of sources that could not be pulled, or whose backend could not be reached. */
  get troubles(): ReadonlyMap<string, PartialError> {
    return this.#troubles;
  }

  get hasPending(): boolean {
    return this.#pending.size > 0;
  }

  isPending(source: string): boolean {
    return this.#pending.has(source);
  }

  isDoneSince(source: string, tick: number): boolean {
    return (this.#doneAt.get(source) ?? 0) > tick;
  }

  /** Notes the error of a page that more pages follow. */
  noteEarlier(source: string, { reset, error }: { readonly reset?: boolean; readonly error?: PartialError }): void {
    if (reset === true) this.#earlier.delete(source);
    if (error !== undefined) this.#earlier.set(source, error);
  }

  /** Marks a source as complete. Callers of `sync` keep waiting for it while its backend has not answered. */
  settle(source: string, error: PartialError | null, request: number): void {
    const trouble = error ?? this.#earlier.get(source) ?? null;
    this.#earlier.delete(source);
    const before = this.#pending.get(source);
    before?.cancel();
    if (trouble?.code === PENDING) {
      this.#troubles.delete(source);
      const pulls = (before?.pulls ?? 0) + 1;
      const ms = pauseMs(this.#platform, pulls, (trouble.retry_after_s ?? 0) * MS_PER_S);
      this.#pending.set(source, { pulls, cancel: this.#platform.after(ms, () => this.#onDue(source)) });
      return;
    }
    this.#pending.delete(source);
    if (trouble === null) this.#troubles.delete(source);
    else this.#troubles.set(source, trouble);
    this.#doneAt.set(source, request);
  }

  /** A source that the app names and the server does not have is a mistake that the status tells. */
  noteExists(source: string, exists: boolean): void {
    if (!exists) this.#troubles.set(source, { code: 'source_not_found', detail: `there is no source "${source}"` });
    else if (this.#troubles.get(source)?.code === 'source_not_found') this.#troubles.delete(source);
  }

  forget(source: string): void {
    this.#pending.get(source)?.cancel();
    this.#pending.delete(source);
  }

  clear(): void {
    this.stopWaiting();
    for (const memory of [this.#troubles, this.#earlier, this.#doneAt]) memory.clear();
  }

  /** Cancels the scheduled pulls of sources whose backend had not answered. */
  stopWaiting(): void {
    for (const { cancel } of this.#pending.values()) cancel();
    this.#pending.clear();
  }
}
