import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Entry, Guard, Store } from '../ports/store.ts';

export interface ServerLeasePorts {
  readonly store: Pick<Store, 'readEntry' | 'writeEntries'>;
  /** Only its distances count, so it need not agree with that of any other server. */
  readonly clock: Clock;
}

export interface LeaseTerms {
  /** What the right is for. */
  readonly name: string;
  /** A word that no other server has. */
  readonly word: string;
  /** How long it lasts without being renewed. */
  readonly leaseMs: number;
}

/**
 * The right to do something that one server is enough for. Whoever has it renews it; a server that sees the same
 * renewal for as long as it lasts takes it over. Times are measured on the observer's own clock, so clocks need not agree.
 *
 * Whoever was held up may believe for a moment to have it still. What must not be done twice is therefore written under
 * the fence, which is that very renewal.
 */
export class ServerLease {
  readonly #ports: ServerLeasePorts;
  readonly #terms: LeaseTerms;
  /** The renewal last seen, and since when. */
  #seen: { readonly version: number; readonly sinceMs: number } | null = null;
  #held: { readonly version: number; readonly untilMs: number } | null = null;

  constructor(ports: ServerLeasePorts, terms: LeaseTerms) {
    this.#ports = ports;
    this.#terms = terms;
  }

  /** Whether this server has it, as far as it can know without asking. */
  get isHeld(): boolean {
    return this.#held !== null && this.#ports.clock.nowMs() < this.#held.untilMs;
  }

  /** Holds for as long as nobody else has it, and no longer than until the next renewal. Null: it is not held. */
  get fence(): Guard | null {
    return this.#held === null || !this.isHeld
      ? null
      : { ...refs.lease(this.#terms.name), version: this.#held.version };
  }

  /** Takes or renews it. To be called several times within its length. True: this server has it. */
  async renew(): Promise<boolean> {
    const { store, clock } = this.#ports;
    const { name, word, leaseMs } = this.#terms;
    const startMs = clock.nowMs();
    const entry = await store.readEntry(refs.lease(name));
    if (!this.#mayWrite(entry, startMs)) {
      this.#held = null;
      return false;
    }
    const write = { ...refs.lease(name), value: word, expect: entry?.version ?? 0 };
    await store.writeEntries({ writes: [write], guards: [] });
    // Of several that tried, the one whose word is there has it.
    const now = await store.readEntry(refs.lease(name));
    this.#held = now?.value === word ? { version: now.version, untilMs: startMs + leaseMs } : null;
    return this.isHeld;
  }

  /** Asks the store: before every step of something long. */
  async isStillHeld(): Promise<boolean> {
    const { store } = this.#ports;
    return this.isHeld && (await store.readEntry(refs.lease(this.#terms.name)))?.value === this.#terms.word;
  }

  /** Lets somebody else have it at once. */
  async release(): Promise<void> {
    const { fence } = this;
    this.#held = null;
    if (fence?.version === undefined) return;
    const write = { kind: fence.kind, key: fence.key, value: null, expect: fence.version };
    await this.#ports.store.writeEntries({ writes: [write], guards: [] });
  }

  #mayWrite(entry: Entry | null, nowMs: number): boolean {
    if (entry === null || entry.value === this.#terms.word) return true;
    if (this.#seen?.version !== entry.version) this.#seen = { version: entry.version, sinceMs: nowMs };
    return nowMs - this.#seen.sinceMs >= this.#terms.leaseMs;
  }
}
