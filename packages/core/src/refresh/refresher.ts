import {
  type PartialError,
  parseJson,
  REFRESH_ATTEMPTS_MAX,
  REFRESH_AWAIT_MS_MAX,
  REFRESH_QUERIES_MAX,
  REFRESH_QUEUED_MS,
  Refusal,
  type WriteReport,
} from '@tidemark/protocol';
import { type AnswerCall, callFor, type SeenState, type Target, type WriteCall } from '../admission/admit-write.ts';
import { customNameOf } from '../admission/custom-partition.ts';
import { allEntries } from '../entries/all-entries.ts';
import { refs } from '../entries/refs.ts';
import { type Adapter, type Adapters, LoggedFailure, type QueryCall } from '../ports/adapter.ts';
import type { Clock } from '../ports/clock.ts';
import { JobFailure, type JobHandler, type Jobs } from '../ports/jobs.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/sources.ts';
import { isDue } from './is-due.ts';
import { noteErrors } from './note-errors.ts';
import { refreshFailureOf } from './refresh-failure.ts';
import { type RefreshLease, RefreshLeases, type RefreshStatus, type ServerIdentity } from './refresh-leases.ts';
import { REFRESH_PENDING, RefreshPatience } from './refresh-patience.ts';

export interface RefresherPorts {
  readonly store: Store;
  readonly clock: Clock;
  /** Measures durations: it is never set. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Absent: no source has an adapter, whatever it says. */
  readonly adapters?: Adapters;
  /** Absent: nothing is left to a queue. */
  readonly jobs?: Pick<Jobs, 'enqueue'>;
  /** The longest a query may take. */
  readonly queryMsMax?: number;
  /** How long devices wait for one refresh. Absent: until it ends. */
  readonly pullWaitMs?: number;
  /** Absent: devices wait until a refresh ends, and what another server is fetching is not waited for. */
  readonly wait?: (ms: number) => Promise<void>;
  /** Absent: the only one that is told apart. */
  readonly server?: ServerIdentity;
  readonly sourceOf: (name: string) => Promise<SourceView>;
  readonly targetOf: (call: WriteCall) => Promise<Target>;
  readonly head: (call: WriteCall) => Promise<SeenState>;
  readonly replace: (call: AnswerCall) => Promise<WriteReport>;
  /** Called when a refresh that devices did not wait for has ended, however it ended. */
  readonly onLate: (partition: PartitionKey) => void;
  /** Counts something that took so long. */
  readonly count: (metric: string, tookMs: number) => void;
}

export const REFRESH_KIND = 'refresh';
const QUERY_MS_MAX = 60_000;
/** How often is looked whether another server has finished. */
const LOOK_EVERY_MS = 50;
const IN_VAIN_MAX = 1_000;
const ELSEWHERE = 'another server is refreshing the partition';

/** One partition on its way to being refreshed. */
interface Undertaking {
  readonly target: Target;
  readonly source: SourceView;
  readonly adapter: Adapter;
}

/** A refresh under way. */
interface Flight {
  readonly done: Promise<PartialError | null>;
  readonly patience: RefreshPatience;
}

/**
 * Makes partitions equal to what their backend says, when they are due. However many devices ask at once, the backend
 * is asked once: those in this process share one attempt, other servers see the lease in the store and wait until it
 * ends, for a while. Devices wait for `pullWaitMs`; the refresh goes on after that, and whoever comes meanwhile does not
 * wait at all. Whatever goes wrong changes nothing but what is told.
 */
export class Refresher {
  readonly #ports: RefresherPorts;
  readonly #leases: RefreshLeases;
  readonly #flights = new Map<string, Flight>();
  /** Attempts of others that took too long to be waited for. */
  readonly #inVain = new Set<string>();

  constructor(ports: RefresherPorts) {
    this.#ports = ports;
    this.#leases = new RefreshLeases({ queryMsMax: QUERY_MS_MAX, ...ports });
  }

  /**
   * To be called before a device is given a page: refreshes the partition if it is due, or leaves that to a queue if
   * the source names one. Answers what the device is to be told; null: all is well. Never rejects because of a backend.
   */
  async ensureFresh(call: WriteCall): Promise<PartialError | null> {
    const undertaking = await this.#undertakingOf(call);
    if (undertaking === null || 'code' in undertaking) return undertaking;
    const { done, patience } = this.#fly(undertaking, (flown) => this.#ensure(undertaking, flown));
    return Promise.race([done, patience.over]);
  }

  /** Refreshes the partition whether it is due or not, here and now. */
  async refresh(call: WriteCall): Promise<PartialError | null> {
    const undertaking = await this.#undertakingOf(call);
    if (undertaking === null || 'code' in undertaking) return undertaking;
    const { done } = this.#fly(undertaking, async (patience) =>
      this.#refresh(undertaking, await this.#leases.status(undertaking.target), patience),
    );
    return done;
  }

  /** Refreshes every partition of a source that was ever refreshed, one after the other: its adapter is another one now. */
  async refreshKnown(source: string): Promise<void> {
    const known: PartitionKey[] = [];
    for await (const { key } of allEntries(this.#ports.store, 'setting', refs.refresh({ source, user: null }).key)) {
      known.push({ source, user: key[2] ?? null });
    }
    for (const partition of known) await this.refresh(callFor(partition)).catch(goneIsNull);
  }

  /** Runs the jobs that `ensureFresh` has left to a queue. */
  get handler(): JobHandler {
    return async ({ payload }) => {
      const undertaking = await this.#undertakingOf(callFor(parseJson(payload) as PartitionKey)).catch(goneIsNull);
      if (undertaking === null || 'code' in undertaking) return;
      const trouble = await this.#fly(undertaking, (patience) => this.#ensureQueued(undertaking, patience)).done;
      const { state } = await this.#leases.status(undertaking.target);
      const notBefore = (atMs: number) => ({ retryAfterMs: Math.max(0, atMs - this.#ports.clock.nowMs()) });
      // Whether the other server brings it to an end is known when its lease has ended.
      if (this.#leases.isLeased(state)) throw new JobFailure(ELSEWHERE, notBefore(state.leaseUntilMs));
      if (trouble !== null) throw new JobFailure(trouble.detail, { ...notBefore(state.retryAtMs), isLogged: true });
    };
  }

  /** Null: there is nobody to ask. A trouble: there should be. */
  async #undertakingOf(call: WriteCall): Promise<Undertaking | PartialError | null> {
    const { adapters, targetOf, sourceOf } = this.#ports;
    if (adapters === undefined) return null;
    const target = await targetOf(call);
    const source = await sourceOf(target.partition.source);
    if (source.adapter === NO_ADAPTER) return null;
    const adapter = adapters.find(source.adapter);
    if (adapter !== null) return { target, source, adapter };
    return { code: 'backend_unavailable', detail: 'the source names an adapter that is not there' };
  }

  /** Whoever comes while somebody is at it gets what that one gets. */
  #fly({ target }: Undertaking, work: (patience: RefreshPatience) => Promise<PartialError | null>): Flight {
    const { partition } = target;
    const key = JSON.stringify([partition.source, partition.user]);
    const before = this.#flights.get(key);
    if (before !== undefined) return before;
    const patience = new RefreshPatience(this.#ports);
    const done = work(patience).finally(() => {
      this.#flights.delete(key);
      if (patience.isSpent) this.#ports.onLate(partition);
    });
    // Nobody may be left to hear of it.
    done.catch((error: unknown) => {
      if (patience.isSpent)
        this.#ports.log.warn('refresh_failed', { ...questionOf(partition), reason: reasonOf(error) });
    });
    const flight = { done, patience };
    this.#flights.set(key, flight);
    return flight;
  }

  async #ensure(undertaking: Undertaking, patience: RefreshPatience): Promise<PartialError | null> {
    const { source, target } = undertaking;
    const status = await this.#leases.status(target);
    if (!this.#isDue(source, status)) return status.state.trouble;
    const queue = source.query_queue ?? source.queue;
    if (queue === null || this.#ports.jobs === undefined) return this.#refresh(undertaking, status, patience);
    return this.#leaveTo(queue, this.#ports.jobs, undertaking, status);
  }

  /** What has been refreshed since the job was left needs no second time. */
  async #ensureQueued(undertaking: Undertaking, patience: RefreshPatience): Promise<PartialError | null> {
    const status = await this.#leases.status(undertaking.target);
    const isWanted = status.state.failures > 0 || this.#isDue(undertaking.source, status);
    return isWanted ? this.#refresh(undertaking, status, patience) : null;
  }

  #isDue({ poll_interval: pollIntervalS }: SourceView, { state, refreshAtMs }: RefreshStatus): boolean {
    return isDue({ nowMs: this.#ports.clock.nowMs(), pollIntervalS, refreshAtMs, state });
  }

  async #leaveTo(
    queue: string,
    jobs: Pick<Jobs, 'enqueue'>,
    { target }: Undertaking,
    status: RefreshStatus,
  ): Promise<PartialError | null> {
    const { clock, log } = this.#ports;
    const { state } = status;
    const nowMs = clock.nowMs();
    if (state.queuedUntilMs > nowMs) return state.trouble;
    if (!(await this.#leases.queued(target, status, nowMs + REFRESH_QUEUED_MS))) return state.trouble;
    const payload = JSON.stringify(target.partition);
    try {
      await jobs.enqueue(queue, { kind: REFRESH_KIND, payload, attemptsMax: REFRESH_ATTEMPTS_MAX });
      return state.trouble;
    } catch (error) {
      log.warn('refresh_not_queued', { source: target.partition.source, queue, reason: reasonOf(error) });
      await this.#leases.queued(target, await this.#leases.status(target), 0);
      return refreshFailureOf(error).trouble;
    }
  }

  async #refresh(
    undertaking: Undertaking,
    status: RefreshStatus,
    patience: RefreshPatience,
  ): Promise<PartialError | null> {
    const { count, clock, steadyClock = clock } = this.#ports;
    patience.begin();
    const lease = await this.#leases.lease(undertaking.target, status);
    if (lease === null) return this.#awaitOther(undertaking, status.state.trouble, patience);
    const startMs = steadyClock.nowMs();
    try {
      const atMs = await this.#query(undertaking, lease);
      if (atMs === null) return status.state.trouble;
      count(`sources:query:${undertaking.source.name}`, steadyClock.nowMs() - startMs);
      await this.#leases.succeed(lease, atMs, patience.isSpent);
      if (status.state.trouble !== null) await this.#tellErrors(lease, { ...lease.state, trouble: null });
      return null;
    } catch (error) {
      count(`sources:query_failed:${undertaking.source.name}`, steadyClock.nowMs() - startMs);
      return this.#fail(lease, error);
    }
  }

  /**
   * Whoever comes while another server is at it gets what that one gets; after a while, what is there. For one that
   * was waited for in vain nobody waits again; in the place of one that has died the backend is asked here.
   */
  async #awaitOther(
    undertaking: Undertaking,
    known: PartialError | null,
    patience: RefreshPatience,
  ): Promise<PartialError | null> {
    const { wait, clock, steadyClock = clock } = this.#ports;
    const { target } = undertaking;
    if (wait === undefined) return known;
    const endMs = steadyClock.nowMs() + REFRESH_AWAIT_MS_MAX;
    let status = await this.#leases.status(target);
    const { leaseWord } = status.state;
    while (status.state.leaseWord === leaseWord && status.state.leaseUntilMs > clock.nowMs()) {
      if (this.#leases.isAbandoned(status.state)) return this.#refresh(undertaking, status, patience);
      if (this.#inVain.has(leaseWord) || steadyClock.nowMs() >= endMs) return this.#giveUpOn(leaseWord);
      await wait(LOOK_EVERY_MS);
      status = await this.#leases.status(target);
    }
    return status.state.trouble;
  }

  #giveUpOn(leaseWord: string): PartialError {
    if (this.#inVain.size >= IN_VAIN_MAX) this.#inVain.clear();
    this.#inVain.add(leaseWord);
    return REFRESH_PENDING;
  }

  /** Asks, and writes what was answered. Answers when the query began; null: somebody else has the refresh by now. */
  async #query({ target, adapter }: Undertaking, lease: RefreshLease): Promise<number | null> {
    const { clock, head, replace } = this.#ports;
    const call = callFor(target.partition);
    const question = questionOf(target.partition);
    for (let count = 1; ; count++) {
      const atMs = clock.nowMs();
      const since = await head(call);
      try {
        await replace({ ...call, answer: await adapter.query(question), since, fence: lease.fence });
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
    const question = questionOf(lease.target.partition);
    const level = error instanceof LoggedFailure ? 'debug' : 'warn';
    this.#ports.log[level]('refresh_failed', { ...question, code: trouble.code, reason: reasonOf(error) });
    const state = await this.#leases.fail(lease, trouble, retryAfterMs);
    await this.#tellErrors(lease, state);
    return trouble;
  }

  async #tellErrors({ target }: RefreshLease, state: RefreshLease['state']): Promise<void> {
    try {
      await noteErrors(this.#ports.store, target, state);
    } catch (error) {
      this.#ports.log.warn('errors_not_noted', { source: target.partition.source, reason: reasonOf(error) });
    }
  }
}

/** A source or user that is gone needs no refresh any more. */
function goneIsNull(error: unknown): null {
  if (error instanceof Refusal && (error.code === 'source_not_found' || error.code === 'user_not_found')) return null;
  throw error;
}

/** A custom partition is nobody's own: what is asked for is the partition. */
function questionOf({ source, user }: PartitionKey): QueryCall {
  const partition = customNameOf(user);
  return partition === null ? { source, user } : { source, user: null, partition };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
