import type { LiveChange } from '@tidemark/protocol';
import { LIVE_PAGES_WAITING_MAX } from '../limits.ts';

/**
 * Pages of one source that came with events and have not been applied yet. Each leads from one token to another. They are
 * followed by their tokens, so it does not matter in which order they came, how often, or which of them a pull included.
 */
export class LiveQueue {
  #changes: LiveChange[] = [];

  /** Beyond the limit the oldest page is dropped; then those after it cannot be applied either, and the source is pulled. */
  add(change: LiveChange): void {
    this.#changes.push(change);
    if (this.#changes.length > LIVE_PAGES_WAITING_MAX) this.#changes.shift();
  }

  get isEmpty(): boolean {
    return this.#changes.length === 0;
  }

  clear(): void {
    this.#changes = [];
  }

  /** Takes the page for a device that holds exactly this token, and drops those that led to it. Undefined: there is none. */
  next(token: string | null): LiveChange | undefined {
    this.#dropBefore(token);
    const index = this.#changes.findIndex(({ from }) => from === token);
    return index < 0 ? undefined : this.#changes.splice(index, 1)[0];
  }

  #dropBefore(token: string | null): void {
    const reached = new Set([token]);
    for (let index = this.#findLeadingTo(reached); index >= 0; index = this.#findLeadingTo(reached)) {
      const [dropped] = this.#changes.splice(index, 1);
      if (dropped !== undefined) reached.add(dropped.from);
    }
  }

  #findLeadingTo(tokens: ReadonlySet<string | null>): number {
    return this.#changes.findIndex(({ page }) => tokens.has(page.token));
  }
}
