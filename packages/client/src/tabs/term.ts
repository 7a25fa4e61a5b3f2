import { ClientError } from '../client-error.ts';
import type { CommitOptions, LocalStore, LocalWrite } from '../ports/local-store.ts';
import type { Keeper } from '../replica/replica.ts';
import type { TabLink } from './tab-link.ts';

interface TermParts {
  readonly id: string;
  readonly store: LocalStore;
  readonly link: TabLink;
  /** Called when the store belongs to another tab by now. */
  readonly onLost: () => void;
}

/** The time for which this tab leads, from the moment that it loads the store: it numbers its commits for the other tabs. */
export class Term implements Keeper {
  readonly id: string;
  readonly #parts: TermParts;
  #seq = 0;

  constructor(parts: TermParts) {
    this.id = parts.id;
    this.#parts = parts;
  }

  /** The number of the last commit. */
  get seq(): number {
    return this.#seq;
  }

  async commit(writes: readonly LocalWrite[], options?: CommitOptions): Promise<void> {
    try {
      await this.#parts.store.commit(writes, options);
    } catch (error) {
      if (error instanceof ClientError && error.code === 'store_in_use') this.#parts.onLost();
      throw error;
    }
  }

  onCommitted(writes: readonly LocalWrite[], saved: readonly string[]): void {
    this.#parts.link.post({ type: 'committed', term: this.id, seq: ++this.#seq, writes, saved });
  }
}
