import { errorMessage, type PartialError, REFRESH_QUERIES_MAX, Refusal, type WriteReport } from '@tidemark/protocol';
import type { AnswerCall, SeenState, Target, WriteCall } from '../admission/admit-write.ts';
import { type Adapter, LoggedFailure, type QueryCall } from '../ports/adapter.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import type { SourceView } from '../sources/source-view.ts';
import type { PullWait } from './pull-wait.ts';
import { refreshFailureOf, writeErrors } from './refresh-errors.ts';
import type { RefreshLease, RefreshLeases } from './refresh-leases.ts';

/** A refresh that has ended. */
export interface EndedRefresh {
  readonly partition: PartitionKey;
  /** The code of the failure; null: the partition equals the answer of the backend. */
  readonly code: string | null;
  readonly tookMs: number;
}

/** A partition to be refreshed, and the adapter to query. */
export interface RefreshTask {
  readonly target: Target;
  readonly source: SourceView;
  readonly adapter: Adapter;
}

export interface BackendQueryPorts {
  readonly store: Store;
  readonly clock: Clock;
  /** A monotonic clock, for durations. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly log: Log;
  readonly head: (call: WriteCall) => Promise<SeenState>;
  readonly replace: (call: AnswerCall) => Promise<WriteReport>;
  /** Called when a refresh by this process has ended. */
  readonly onEnded?: (ended: EndedRefresh) => void;
  /** Counts a query and how long it took. */
  readonly count: (metric: string, tookMs: number) => void;
}

/** Asks a backend for a partition while the lease of its refresh is held, writes the answer, and notes how that ended. */
export class BackendQuery {
  readonly #ports: BackendQueryPorts;
  readonly #leases: RefreshLeases;

  constructor(ports: BackendQueryPorts, leases: RefreshLeases) {
    this.#ports = ports;
    this.#leases = leases;
  }

  /** Returns the error to deliver with the page; null: there is none. */
  async run(task: RefreshTask, lease: RefreshLease, pullWait: PullWait): Promise<PartialError | null> {
    const { clock, steadyClock = clock } = this.#ports;
    const before = lease.status.state.trouble;
    const startMs = steadyClock.nowMs();
    try {
      const atMs = await this.#query(task, lease);
      if (atMs === null) return before;
      this.#end(task, null, steadyClock.nowMs() - startMs);
      await this.#leases.succeed(lease, atMs, pullWait.isExpired);
      if (before !== null) await this.#writeErrors(lease, { ...lease.state, trouble: null });
      return null;
    } catch (error) {
      const tookMs = steadyClock.nowMs() - startMs;
      const trouble = await this.#fail(lease, error);
      this.#end(task, trouble.code, tookMs);
      return trouble;
    }
  }

  #end({ target: { partition } }: RefreshTask, code: string | null, tookMs: number): void {
    const { count, onEnded } = this.#ports;
    count(`sources:${code === null ? 'query' : 'query_failed'}:${partition.source}`, tookMs);
    onEnded?.({ partition, code, tookMs });
  }

  /** Queries the backend and writes its answer. Returns when the query began; null: another server has taken the lease. */
  async #query({ target, adapter }: RefreshTask, lease: RefreshLease): Promise<number | null> {
    const { clock, head, replace } = this.#ports;
    const call = { partition: target.partition };
    const query = queryOf(target.partition);
    for (let count = 1; ; count++) {
      const atMs = clock.nowMs();
      const since = await head(call);
      try {
        const answer = await adapter.query(query);
        if (!('isUnchanged' in answer)) await replace({ ...call, answer, since, fence: lease.fence });
        return atMs;
      } catch (error) {
        const isStale = error instanceof Refusal && error.code === 'refresh_stale';
        if (isStale && !(await this.#leases.isHeld(lease))) return null;
        if (!isStale || count === REFRESH_QUERIES_MAX) throw error;
      }
    }
  }

  async #fail(lease: RefreshLease, error: unknown): Promise<PartialError> {
    const { trouble, retryAfterMs } = refreshFailureOf(error);
    const query = queryOf(lease.target.partition);
    const level = error instanceof LoggedFailure ? 'debug' : 'warn';
    this.#ports.log[level]('refresh_failed', { ...query, code: trouble.code, reason: errorMessage(error) });
    const state = await this.#leases.fail(lease, trouble, retryAfterMs);
    await this.#writeErrors(lease, state);
    return trouble;
  }

  async #writeErrors({ target }: RefreshLease, state: RefreshLease['state']): Promise<void> {
    try {
      await writeErrors(this.#ports.store, target, state);
    } catch (error) {
      this.#ports.log.warn('errors_not_noted', { source: target.partition.source, reason: errorMessage(error) });
    }
  }
}

/** The data of a group belongs to no single user, so the query names the group instead. */
export function queryOf({ source, owner }: PartitionKey): QueryCall {
  if (owner.kind === 'group') return { source, user: null, partition: owner.name };
  return { source, user: owner.kind === 'user' ? owner.login : null };
}
