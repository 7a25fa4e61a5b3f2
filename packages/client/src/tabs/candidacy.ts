import { TAB_PING_MS, TAB_PINGS_UNANSWERED_MAX } from '../limits.ts';
import type { Platform, TabFeatures } from '../ports/platform.ts';

interface CandidacyParts {
  readonly name: string;
  readonly tabs: TabFeatures;
  readonly platform: Platform;
  readonly isClosed: () => boolean;
  readonly ping: () => void;
  /** Called when this tab is to lead. */
  readonly onElected: () => void;
  /** Called when another tab has taken the lock. */
  readonly onLost: () => void;
}

/**
 * Waits for the lock of the tab that leads, and takes it from a tab that does not answer. Pings are counted and not timed,
 * because timers of hidden tabs are slow and those of frozen tabs stand still.
 */
export class Candidacy {
  readonly #parts: CandidacyParts;
  #unanswered = 0;
  #cancelPing: () => void = () => undefined;
  #releaseLock: () => void = () => undefined;

  constructor(parts: CandidacyParts) {
    this.#parts = parts;
    // Without a lock to wait for, one unanswered question is enough to begin.
    if (parts.tabs.requestLock === null) this.#unanswered = TAB_PINGS_UNANSWERED_MAX;
  }

  /** Begins to wait, or does so again because another tab leads by now. */
  begin(): void {
    this.#armPing();
    this.#requestLock(false);
  }

  /** The tab leads, or is about to: it keeps the lock and asks nobody. */
  pause(): void {
    this.#cancelPing();
  }

  /** Leaves the lock to another tab, because this one cannot lead now. */
  giveUp(): void {
    this.#releaseLock();
    this.#armPing();
  }

  /** To be called when the tab that leads has said anything. */
  heard(): void {
    this.#unanswered = 0;
  }

  end(): void {
    this.#cancelPing();
    this.#releaseLock();
  }

  #requestLock(isStolen: boolean): void {
    const { tabs, name, onElected, onLost } = this.#parts;
    this.#releaseLock();
    // Without Web Locks a tab that hears of no other one leads; the fence of the store settles who does if two begin at once.
    if (tabs.requestLock !== null) {
      this.#releaseLock = tabs.requestLock(name, { onHeld: onElected, onLost }, isStolen);
    } else if (isStolen) onElected();
  }

  #armPing(): void {
    this.#cancelPing();
    this.#cancelPing = this.#parts.platform.after(TAB_PING_MS, () => {
      if (this.#parts.isClosed()) return;
      this.#armPing();
      if (this.#unanswered >= TAB_PINGS_UNANSWERED_MAX) {
        this.#unanswered = 0;
        this.#requestLock(true);
      } else {
        this.#unanswered++;
        this.#parts.ping();
      }
    });
  }
}
