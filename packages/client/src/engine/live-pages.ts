import type { LiveChange } from '@tidemark/protocol';
import type { PageEffect } from '../pull/apply-page.ts';
import { LiveQueue } from '../pull/live-queue.ts';
import type { WorkScope } from './work-scope.ts';

interface LivePagesParts {
  /** The token that the device holds of a source. */
  readonly tokenOf: (source: string) => string | null;
  readonly apply: (change: LiveChange, scope: WorkScope) => Promise<PageEffect['kind']>;
  /** Called when the source is complete after a page. */
  readonly onApplied: (change: LiveChange) => void;
  /** Called when a source must be pulled. */
  readonly onMissed: (source: string) => void;
}

/**
 * Applies pages that come with events. A page is applied only if the device holds exactly the token that the page begins
 * with. In every other case the source is pulled, so an event that is lost, repeated, late or out of order does no harm.
 */
export class LivePages {
  readonly #parts: LivePagesParts;
  readonly #queues = new Map<string, LiveQueue>();
  readonly #busy = new Set<string>();
  /** The sources that are being pulled. The answer decides which of the pages that come meanwhile are still news. */
  #pulled: readonly string[] = [];

  constructor(parts: LivePagesParts) {
    this.#parts = parts;
  }

  take(change: LiveChange, scope: WorkScope): void {
    const { source, page } = change;
    // Catch-ups of several pages are left to pulls.
    if (page.more || page.reset === true) {
      this.#parts.onMissed(source);
      return;
    }
    const queue = this.#queues.get(source) ?? new LiveQueue();
    this.#queues.set(source, queue);
    queue.add(change);
    void this.#applyAll(source, queue, scope);
  }

  /** Pulls sources. Pages that come meanwhile wait until that has ended. */
  async without(sources: readonly string[], scope: WorkScope, pull: () => Promise<void>): Promise<void> {
    this.#pulled = sources;
    try {
      await pull();
    } finally {
      this.#pulled = [];
      for (const source of sources) {
        const queue = this.#queues.get(source);
        if (queue !== undefined) void this.#applyAll(source, queue, scope);
      }
    }
  }

  clear(): void {
    this.#queues.clear();
  }

  async #applyAll(source: string, queue: LiveQueue, scope: WorkScope): Promise<void> {
    const isPulled = () => this.#pulled.includes(source);
    if (this.#busy.has(source)) return;
    this.#busy.add(source);
    try {
      while (!isPulled() && (await this.#applyNext(source, queue, scope)));
      if (isPulled()) return;
    } catch {
      // A store that fails is reported by the pull.
    } finally {
      this.#busy.delete(source);
    }
    if (queue.isEmpty) return;
    queue.clear();
    if (!scope.signal.aborted) this.#parts.onMissed(source);
  }

  /** Returns false if there is nothing to apply. */
  async #applyNext(source: string, queue: LiveQueue, scope: WorkScope): Promise<boolean> {
    const { tokenOf, apply, onApplied, onMissed } = this.#parts;
    const change = queue.next(tokenOf(source));
    if (change === undefined) return false;
    const kind = await apply(change, scope);
    if (kind === 'complete') onApplied(change);
    // The token has changed meanwhile: the page may be included by now.
    else if (kind === 'ignored') queue.add(change);
    else onMissed(source);
    return true;
  }
}
