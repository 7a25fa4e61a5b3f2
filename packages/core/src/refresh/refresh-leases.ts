import { type PartialError, REFRESH_APPLY_MS_MAX, REFRESH_LATE_FRESH_MS } from '@tidemark/protocol';
import type { Target } from '../admission/admit-write.ts';
import { ownerTouched } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Entry, EntryWrite, Guard, Store } from '../ports/store.ts';
import { randomId } from '../primitives/base62.ts';
import { readRefreshTime } from '../sources/refresh-time.ts';
import {
  NEVER_REFRESHED,
  type RefreshState,
  readRefreshState,
  waitAfterMs,
  writeRefreshState,
} from './refresh-state.ts';

export interface RefreshLeasesPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** The longest a query may take. */
  readonly queryMsMax: number;
  readonly server?: ServerIdentity;
  /** Resolves after so long. Absent: a lease that could not be ended ends by itself. */
  readonly wait?: (ms: number) => Promise<void>;
}

/** Identifies this server among those that share a store. */
export interface ServerIdentity {
  /** A unique id of this server, without a dot. */
  readonly id: string;
  /** Whether the server with this id has certainly stopped. */
  isGone(id: string): boolean;
}

/** The refresh entries of a partition, as they were read. */
export interface RefreshStatus {
  readonly state: RefreshState;
  readonly entry: Entry | null;
  /** The time set by an explicit request, and the entry that holds it. */
  readonly refreshAtMs: number | null;
  readonly refreshAt: Entry | null;
}

/** The exclusive right to refresh a partition. Writes with `fence` as a guard fail once the lease has been taken over. */
export interface RefreshLease {
  readonly target: Target;
  readonly status: RefreshStatus;
  readonly state: RefreshState;
  readonly version: number;
  readonly fence: Guard;
}

/** How often a server tries to end a lease that it could not end because the store was away. */
const RELEASE_EVERY_MS = 1_000;

/** Leases and states of refreshes, kept in the store that all servers share. */
export class RefreshLeases {
  readonly #ports: RefreshLeasesPorts;
  /** The holders of the leases under which this server refreshes at present. */
  readonly #running = new Set<string>();

  constructor(ports: RefreshLeasesPorts) {
    this.#ports = ports;
  }

  async status({ partition }: Target): Promise<RefreshStatus> {
    const { store, clock } = this.#ports;
    const [entry, refreshAt] = await Promise.all([
      store.readEntry(refs.refresh(partition)),
      store.readEntry(refs.refreshAt(partition)),
    ]);
    const nowMs = clock.nowMs();
    const state = entry === null ? NEVER_REFRESHED : readRefreshState(entry.value, nowMs);
    const refreshAtMs = refreshAt === null ? null : readRefreshTime(refreshAt.value, nowMs);
    return { state, entry, refreshAt, refreshAtMs };
  }

  /** Calls `work` with the lease, which ends with it. Returns null if another refresh holds the lease, or was faster. */
  async withLease<T>(
    target: Target,
    status: RefreshStatus,
    work: (lease: RefreshLease) => Promise<T>,
  ): Promise<{ readonly result: T } | null> {
    if (this.isLeased(status.state)) return null;
    const leaseHolder = `${this.#ports.server?.id ?? ''}.${randomId(this.#ports.random)}`;
    this.#running.add(leaseHolder);
    try {
      const lease = await this.#take(target, status, leaseHolder);
      return lease === null ? null : { result: await work(lease) };
    } catch (error) {
      void this.#releaseLater(target, leaseHolder);
      throw error;
    } finally {
      this.#running.delete(leaseHolder);
    }
  }

  async #take(target: Target, status: RefreshStatus, leaseHolder: string): Promise<RefreshLease | null> {
    const { store, clock } = this.#ports;
    const nowMs = clock.nowMs();
    const state = { ...status.state, leaseHolder, leaseUntilMs: nowMs + this.#leaseMs };
    if (!(await this.#write(target, status.entry, state))) return null;
    const ref = refs.refresh(target.partition);
    const entry = await store.readEntry(ref);
    if (entry === null || readRefreshState(entry.value, nowMs).leaseHolder !== leaseHolder) return null;
    return { target, status, state, version: entry.version, fence: { ...ref, version: entry.version } };
  }

  /** Other servers would wait for a lease that could not be ended because the store was away: it is ended once the store is back. */
  async #releaseLater(target: Target, leaseHolder: string): Promise<void> {
    const { wait } = this.#ports;
    if (wait === undefined) return;
    for (let waitedMs = 0; waitedMs < this.#leaseMs; waitedMs += RELEASE_EVERY_MS) {
      await wait(RELEASE_EVERY_MS);
      if (await this.#release(target, leaseHolder).catch(() => false)) return;
    }
  }

  async #release(target: Target, leaseHolder: string): Promise<true> {
    const { state, entry } = await this.status(target);
    if (state.leaseHolder === leaseHolder) {
      await this.#write(target, entry, { ...state, leaseHolder: '', leaseUntilMs: 0 });
    }
    return true;
  }

  get #leaseMs(): number {
    return this.#ports.queryMsMax + REFRESH_APPLY_MS_MAX;
  }

  /** Whether a running refresh holds the lease. */
  isLeased(state: RefreshState): boolean {
    return state.leaseUntilMs > this.#ports.clock.nowMs() && !this.isAbandoned(state);
  }

  /**
   * Whether nobody refreshes under the lease: its server has stopped, or it is this server, which knows what it is running.
   * Late writes under the lease would fail at the fence all the same.
   */
  isAbandoned({ leaseHolder }: RefreshState): boolean {
    const { server } = this.#ports;
    const [serverId = ''] = leaseHolder.split('.', 1);
    if (server === undefined || serverId === '') return false;
    return serverId === server.id ? !this.#running.has(leaseHolder) : server.isGone(serverId);
  }

  async isHeld({ target, version }: RefreshLease): Promise<boolean> {
    return (await this.#ports.store.readEntry(refs.refresh(target.partition)))?.version === version;
  }

  /**
   * Records until when a queued job is expected to refresh the partition. False: another writer was faster, or a refresh
   * holds the lease. Writing the entry would end that lease, and its answer would be discarded.
   */
  async queued(target: Target, { state, entry }: RefreshStatus, untilMs: number): Promise<boolean> {
    return !this.isLeased(state) && this.#write(target, entry, { ...state, queuedUntilMs: untilMs });
  }

  /** Records a successful refresh. `atMs` is when its query began, `isLate` says that devices did not wait for its end. */
  succeed(lease: RefreshLease, atMs: number, isLate: boolean): Promise<boolean> {
    const freshUntilMs = isLate ? this.#ports.clock.nowMs() + REFRESH_LATE_FRESH_MS : 0;
    return this.#settle(lease, { ...NEVER_REFRESHED, atMs, freshUntilMs });
  }

  /** Records a failed refresh. Returns the state with the time of the next attempt. */
  async fail(lease: RefreshLease, trouble: PartialError, retryAfterMs: number): Promise<RefreshState> {
    const { clock, random } = this.#ports;
    const { state } = lease;
    const failures = state.failures + 1;
    const [byte = 0] = random.bytes(1);
    const retryAtMs = clock.nowMs() + Math.max(waitAfterMs(failures, byte / 256), retryAfterMs);
    // The queue retries a failed job by itself.
    const queuedUntilMs = state.queuedUntilMs === 0 ? 0 : Math.max(state.queuedUntilMs, retryAtMs);
    const failed = { ...NEVER_REFRESHED, atMs: state.atMs, failures, retryAtMs, trouble, queuedUntilMs };
    await this.#settle(lease, failed);
    return failed;
  }

  /** Ends the lease, and removes the explicit request that was served, unless there is a newer one. */
  #settle({ target, status, version }: RefreshLease, state: RefreshState): Promise<boolean> {
    const request = status.refreshAt;
    const ref = refs.refreshAt(target.partition);
    const done: EntryWrite[] = request === null ? [] : [{ ...ref, value: null, expect: request.version }];
    const own = { key: [], value: '', version };
    return this.#write(target, own, state, done).then((isWritten) =>
      isWritten || done.length === 0 ? isWritten : this.#write(target, own, state),
    );
  }

  async #write(
    { partition, guards }: Target,
    entry: Entry | null,
    state: RefreshState,
    others: readonly EntryWrite[] = [],
  ): Promise<boolean> {
    const value = writeRefreshState({ ...state, writtenAtMs: this.#ports.clock.nowMs() });
    const write = { ...refs.refresh(partition), value, expect: entry?.version ?? 0 };
    // A deletion of the source that runs at the same time must notice the new entry.
    const touched = entry === null ? [ownerTouched('source', partition.source)] : [];
    const result = await this.#ports.store.writeEntries({ writes: [write, ...touched, ...others], guards });
    return result.status === 'written';
  }
}
