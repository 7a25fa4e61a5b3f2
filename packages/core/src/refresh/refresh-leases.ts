import { type PartialError, REFRESH_APPLY_MS_MAX, REFRESH_LATE_FRESH_MS } from '@tidemark/protocol';
import type { Target } from '../admission/admit-write.ts';
import { ownerTouched } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Entry, EntryWrite, Guard, Store } from '../ports/store.ts';
import { randomId } from '../primitives/random-id.ts';
import { readRefreshTime } from '../sources/refresh-time.ts';
import { waitAfterMs } from './is-due.ts';
import { NEVER_REFRESHED, type RefreshState, readRefreshState, writeRefreshState } from './refresh-state.ts';

export interface RefreshLeasesPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** The longest a query may take. */
  readonly queryMsMax: number;
  readonly server?: ServerIdentity;
}

/** Which of the servers on a store this one is. */
export interface ServerIdentity {
  /** A word that no other server has; without a dot in it. */
  readonly word: string;
  /** Whether the server of that word is certainly not about any more. */
  isGone(word: string): boolean;
}

/** What is known of a partition's refresh, as it was read. */
export interface RefreshStatus {
  readonly state: RefreshState;
  readonly entry: Entry | null;
  /** When somebody said it is due, and the entry that says so. */
  readonly refreshAtMs: number | null;
  readonly refreshAt: Entry | null;
}

/** The right to refresh a partition, alone. What is written under `fence` is written only while the right lasts. */
export interface RefreshLease {
  readonly target: Target;
  readonly status: RefreshStatus;
  readonly state: RefreshState;
  readonly version: number;
  readonly fence: Guard;
}

/** Keeps book of refreshes in the store, where all servers see it. */
export class RefreshLeases {
  readonly #ports: RefreshLeasesPorts;

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

  /** Null: somebody else has it, or was faster. */
  async lease(target: Target, status: RefreshStatus): Promise<RefreshLease | null> {
    const { store, clock, random, queryMsMax, server } = this.#ports;
    if (this.isLeased(status.state)) return null;
    const nowMs = clock.nowMs();
    const leaseWord = `${server?.word ?? ''}.${randomId(random)}`;
    const leaseUntilMs = nowMs + queryMsMax + REFRESH_APPLY_MS_MAX;
    const state = { ...status.state, leaseWord, leaseUntilMs };
    if (!(await this.#write(target, status.entry, state))) return null;
    const ref = refs.refresh(target.partition);
    const entry = await store.readEntry(ref);
    if (entry === null || readRefreshState(entry.value, nowMs).leaseWord !== leaseWord) return null;
    return { target, status, state, version: entry.version, fence: { ...ref, version: entry.version } };
  }

  /** Somebody is refreshing the partition, and still may. */
  isLeased(state: RefreshState): boolean {
    return state.leaseUntilMs > this.#ports.clock.nowMs() && !this.isAbandoned(state);
  }

  /** The server that has it does not live any more. What it may still say is fenced off all the same. */
  isAbandoned({ leaseWord }: RefreshState): boolean {
    const [word = ''] = leaseWord.split('.', 1);
    return word !== '' && this.#ports.server?.isGone(word) === true;
  }

  async isHeld({ target, version }: RefreshLease): Promise<boolean> {
    return (await this.#ports.store.readEntry(refs.refresh(target.partition)))?.version === version;
  }

  /**
   * Notes until when a job for it is waited for. False: somebody else was faster, or is refreshing the partition. Writing
   * the entry then would end the lease, and the answer on its way would be thrown away.
   */
  async queued(target: Target, { state, entry }: RefreshStatus, untilMs: number): Promise<boolean> {
    return !this.isLeased(state) && this.#write(target, entry, { ...state, queuedUntilMs: untilMs });
  }

  /** The refresh went well; `atMs` is when its query began, `isLate` says that devices did not wait for its end. */
  succeed(lease: RefreshLease, atMs: number, isLate: boolean): Promise<boolean> {
    const freshUntilMs = isLate ? this.#ports.clock.nowMs() + REFRESH_LATE_FRESH_MS : 0;
    return this.#settle(lease, { ...NEVER_REFRESHED, atMs, freshUntilMs });
  }

  /** The refresh failed. Answers the state with the time of the next attempt. */
  async fail(lease: RefreshLease, trouble: PartialError, retryAfterMs: number): Promise<RefreshState> {
    const { clock, random } = this.#ports;
    const { state } = lease;
    const failures = state.failures + 1;
    const [byte = 0] = random.bytes(1);
    const retryAtMs = clock.nowMs() + Math.max(waitAfterMs(failures, byte / 256), retryAfterMs);
    // A job that failed comes back by itself.
    const queuedUntilMs = state.queuedUntilMs === 0 ? 0 : Math.max(state.queuedUntilMs, retryAtMs);
    const failed = { ...NEVER_REFRESHED, atMs: state.atMs, failures, retryAtMs, trouble, queuedUntilMs };
    await this.#settle(lease, failed);
    return failed;
  }

  /** What somebody said about when it is due is done with, unless they have said something else since. */
  #settle({ target, status, version }: RefreshLease, state: RefreshState): Promise<boolean> {
    const said = status.refreshAt;
    const ref = refs.refreshAt(target.partition);
    const done: EntryWrite[] = said === null ? [] : [{ ...ref, value: null, expect: said.version }];
    const mine = { key: [], value: '', version };
    return this.#write(target, mine, state, done).then((isWritten) =>
      isWritten || done.length === 0 ? isWritten : this.#write(target, mine, state),
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
    // Whoever drops the source must find an entry that is new.
    const news = entry === null ? [ownerTouched('source', partition.source)] : [];
    const result = await this.#ports.store.writeEntries({ writes: [write, ...news, ...others], guards });
    return result.status === 'written';
  }
}
