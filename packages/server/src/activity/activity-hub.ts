import type { ServerResponse } from 'node:http';
import type { Bearers, Clock, Log } from '@tidemark/core';
import { errorMessage, Refusal } from '@tidemark/protocol';
import type { Timers } from '../jobs/timers.ts';
import {
  ACTIVITY_BATCH_EVENTS_MAX,
  ACTIVITY_BATCH_UNITS_MAX,
  ACTIVITY_DATA_UNITS_MAX,
  ACTIVITY_EVENTS_PER_WINDOW_MAX,
  ACTIVITY_STREAMS_MAX,
  ACTIVITY_STREAMS_PER_TOKEN_MAX,
  ACTIVITY_WINDOW_MS,
} from '../limits.ts';
import { type ActivityFact, type ActivityFilter, eventOf, matches } from './activity-filter.ts';
import type { ActivityHistory } from './activity-history.ts';
import { type ActivityReader, ActivityStream, EventBudget, eventText } from './activity-stream.ts';

export interface ActivityHubParts {
  /** Identifies this server among all servers of the installation. */
  readonly server: string;
  readonly bearers: Pick<Bearers, 'isGood'>;
  /** The time of day, for events and tokens. */
  readonly clock: Clock;
  readonly steadyClock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Keeps what happens; null: nothing is kept. */
  readonly history: Pick<ActivityHistory, 'add' | 'takesSamples'> | null;
  /** Sends a message to all other servers. */
  readonly tell: (hint: ActivityHint) => void;
}

/** A stream at another server. */
export interface RemoteWatch {
  readonly id: string;
  readonly filter: ActivityFilter;
}

/** An event for streams at other servers. Those in `withData` get `data`, too. */
interface ForwardedEvent {
  readonly json: string;
  readonly to: readonly string[];
  readonly data?: string;
  readonly withData: readonly string[];
}

/** What servers tell each other about activity. */
export type ActivityHint =
  /** All streams of the server; they expire unless it repeats them. */
  | { readonly kind: 'watching'; readonly server: string; readonly watches: readonly RemoteWatch[] }
  | {
      readonly kind: 'activity';
      readonly events: readonly ForwardedEvent[];
      /** Events that were dropped, by stream. */
      readonly dropped: readonly (readonly [id: string, count: number])[];
    };

interface Watcher extends RemoteWatch {
  readonly budget: EventBudget;
  dropped: number;
}

interface RemoteServer {
  readonly watchers: readonly Watcher[];
  seenAtMs: number;
}

interface PublishOptions {
  /** Null: no request caused it. */
  readonly requestId: string | null;
  /** Returns the data of the objects; only called if a reader wants it. */
  readonly data?: (() => unknown) | undefined;
}

/** How often a server repeats which streams it has, and checks those it knows of. */
const TICK_MS = 5_000;
/** A server that was silent for so long has no streams any more. */
const EXPIRES_AFTER_MS = 15_000;
const SERVERS_MAX = 1_024;
const RETRY_AFTER_S = 5;
const NO_JOB = (): void => undefined;

/**
 * Shows what happens on all servers to readers at any of them. Events are sent only while somebody reads, are matched with
 * the filters of all readers before anything is serialised, and are bounded per reader and server: what exceeds the
 * bound is counted, not queued.
 */
export class ActivityHub {
  readonly #parts: ActivityHubParts;
  readonly #streams = new Map<string, ActivityStream>();
  readonly #servers = new Map<string, RemoteServer>();
  #remote: readonly Watcher[] = [];
  #forwarded: ForwardedEvent[] = [];
  #forwardedUnits = 0;
  #lastId = 0;
  #cancelTick = NO_JOB;
  #cancelForward = NO_JOB;
  #isForwarding = false;
  #isTicking = false;
  #isClosed = false;

  constructor(parts: ActivityHubParts) {
    this.#parts = parts;
  }

  /** True if anybody reads at any server. */
  get isWatched(): boolean {
    return this.#streams.size > 0 || this.#remote.length > 0;
  }

  /**
   * True if anybody reads, or the history keeps a sample. Callers check it before they build a fact about a success; failures
   * are always published.
   */
  get wantsSuccesses(): boolean {
    return this.isWatched || this.#parts.history?.takesSamples === true;
  }

  /** The number of streams at this server. */
  get size(): number {
    return this.#streams.size;
  }

  /** Refuses if there are too many streams, of the reader's token or of all. To be called before the answer is started. */
  requireRoom({ tokenHash }: Pick<ActivityReader, 'tokenHash'>): void {
    const refusal = this.#refusalOf(tokenHash);
    if (refusal !== null) throw refusal;
  }

  #refusalOf(tokenHash: string): Refusal | null {
    if (this.#isClosed) return new Refusal('overloaded', 'the server is stopping', [], RETRY_AFTER_S);
    const ofToken = [...this.#streams.values()].filter(({ reader }) => reader.tokenHash === tokenHash).length;
    if (ofToken >= ACTIVITY_STREAMS_PER_TOKEN_MAX) {
      const detail = `${ACTIVITY_STREAMS_PER_TOKEN_MAX} activity streams of this token are open at this server already`;
      return new Refusal('rate_limited', detail, [], RETRY_AFTER_S);
    }
    if (this.#streams.size < ACTIVITY_STREAMS_MAX) return null;
    const detail = `${ACTIVITY_STREAMS_MAX} activity streams are open at this server already`;
    return new Refusal('overloaded', detail, [], RETRY_AFTER_S);
  }

  /**
   * Sends events to the reader from now on, after the recent ones, oldest first. A stream that finds no room, because others
   * have opened since `requireRoom`, ends at once. Returns the function to call when the reader is gone.
   */
  open(
    reader: ActivityReader,
    filter: ActivityFilter,
    response: ServerResponse,
    recent: readonly object[] = [],
  ): () => void {
    const id = `${this.#parts.server}.${++this.#lastId}`;
    const stream = new ActivityStream(id, reader, filter, response);
    const hasRoom = this.#refusalOf(reader.tokenHash) === null;
    if (hasRoom) this.#streams.set(id, stream);
    const perSecond = (ACTIVITY_EVENTS_PER_WINDOW_MAX * 1_000) / ACTIVITY_WINDOW_MS;
    const ready = { server: this.#parts.server, events_per_s_max: perSecond, heartbeat_s: TICK_MS / 1_000 };
    stream.sendFirst([
      ['ready', JSON.stringify(ready)],
      ...recent.map((event) => ['activity', JSON.stringify(event)] as const),
    ]);
    if (!hasRoom) stream.end();
    this.#announce();
    this.#scheduleTick();
    return () => {
      if (this.#streams.delete(id)) this.#announce();
    };
  }

  /** Shows the fact to all readers that want it, and keeps it. */
  publish(fact: ActivityFact, { requestId, data }: PublishOptions): void {
    const atMs = this.#parts.clock.nowMs();
    const stamp = { ...this.#stamp(atMs), request_id: requestId };
    this.#parts.history?.add(fact, stamp, atMs);
    if (!this.isWatched) return;
    const event = new LazyEvent(fact, stamp, data);
    const nowMs = this.#parts.steadyClock.nowMs();
    for (const stream of this.#streams.values()) {
      if (!matches(stream.filter, fact) || !stream.admits(nowMs)) continue;
      stream.send('activity', stream.filter.hasData ? event.jsonWithData : event.json);
    }
    if (this.#remote.length > 0) this.#forward(fact, event, nowMs);
  }

  /** Applies a message of another server. */
  receive(hint: ActivityHint): void {
    if (hint.kind === 'watching') this.#receiveWatches(hint.server, hint.watches);
    else this.#receiveEvents(hint);
  }

  /** Ends the streams whose token is not valid any more. Null: tokens of any user may have ended. */
  async recheck(user: string | null): Promise<void> {
    const { bearers, clock, log } = this.#parts;
    try {
      for (const stream of [...this.#streams.values()]) {
        if (user !== null && stream.reader.user !== user) continue;
        if (!(await bearers.isGood(stream.reader.tokenHash, clock.nowMs()))) stream.end(TOKEN_ENDED);
      }
    } catch (error) {
      // The next tick checks again.
      log.warn('recheck_failed', { reason: errorMessage(error) });
    }
  }

  /** Ends all streams. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTick();
    this.#cancelForward();
    for (const stream of this.#streams.values()) stream.end();
  }

  #stamp(atMs: number): { readonly at: string; readonly server: string } {
    return { at: new Date(atMs).toISOString(), server: this.#parts.server };
  }

  #forward(fact: ActivityFact, event: LazyEvent, nowMs: number): void {
    const watchers = this.#remote.filter(({ filter }) => matches(filter, fact));
    if (watchers.length === 0) return;
    const isFull =
      this.#forwarded.length >= ACTIVITY_BATCH_EVENTS_MAX || this.#forwardedUnits >= ACTIVITY_BATCH_UNITS_MAX;
    const admitted = watchers.filter((watcher) => {
      const isAdmitted = !isFull && watcher.budget.take(nowMs);
      if (!isAdmitted) watcher.dropped++;
      return isAdmitted;
    });
    this.#scheduleForward();
    if (admitted.length === 0) return;
    const withData = admitted.filter(({ filter }) => filter.hasData).map(({ id }) => id);
    const to = admitted.filter(({ filter }) => !filter.hasData).map(({ id }) => id);
    const forwarded = { json: event.json, to, withData, ...(withData.length > 0 ? { data: event.jsonWithData } : {}) };
    this.#forwardedUnits += forwarded.json.length + (forwarded.data?.length ?? 0);
    this.#forwarded.push(forwarded);
  }

  #scheduleForward(): void {
    if (this.#isForwarding || this.#isClosed) return;
    this.#isForwarding = true;
    this.#cancelForward = this.#parts.timers.after(ACTIVITY_WINDOW_MS, () => {
      this.#isForwarding = false;
      const dropped = this.#remote.filter((watcher) => watcher.dropped > 0);
      const counts = dropped.map((watcher) => [watcher.id, watcher.dropped] as const);
      for (const watcher of dropped) watcher.dropped = 0;
      const events = this.#forwarded;
      this.#forwarded = [];
      this.#forwardedUnits = 0;
      if (events.length + counts.length > 0) this.#parts.tell({ kind: 'activity', events, dropped: counts });
    });
  }

  #receiveEvents({ events, dropped }: Extract<ActivityHint, { kind: 'activity' }>): void {
    const nowMs = this.#parts.steadyClock.nowMs();
    for (const [id, count] of dropped) this.#streams.get(id)?.drop(count);
    const send = (id: string, json: string) => {
      const stream = this.#streams.get(id);
      if (stream?.admits(nowMs) === true) stream.send('activity', json);
    };
    for (const { json, to, data, withData } of events) {
      for (const id of to) send(id, json);
      for (const id of withData) send(id, data ?? json);
    }
  }

  #receiveWatches(server: string, watches: readonly RemoteWatch[]): void {
    const before = this.#servers.get(server);
    if (before === undefined && (this.#servers.size >= SERVERS_MAX || watches.length === 0)) return;
    const known = new Map(before?.watchers.map((watcher) => [watcher.id, watcher]));
    const watchers = watches.map(
      (watch): Watcher => known.get(watch.id) ?? { ...watch, budget: new EventBudget(), dropped: 0 },
    );
    if (watchers.length === 0) this.#servers.delete(server);
    else this.#servers.set(server, { watchers, seenAtMs: this.#parts.steadyClock.nowMs() });
    this.#collectRemote();
    this.#scheduleTick();
  }

  #collectRemote(): void {
    this.#remote = [...this.#servers.values()].flatMap(({ watchers }) => watchers);
  }

  #announce(): void {
    const watches = [...this.#streams.values()].map(({ id, filter }) => ({ id, filter }));
    this.#parts.tell({ kind: 'watching', server: this.#parts.server, watches });
  }

  /** Ticks only while somebody reads, here or elsewhere. */
  #scheduleTick(): void {
    if (this.#isTicking || this.#isClosed || !this.isWatched) return;
    this.#isTicking = true;
    this.#cancelTick = this.#parts.timers.after(TICK_MS, () => {
      this.#isTicking = false;
      this.#tick();
      this.#scheduleTick();
    });
  }

  #tick(): void {
    const nowMs = this.#parts.steadyClock.nowMs();
    for (const [server, { seenAtMs }] of this.#servers) {
      if (nowMs - seenAtMs > EXPIRES_AFTER_MS) this.#servers.delete(server);
    }
    this.#collectRemote();
    if (this.#streams.size === 0) return;
    this.#announce();
    for (const stream of this.#streams.values()) stream.beat();
    void this.recheck(null);
  }
}

/** Serialises an event at most once with and once without its data. */
class LazyEvent {
  readonly #event: object;
  readonly #data: (() => unknown) | undefined;
  #json: string | null = null;
  #jsonWithData: string | null = null;

  constructor(fact: ActivityFact, stamp: object, data: (() => unknown) | undefined) {
    this.#event = eventOf(fact, stamp);
    this.#data = data;
  }

  get json(): string {
    this.#json ??= JSON.stringify(this.#event);
    return this.#json;
  }

  get jsonWithData(): string {
    if (this.#data === undefined) return this.json;
    this.#jsonWithData ??= `${this.json.slice(0, -1)},"data":${boundedJson(this.#data())}}`;
    return this.#jsonWithData;
  }
}

function boundedJson(data: unknown): string {
  const json = JSON.stringify(data) ?? 'null';
  return json.length > ACTIVITY_DATA_UNITS_MAX ? 'null' : json;
}

const TOKEN_ENDED = eventText('ended', JSON.stringify({ code: 'token_invalid' }));
