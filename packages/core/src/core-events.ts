import { errorMessage } from '@tidemark/protocol';
import type { Committed } from './journal/committed.ts';
import type { Acknowledgement } from './pages/record-tidemark.ts';
import type { Log } from './ports/log.ts';
import type { EndedRefresh } from './refresh/backend-query.ts';
import type { SettledUpload } from './uploads/backend-uploads.ts';

/** What happens in this process, for those who pass it on. */
interface CoreEventMap {
  /** A commit of this process changed data, or a late refresh ended. */
  readonly committed: Committed;
  /** A queued upload got its outcome here. */
  readonly outcome: SettledUpload;
  /** A device has acknowledged more than before, and this process has recorded it. */
  readonly acknowledged: Acknowledgement;
  /** A refresh has ended here, however it ended. */
  readonly refreshed: EndedRefresh;
  /** Objects were written that do not fit the schema of their source, which only reports. */
  readonly misfits: { readonly source: string; readonly objects: number };
}

type Listeners = { readonly [Name in keyof CoreEventMap]: Set<(event: CoreEventMap[Name]) => void> };

/** Tells listeners what has happened. Events are hints: those who miss one lose nothing. */
export class CoreEvents {
  readonly #log: Log;
  readonly #listeners: Listeners = {
    committed: new Set(),
    outcome: new Set(),
    acknowledged: new Set(),
    refreshed: new Set(),
    misfits: new Set(),
  };

  constructor(log: Log) {
    this.#log = log;
  }

  /** Calls the listener at every event of this name. Returns the function that ends it. */
  on<Name extends keyof CoreEventMap>(name: Name, listener: (event: CoreEventMap[Name]) => void): () => void {
    const listeners = this.#listeners[name];
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** An error of a listener fails nothing, since what it hears of has already happened. */
  emit<Name extends keyof CoreEventMap>(name: Name, event: CoreEventMap[Name]): void {
    for (const listener of this.#listeners[name]) {
      try {
        listener(event);
      } catch (error) {
        this.#log.error('listener_failed', { reason: errorMessage(error) });
      }
    }
  }
}
