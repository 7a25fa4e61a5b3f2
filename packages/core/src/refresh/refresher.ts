import {
  errorMessage,
  type PartialError,
  REFRESH_ATTEMPTS_MAX,
  REFRESH_AWAIT_MS_MAX,
  REFRESH_QUEUED_MS,
  Refusal,
} from '@tidemark/protocol';
import type { Target, WriteCall } from '../admission/admit-write.ts';
import { allEntries } from '../entries/all-entries.ts';
import { refs } from '../entries/refs.ts';
import type { Adapters } from '../ports/adapter.ts';
import { JobFailure, type JobHandler, type Jobs } from '../ports/jobs.ts';
import { partitionName, readOwner, sharedPartition } from '../ports/owner.ts';
import type { Random } from '../ports/random.ts';
import type { PartitionKey } from '../ports/store.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/source-view.ts';
import { BackendQuery, type BackendQueryPorts, queryOf, type RefreshTask } from './backend-query.ts';
import { PullWait, REFRESH_PENDING } from './pull-wait.ts';
import { refreshFailureOf } from './refresh-errors.ts';
import { payloadOf, REFRESH_KIND, readPayload } from './refresh-job.ts';
import { RefreshLeases, type RefreshStatus, type ServerIdentity } from './refresh-leases.ts';
import { isDue } from './refresh-state.ts';

export interface RefresherPorts extends BackendQueryPorts {
  readonly random: Random;
  /** Absent: no source has a backend, whatever it says. */
  readonly adapters?: Adapters;
  /** Absent: refreshes are never queued. */
  readonly jobs?: Pick<Jobs, 'enqueue'>;
  /** The longest a query may take. */
  readonly queryMsMax?: number;
  /** How long devices wait for one refresh. Absent: until it ends. */
  readonly pullWaitMs?: number;
  /** Resolves after so long. Absent: devices wait until a refresh ends, but not for refreshes of other servers. */
  readonly wait?: (ms: number) => Promise<void>;
  /** Absent: servers are not told apart. */
  readonly server?: ServerIdentity;
  readonly sourceOf: (name: string) => Promise<SourceView>;
  readonly targetOf: (call: WriteCall) => Promise<Target>;
  /** Called when a refresh that devices did not wait for has ended, however it ended. */
  readonly onLate: (partition: PartitionKey) => void;
}

const QUERY_MS_MAX = 60_000;
/** How often the lease of another server is checked. */
const LEASE_CHECK_MS = 50;
const SLOW_LEASES_MAX = 1_000;
const ELSEWHERE = 'another server is refreshing the partition';

/** A refresh that has begun, which all callers of this process share. */
interface SharedRefresh {
  readonly done: Promise<PartialError | null>;
  readonly pullWait: PullWait;
}

/** A refresh that begins when the running one of its partition has ended. */
interface NextRefresh {
  readonly done: Promise<PartialError | null>;
  readonly start: () => void;
}

/**
 * Replaces partitions by the answers of their backends when they are due. However many devices pull at once, the backend
 * is queried once: callers in this process share one refresh, and other servers see its lease in the store and wait for a
 * while until it ends. Devices wait for at most `pullWaitMs`; the refresh goes on after that, and devices that come
 * meanwhile do not wait. A failed refresh leaves the objects as they are.
 */
export class Refresher {
  readonly #ports: RefresherPorts;
  readonly #leases: RefreshLeases;
  readonly #query: BackendQuery;
  readonly #running = new Map<string, SharedRefresh>();
  readonly #next = new Map<string, NextRefresh>();
  /** Leases of other servers that have been waited for too long already. */
  readonly #slowLeases = new Set<string>();

  constructor(ports: RefresherPorts) {
    this.#ports = ports;
    this.#leases = new RefreshLeases({ queryMsMax: QUERY_MS_MAX, ...ports });
    this.#query = new BackendQuery(ports, this.#leases);
  }

  /**
   * Refreshes the partition if it is due, or queues a job for it if the source names a queue. Returns the error to deliver
   * with the page; null: there is none. Never rejects because of a backend.
   */
  async ensureFresh(call: WriteCall): Promise<PartialError | null> {
    const task = await this.#taskOf(call);
    if (task === null || 'code' in task) return task;
    const { done, pullWait } = this.#share(task, (pullWait) => this.#ensure(task, pullWait));
    return Promise.race([done, pullWait.expired]);
  }

  /**
   * Refreshes the partition now, whether it is due or not. A query that runs may have begun before the backend got what
   * the caller wants, so another one follows it, which all callers share that come meanwhile.
   */
  async refresh(call: WriteCall): Promise<PartialError | null> {
    const task = await this.#taskOf(call);
    if (task === null || 'code' in task) return task;
    const key = partitionName(task.target.partition);
    const start = () => this.#share(task, (pullWait) => this.#refreshNow(task, pullWait));
    if (!this.#running.has(key)) return start().done;
    const next = this.#next.get(key) ?? nextRefresh(start);
    this.#next.set(key, next);
    return next.done;
  }

  /** Refreshes every partition of a source that was ever refreshed, one after the other, because its adapter changed. */
  async refreshKnown(source: string): Promise<void> {
    const known: PartitionKey[] = [];
    for await (const { key } of allEntries(this.#ports.store, 'setting', refs.refresh(sharedPartition(source)).key)) {
      known.push({ source, owner: readOwner(key[2] ?? null) });
    }
    for (const partition of known) await this.refresh({ partition }).catch(ignoreGone);
  }

  /** Runs the jobs that `ensureFresh` has queued. */
  get handler(): JobHandler {
    return async ({ payload }) => {
      const task = await this.#taskOf({ partition: readPayload(payload) }).catch(ignoreGone);
      if (task === null || 'code' in task) return;
      const trouble = await this.#share(task, (pullWait) => this.#ensureQueued(task, pullWait)).done;
      const { state } = await this.#leases.status(task.target);
      const notBefore = (atMs: number) => ({ retryAfterMs: Math.max(0, atMs - this.#ports.clock.nowMs()) });
      // Only after the lease has ended is it known whether the other server succeeded.
      if (this.#leases.isLeased(state)) throw new JobFailure(ELSEWHERE, notBefore(state.leaseUntilMs));
      if (trouble !== null) throw new JobFailure(trouble.detail, { ...notBefore(state.retryAtMs), isLogged: true });
    };
  }

  /** Null: the source has no adapter. An error: its adapter is missing. */
  async #taskOf(call: WriteCall): Promise<RefreshTask | PartialError | null> {
    const { adapters, targetOf, sourceOf } = this.#ports;
    if (adapters === undefined) return null;
    const target = await targetOf(call);
    const source = await sourceOf(target.partition.source);
    if (source.adapter === NO_ADAPTER) return null;
    const adapter = adapters.find(source.adapter);
    if (adapter !== null) return { target, source, adapter };
    return { code: 'backend_unavailable', detail: 'the source names an adapter that is not there' };
  }

  /** Starts a refresh, or joins the one that runs for the partition (single flight). */
  #share({ target }: RefreshTask, work: (pullWait: PullWait) => Promise<PartialError | null>): SharedRefresh {
    const { partition } = target;
    const key = partitionName(partition);
    const before = this.#running.get(key);
    if (before !== undefined) return before;
    const pullWait = new PullWait(this.#ports);
    const done = work(pullWait).finally(() => {
      const next = this.#next.get(key);
      this.#running.delete(key);
      this.#next.delete(key);
      next?.start();
      if (pullWait.isExpired) this.#ports.onLate(partition);
    });
    // After the wait has expired, no caller may be left to handle the error.
    done.catch((error: unknown) => {
      if (pullWait.isExpired)
        this.#ports.log.warn('refresh_failed', { ...queryOf(partition), reason: errorMessage(error) });
    });
    const shared = { done, pullWait };
    this.#running.set(key, shared);
    return shared;
  }

  async #ensure(task: RefreshTask, pullWait: PullWait): Promise<PartialError | null> {
    const { source, target } = task;
    const status = await this.#leases.status(target);
    if (!this.#isDue(source, status)) return status.state.trouble;
    const queue = source.query_queue ?? source.queue;
    if (queue === null || this.#ports.jobs === undefined) return this.#refresh(task, status, pullWait);
    return this.#enqueue(queue, this.#ports.jobs, task, status);
  }

  /** A partition that was refreshed after its job was queued is not refreshed again. */
  async #ensureQueued(task: RefreshTask, pullWait: PullWait): Promise<PartialError | null> {
    const status = await this.#leases.status(task.target);
    const isWanted = status.state.failures > 0 || this.#isDue(task.source, status);
    return isWanted ? this.#refresh(task, status, pullWait) : null;
  }

  #isDue({ poll_interval: pollIntervalS }: SourceView, { state, refreshAtMs }: RefreshStatus): boolean {
    return isDue({ nowMs: this.#ports.clock.nowMs(), pollIntervalS, refreshAtMs, state });
  }

  async #enqueue(
    queue: string,
    jobs: Pick<Jobs, 'enqueue'>,
    { target }: RefreshTask,
    status: RefreshStatus,
  ): Promise<PartialError | null> {
    const { clock, log } = this.#ports;
    const { state } = status;
    const nowMs = clock.nowMs();
    if (state.queuedUntilMs > nowMs) return state.trouble;
    if (!(await this.#leases.queued(target, status, nowMs + REFRESH_QUEUED_MS))) return state.trouble;
    const payload = payloadOf(target.partition);
    try {
      await jobs.enqueue(queue, { kind: REFRESH_KIND, payload, attemptsMax: REFRESH_ATTEMPTS_MAX });
      return state.trouble;
    } catch (error) {
      log.warn('refresh_not_queued', { source: target.partition.source, queue, reason: errorMessage(error) });
      await this.#leases.queued(target, await this.#leases.status(target), 0);
      return refreshFailureOf(error).trouble;
    }
  }

  /** A query of another server, too, began earlier: this one follows it. */
  async #refreshNow(task: RefreshTask, pullWait: PullWait): Promise<PartialError | null> {
    pullWait.start();
    const status = await this.#leases.status(task.target);
    if (!this.#leases.isLeased(status.state)) return this.#refresh(task, status, pullWait);
    const trouble = await this.#awaitOther(task, status.state.trouble, pullWait);
    if (trouble === REFRESH_PENDING) return trouble;
    return this.#refresh(task, await this.#leases.status(task.target), pullWait);
  }

  async #refresh(task: RefreshTask, status: RefreshStatus, pullWait: PullWait): Promise<PartialError | null> {
    pullWait.start();
    const ended = await this.#leases.withLease(task.target, status, (lease) => this.#query.run(task, lease, pullWait));
    return ended === null ? this.#awaitOther(task, status.state.trouble, pullWait) : ended.result;
  }

  /**
   * Waits for the refresh of another server and returns its error. Gives up after a while, and does not wait for the same
   * lease again. If the other server has died, the backend is queried here.
   */
  async #awaitOther(task: RefreshTask, known: PartialError | null, pullWait: PullWait): Promise<PartialError | null> {
    const { wait, clock, steadyClock = clock } = this.#ports;
    const { target } = task;
    if (wait === undefined) return known;
    const endMs = steadyClock.nowMs() + REFRESH_AWAIT_MS_MAX;
    let status = await this.#leases.status(target);
    const { leaseHolder } = status.state;
    while (status.state.leaseHolder === leaseHolder && status.state.leaseUntilMs > clock.nowMs()) {
      if (this.#leases.isAbandoned(status.state)) return this.#refresh(task, status, pullWait);
      if (this.#slowLeases.has(leaseHolder) || steadyClock.nowMs() >= endMs) return this.#giveUpOn(leaseHolder);
      await wait(LEASE_CHECK_MS);
      status = await this.#leases.status(target);
    }
    return status.state.trouble;
  }

  #giveUpOn(leaseHolder: string): PartialError {
    if (this.#slowLeases.size >= SLOW_LEASES_MAX) this.#slowLeases.clear();
    this.#slowLeases.add(leaseHolder);
    return REFRESH_PENDING;
  }
}

function nextRefresh(begin: () => SharedRefresh): NextRefresh {
  let start = (): void => undefined;
  const begun = new Promise<SharedRefresh>((resolve) => {
    start = () => resolve(begin());
  });
  return { start, done: begun.then(({ done }) => done) };
}

/** A deleted source or user needs no refresh. */
function ignoreGone(error: unknown): null {
  if (error instanceof Refusal && (error.code === 'source_not_found' || error.code === 'user_not_found')) return null;
  throw error;
}
