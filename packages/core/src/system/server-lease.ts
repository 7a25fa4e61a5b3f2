import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Entry, Guard, Store } from '../ports/store.ts';

export interface ServerLeasePorts {
  readonly store: Pick<Store, 'readEntry' | 'writeEntries'>;
  /** Used for durations only, so it need not agree with the clocks of other servers. */
  readonly clock: Clock;
}

export interface LeaseTerms {
  /** The name of the task. */
  readonly name: string;
  /** The unique id of this server. */
  readonly serverId: string;
  /** How long the lease lasts without renewal. */
  readonly leaseMs: number;
}

/**
 * A leader lease for a task that one server does. The holder renews it; a server that has seen no renewal for the length of
 * the lease takes it over. Each server measures on its own clock, so clocks need not agree.
 *
 * A holder that was paused may for a moment believe that it still has the lease. Writes that must not happen twice
 * therefore use the fence, a guard on the last renewal.
 */
export class ServerLease {
  readonly #ports: ServerLeasePorts;
  readonly #terms: LeaseTerms;
  /** The last renewal seen, and when it was first seen. */
  #seen: { readonly version: number; readonly sinceMs: number } | null = null;
  #held: { readonly version: number; readonly untilMs: number } | null = null;

  constructor(ports: ServerLeasePorts, terms: LeaseTerms) {
    this.#ports = ports;
    this.#terms = terms;
  }

  /** Whether this server has the lease, without asking the store. */
  get isHeld(): boolean {
    return this.#held !== null && this.#ports.clock.nowMs() < this.#held.untilMs;
  }

  /** A guard that holds until the next renewal or takeover; null when the lease is not held. */
  get fence(): Guard | null {
    return this.#held === null || !this.isHeld
      ? null
      : { ...refs.lease(this.#terms.name), version: this.#held.version };
  }

  /** Acquires or renews the lease; to be called several times within its length. Returns true when it is held. */
  async renew(): Promise<boolean> {
    const { store, clock } = this.#ports;
    const { name, serverId, leaseMs } = this.#terms;
    const startMs = clock.nowMs();
    const entry = await store.readEntry(refs.lease(name));
    if (!this.#mayWrite(entry, startMs)) {
      this.#held = null;
      return false;
    }
    const write = { ...refs.lease(name), value: serverId, expect: entry?.version ?? 0 };
    await store.writeEntries({ writes: [write], guards: [] });
    // Of several servers that tried, the one whose id is stored has the lease.
    const now = await store.readEntry(refs.lease(name));
    this.#held = now?.value === serverId ? { version: now.version, untilMs: startMs + leaseMs } : null;
    return this.isHeld;
  }

  /** Whether this server has the lease according to the store; to be called before each step of a long task. */
  async isStillHeld(): Promise<boolean> {
    const { store } = this.#ports;
    return this.isHeld && (await store.readEntry(refs.lease(this.#terms.name)))?.value === this.#terms.serverId;
  }

  /** Gives the lease up, so that another server can acquire it at once. */
  async release(): Promise<void> {
    const { fence } = this;
    this.#held = null;
    if (fence?.version === undefined) return;
    const write = { kind: fence.kind, key: fence.key, value: null, expect: fence.version };
    await this.#ports.store.writeEntries({ writes: [write], guards: [] });
  }

  #mayWrite(entry: Entry | null, nowMs: number): boolean {
    if (entry === null || entry.value === this.#terms.serverId) return true;
    if (this.#seen?.version !== entry.version) this.#seen = { version: entry.version, sinceMs: nowMs };
    return nowMs - this.#seen.sinceMs >= this.#terms.leaseMs;
  }
}
