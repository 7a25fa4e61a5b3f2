import { type RevokerParts, revocationsIn } from './revocations.ts';
import type { Revoker } from './revoker.ts';

/** Revokes ended sessions. The code that does it is loaded when there is one. */
export class LazyRevoker {
  readonly #parts: RevokerParts;
  #revoker: Promise<Revoker> | null = null;
  #isStopped = false;

  constructor(parts: RevokerParts) {
    this.#parts = parts;
  }

  /** Resolves when everything is sent, or something could not be sent now and is tried again later. */
  async flush(): Promise<void> {
    if (this.#isStopped || revocationsIn(this.#parts.replica.reader).length === 0) return;
    this.#revoker ??= import('./revoker.ts').then(({ Revoker }) => new Revoker(this.#parts));
    try {
      const revoker = await this.#revoker;
      if (!this.#isStopped) await revoker.flush();
    } catch {
      // The code could not be loaded without a network. The next call tries again.
      this.#revoker = null;
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#revoker?.then((revoker) => revoker.stop()).catch(() => undefined);
  }
}
