import { type Clock, type Log, newestFirstKey, type Store } from '@tidemark/core';
import { type ActivityHistoryPage, errorMessage, parseJson } from '@tidemark/protocol';
import type { Timers } from '../jobs/timers.ts';
import {
  HISTORY_CHUNK_EVENTS_MAX,
  HISTORY_CHUNK_MS,
  HISTORY_EVENT_UNITS_MAX,
  HISTORY_FLUSH_MS,
  HISTORY_SCAN_CHUNKS_MAX,
  HISTORY_UNWRITTEN_CHUNKS_MAX,
} from '../limits.ts';
import { type ActivityFact, type ActivityFilter, eventOf, matches } from './activity-filter.ts';
import { HistoryBudget, isFailure } from './history-budget.ts';

export interface ActivityHistoryParts {
  readonly store: Pick<Store, 'listEntries' | 'writeEntries' | 'readEntry'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Identifies this server among all servers of the installation. */
  readonly server: string;
  readonly keepHours: number;
  /** Events of all servers together. */
  readonly eventsMax: number;
}

export interface HistorySearch extends Omit<ActivityFilter, 'hasData'> {
  readonly isFailedOnly: boolean;
  /** A part of the event as JSON, in lower case; null: anything. */
  readonly text: string | null;
  /** The `next` of the previous page. */
  readonly after: string | null;
  readonly limit: number;
}

/** An event with a key that sorts newer ones first. */
type StoredEvent = readonly [key: string, event: ActivityFact];

/** An entry of the store: the events of one server within `HISTORY_CHUNK_MS`. */
interface Chunk {
  readonly key: string;
  readonly startMs: number;
  readonly events: StoredEvent[];
  /** Failures that were not kept, because there were too many, or because they could not be written. */
  leftOut: number;
}

type StoredChunk = Pick<Chunk, 'events' | 'leftOut'> & { readonly count: number };

const KIND = 'activity';
/** The entry that says up to when events were deleted because there were too many. It sorts after all chunks. */
const DROPPED_KEY = ['~dropped'];
const HOUR_MS = 3_600_000;
/** Chunks read at a time, so that the event loop can do other work in between. */
const READ_STEP = 10;
const TIME_UNITS = 9;
const COUNT_UNITS = 6;
const NO_FLUSH = (): void => undefined;

/**
 * What happened on all servers within the last hours, in the store. Each server writes chunks of its own: the current one
 * is written again every few seconds while events arrive, until it is full or old.
 */
export class ActivityHistory {
  readonly #parts: ActivityHistoryParts;
  readonly #budget = new HistoryBudget();
  #chunk: Chunk | null = null;
  /** Chunks before it that are not written yet, oldest first. */
  #unwritten: readonly Chunk[] = [];
  #lastEvent = 0;
  #cancelFlush = NO_FLUSH;
  #isFlushPlanned = false;
  /** The flush that is under way; null: none. */
  #flushing: Promise<void> | null = null;
  /** True: a flush has been asked for since the last one began. */
  #isFlushWanted = false;
  #isStoreAway = false;

  constructor(parts: ActivityHistoryParts) {
    this.#parts = parts;
  }

  /** Whether an event about a success would be kept now. Callers check it before they build one. */
  get takesSamples(): boolean {
    return this.#budget.hasSampleLeft(this.#parts.clock.nowMs());
  }

  /** Keeps the event, or counts a failure as left out. */
  add(fact: ActivityFact, stamp: object, nowMs: number): void {
    const event = eventOf(fact, stamp);
    const isKept = this.#budget.take(fact, nowMs) && JSON.stringify(event).length <= HISTORY_EVENT_UNITS_MAX;
    // What succeeded is a sample: only failures are missed.
    if (!isKept && !isFailure(fact)) return;
    const chunk = this.#chunkAt(nowMs);
    if (isKept) chunk.events.push([this.#newKey(nowMs), event]);
    else chunk.leftOut++;
    this.#planFlush();
  }

  /** Writes what has not been written yet. */
  async close(): Promise<void> {
    this.#cancelFlush();
    // Nothing is tried again after the end.
    this.#isFlushPlanned = true;
    await this.#flush();
  }

  /** Returns the events that match, newest first. It reads `HISTORY_SCAN_CHUNKS_MAX` chunks at most. */
  async search(search: HistorySearch): Promise<ActivityHistoryPage> {
    const found = new Map<string, ActivityFact>();
    const leftOut = new Map<string, number>();
    const fromMs = this.#parts.clock.nowMs() - this.#parts.keepHours * HOUR_MS;
    const isPast = (key: string) => search.after === null || key > search.after;
    const add = (chunkKey: string, chunk: Pick<Chunk, 'events' | 'leftOut'>) => {
      if (isPast(chunkKey)) leftOut.set(chunkKey, Math.max(chunk.leftOut, leftOut.get(chunkKey) ?? 0));
      for (const [key, event] of chunk.events) {
        if (isPast(key) && timeOf(key) >= fromMs && isWanted(search, event)) found.set(key, event);
      }
    };
    // Events that are not written yet are in memory only.
    for (const chunk of this.#chunksInMemory()) add(chunk.key, chunk);
    const floorMs = await this.#readChunks(search, found, add);
    const all = [...found].sort(([one], [other]) => (one < other ? -1 : 1));
    const final = all.filter(([key]) => floorMs === null || timeOf(key) >= floorMs).slice(0, search.limit);
    const isCut = final.length < all.length || floorMs !== null;
    const last = final.length === search.limit ? final.at(-1)?.[0] : undefined;
    const next = isCut ? (last ?? `${newestFirstKey(floorMs ?? 0)}~`) : null;
    // What a chunk has left out belongs to one page only: the one that its beginning is on.
    const ofPage = [...leftOut].filter(([key]) => next === null || key <= next);
    return {
      events: final.map(([, event]) => event as ActivityHistoryPage['events'][number]),
      next,
      complete_from: new Date(Math.max(fromMs, await this.#droppedBeforeMs())).toISOString(),
      left_out: ofPage.reduce((sum, [, count]) => sum + count, 0),
    };
  }

  /** Deletes chunks that are too old, or too many. Another server may do so at the same time. */
  async trim(nowMs: number, mayGoOn: () => Promise<boolean> = async () => true): Promise<void> {
    const oldestMs = nowMs - this.#parts.keepHours * HOUR_MS - HISTORY_CHUNK_MS;
    let total = 0;
    for await (const { key, chunk } of this.#chunks(undefined)) {
      total += chunk.count;
      const isOld = timeOf(key) < oldestMs;
      if (!isOld && total <= this.#parts.eventsMax) continue;
      if (!(await mayGoOn())) return;
      const dropped = { kind: KIND, key: DROPPED_KEY, value: JSON.stringify(timeOf(key) + HISTORY_CHUNK_MS) } as const;
      const gone = { kind: KIND, key: [key], value: null } as const;
      const isFirst = total - chunk.count <= this.#parts.eventsMax;
      // Chunks are deleted newest first from here on, so the first one says up to when events are missing.
      const writes = !isOld && isFirst ? [dropped, gone] : [gone];
      await this.#parts.store.writeEntries({ writes, guards: [] });
    }
  }

  /**
   * Reads chunks until no unread one can hold an event newer than the last of the page. Returns the time down to which all
   * events are known; null: there are no more.
   */
  async #readChunks(
    { after, limit }: HistorySearch,
    found: ReadonlyMap<string, unknown>,
    add: (key: string, chunk: StoredChunk) => void,
  ): Promise<number | null> {
    // An event is in a chunk that started before it.
    const start = after === null ? undefined : `${newestFirstKey(timeOf(after) + 1)}~`;
    let scanned = 0;
    for await (const { key, chunk } of this.#chunks(start)) {
      add(key, chunk);
      scanned++;
      const floorMs = timeOf(key) + HISTORY_CHUNK_MS;
      const isEnough = scanned % READ_STEP === 0 && countAbove(found, floorMs) >= limit;
      if (!isEnough && scanned < HISTORY_SCAN_CHUNKS_MAX) continue;
      // Many servers may have more chunks of the same minutes; then the order is given up, and not the end of the search.
      const isStuck = after !== null && floorMs >= timeOf(after);
      return isStuck ? Math.min(timeOf(key), timeOf(after) - 1) : floorMs;
    }
    return null;
  }

  async *#chunks(start: string | undefined): AsyncGenerator<{ readonly key: string; readonly chunk: StoredChunk }> {
    let after = start;
    for (;;) {
      const from = after === undefined ? {} : { after: [after] };
      const entries = await this.#parts.store.listEntries({ kind: KIND, prefix: [], limit: READ_STEP, ...from });
      for (const { key, value } of entries) {
        after = key[0] ?? '';
        if (after !== DROPPED_KEY[0]) yield { key: after, chunk: parseJson(value) as StoredChunk };
      }
      if (entries.length < READ_STEP) return;
    }
  }

  async #droppedBeforeMs(): Promise<number> {
    const entry = await this.#parts.store.readEntry({ kind: KIND, key: DROPPED_KEY });
    return entry === null ? 0 : Number(entry.value);
  }

  #chunkAt(nowMs: number): Chunk {
    const current = this.#chunk;
    const isOver =
      current === null ||
      current.events.length >= HISTORY_CHUNK_EVENTS_MAX ||
      // No event is older than its chunk, also when the clock was set back: pages depend on it.
      nowMs < current.startMs ||
      nowMs - current.startMs >= HISTORY_CHUNK_MS;
    if (!isOver) return current;
    const before = this.#chunksInMemory();
    const tooMany = before.slice(0, -HISTORY_UNWRITTEN_CHUNKS_MAX);
    const leftOut = tooMany.reduce((sum, chunk) => sum + failuresIn(chunk), 0);
    this.#unwritten = before.slice(-HISTORY_UNWRITTEN_CHUNKS_MAX);
    this.#chunk = { key: this.#newKey(nowMs), startMs: nowMs, events: [], leftOut };
    if (this.#unwritten.length > 0) void this.#flush();
    return this.#chunk;
  }

  #chunksInMemory(): readonly Chunk[] {
    return this.#chunk === null ? this.#unwritten : [...this.#unwritten, this.#chunk];
  }

  #newKey(atMs: number): string {
    const count = (this.#lastEvent++).toString(36).padStart(COUNT_UNITS, '0');
    return `${newestFirstKey(atMs)}-${this.#parts.server}-${count}`;
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    this.#cancelFlush = this.#parts.timers.after(HISTORY_FLUSH_MS, () => {
      this.#isFlushPlanned = false;
      void this.#flush();
    });
  }

  /**
   * Writes what is in memory, also what arrived during a flush that is under way. There is one flush at a time: an older
   * write of a chunk must not arrive after a newer one.
   */
  #flush(): Promise<void> {
    this.#isFlushWanted = true;
    this.#flushing ??= this.#flushWhileWanted();
    return this.#flushing;
  }

  async #flushWhileWanted(): Promise<void> {
    while (this.#isFlushWanted) {
      this.#isFlushWanted = false;
      await this.#writeChunks();
    }
    // In the same turn as the check above: a flush that is asked for from now on is a new one.
    this.#flushing = null;
  }

  /** Writes all chunks that are in memory, oldest first. Those that cannot be written are tried again later. */
  async #writeChunks(): Promise<void> {
    for (const chunk of this.#chunksInMemory()) {
      // The current chunk may get more events while it is written.
      const isFinal = chunk !== this.#chunk;
      if (!(await this.#write(chunk))) return this.#planFlush();
      if (isFinal) this.#unwritten = this.#unwritten.filter((one) => one !== chunk);
    }
  }

  async #write({ key, events, leftOut }: Chunk): Promise<boolean> {
    const value = JSON.stringify({ count: events.length, leftOut, events });
    try {
      await this.#parts.store.writeEntries({ writes: [{ kind: KIND, key: [key], value }], guards: [] });
      this.#isStoreAway = false;
      return true;
    } catch (error) {
      if (!this.#isStoreAway) this.#parts.log.warn('activity_history_not_written', { reason: errorMessage(error) });
      this.#isStoreAway = true;
      return false;
    }
  }
}

function failuresIn({ events, leftOut }: Chunk): number {
  return leftOut + events.filter(([, event]) => isFailure(event)).length;
}

/** Returns the time in a key, which `newestFirstKey` has made. */
function timeOf(key: string): number {
  return 36 ** TIME_UNITS - 1 - Number.parseInt(key.slice(0, TIME_UNITS), 36);
}

function countAbove(found: ReadonlyMap<string, unknown>, floorMs: number): number {
  let count = 0;
  for (const key of found.keys()) if (timeOf(key) >= floorMs) count++;
  return count;
}

function isWanted(search: HistorySearch, event: ActivityFact): boolean {
  if (!matches({ ...search, hasData: false }, event) || (search.isFailedOnly && !isFailure(event))) return false;
  return search.text === null || JSON.stringify(event).toLowerCase().includes(search.text);
}
