import {
  FILTER_READ_OBJECTS_MAX,
  FILTER_READ_UNITS_MAX,
  type Limits,
  pointer,
  Refusal,
  SORTED_BYTES_MAX,
  SORTED_NEW_SLICES_MAX,
  SORTED_OBJECTS_MAX,
} from '@tidemark/protocol';
import { nameText } from '../journal/attribute-texts.ts';
import { ObjectRecord } from '../journal/record.ts';
import type { Pace } from '../ports/pace.ts';
import type { JournalSlice, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { FirstRows } from './first-rows.ts';
import { ObjectFields, type WantedAttributes } from './object-fields.ts';
import { joinWanted, type ObjectFilter } from './object-filter.ts';
import { type ObjectOrder, parseCursor, type SortKey } from './object-order.ts';

export interface FindCall {
  /** Null: all objects match. */
  readonly filter: ObjectFilter | null;
  readonly order: ObjectOrder;
  /** The `next` of the previous page. */
  readonly after: string | undefined;
  readonly rowsMax: number;
  /** Returns true when nobody waits for the answer any more. */
  readonly isOver: () => boolean;
}

export interface FindPorts {
  readonly store: Store;
  readonly limits: Limits;
  readonly pace: Pace;
  /** Absent: those of the limits of the protocol. */
  readonly bounds?: FindBounds;
}

/** How much one page may read. */
export interface FindBounds {
  readonly readObjectsMax: number;
  readonly readUnitsMax: number;
  readonly sortedObjectsMax: number;
  readonly sortedBytesMax: number;
  /** Slices that a sorted list reads of what is written while it is made. */
  readonly newSlicesMax: number;
}

const BOUNDS: FindBounds = {
  readObjectsMax: FILTER_READ_OBJECTS_MAX,
  readUnitsMax: FILTER_READ_UNITS_MAX,
  sortedObjectsMax: SORTED_OBJECTS_MAX,
  sortedBytesMax: SORTED_BYTES_MAX,
  newSlicesMax: SORTED_NEW_SLICES_MAX,
};

/** Read between two pauses for the event loop: a few milliseconds of work. */
const SLICE_ENTRIES = 500;
const SLICE_UNITS = 200_000;
const RETRY_AFTER_S = 10;
/** A pass starts over only after a reset or a restore. */
const PASSES_MAX = 5;
/** Rows of the page that are read at a time. */
const ROWS_CHUNK = 100;

/**
 * Returns a page of the objects that match, as JSON text. It reads the journal in slices with pauses in between, and keeps
 * only the rows of the page. A sorted list reads all objects for every page, because nothing is indexed by attributes; a list
 * in the order of the last change ends when the page is full, or when it has read so much that `next` leads to the rest.
 * A filter that names ids reads these objects alone.
 */
export async function findObjects(ports: FindPorts, partition: PartitionKey, call: FindCall): Promise<string> {
  if (!call.order.isOfJournal && (call.filter?.ids ?? null) === null) await requireSortable(ports, partition);
  const search = new ObjectSearch(ports, call);
  const { state, next } = await search.run(partition);
  const objects = await search.readRows(partition);
  const counts = `"matches":${search.matches},"read":${search.read}`;
  return `{"size":${state.size},"head":${state.head},"objects":[${objects.join(',')}],"next":${next},${counts}}`;
}

/** A sorted page of a part of the objects would be wrong, so it is refused before anything is read. */
async function requireSortable({ store, bounds = BOUNDS }: FindPorts, partition: PartitionKey): Promise<void> {
  const { sortedObjectsMax, sortedBytesMax } = bounds;
  const [size, bytes] = await Promise.all([store.size(partition), store.bytes(partition)]);
  if (size <= sortedObjectsMax && bytes <= sortedBytesMax) return;
  const most = `${sortedObjectsMax} objects and ${sortedBytesMax} bytes`;
  const detail = `sorts at most ${most}, and there are ${size} objects of ${bytes} bytes; leave it out, and filter instead`;
  throw new Refusal('limit_exceeded', `sort ${detail}`, [{ pointer: pointer('sort'), detail }]);
}

interface SearchEnd {
  readonly state: PartitionState;
  /** As JSON text. */
  readonly next: string;
}

/** One pass over the journal of a partition. */
class ObjectSearch {
  readonly #ports: FindPorts;
  readonly #call: FindCall;
  readonly #wanted: WantedAttributes;
  readonly #after: SortKey | number | null;
  readonly #first: FirstRows;
  #read = 0;
  #readUnits = 0;
  #matches = 0;
  #isWhole = false;

  constructor(ports: FindPorts, call: FindCall) {
    const { filter, order, after, rowsMax } = call;
    this.#ports = ports;
    this.#call = call;
    this.#wanted = joinWanted([...(filter === null ? [] : [filter.wanted]), order.wanted]);
    this.#after = after === undefined ? null : order.isOfJournal ? seqIn(after) : parseCursor(after);
    this.#first = new FirstRows({ compare: order.compare, rowsMax, unitsMax: ports.limits.pageUnitsMax });
  }

  /** How many objects were read. */
  get read(): number {
    return this.#read;
  }

  /** How many objects match; null: not all were read. */
  get matches(): number | null {
    return this.#isWhole ? this.#matches : null;
  }

  async run(partition: PartitionKey): Promise<SearchEnd> {
    const ids = this.#call.filter?.ids ?? null;
    for (let passes = 0; passes < PASSES_MAX; passes++) {
      const end = await (ids === null ? this.#pass(partition) : this.#readNamed(partition, [...ids]));
      if (end !== null) return end;
      this.#startOver();
    }
    throw new Refusal('store_unavailable', 'the data kept being replaced while it was read');
  }

  /** Null: the partition was replaced meanwhile. */
  async #pass(partition: PartitionKey): Promise<SearchEnd | null> {
    const { store, pace } = this.#ports;
    const begin = typeof this.#after === 'number' ? this.#after : 0;
    const before = await store.partition(partition);
    for (let [after, newSlices] = [begin, 0]; ; ) {
      const tombstonesAfter = Math.max(before.head, after);
      const range = { after, tombstonesAfter, entriesMax: SLICE_ENTRIES, unitsMax: SLICE_UNITS };
      const slice = await store.readJournal(partition, range);
      if (slice.state.epoch !== before.epoch) return null;
      this.#take(slice, before.head);
      after = slice.upTo;
      if (after > before.head) newSlices++;
      const isAtEnd = after >= slice.state.head;
      if (!isAtEnd) this.#requireProgress(newSlices);
      if (isAtEnd || this.#isFull()) {
        this.#isWhole = isAtEnd && begin === 0;
        return { state: slice.state, next: this.#next(isAtEnd ? null : after) };
      }
      await pace.turn();
    }
  }

  /** Reads objects by the index. Null: the partition was replaced meanwhile. */
  async #readNamed(partition: PartitionKey, ids: readonly string[]): Promise<SearchEnd | null> {
    const { store, pace } = this.#ports;
    const before = await store.partition(partition);
    for (let start = 0; start < ids.length; start += SLICE_ENTRIES) {
      const { state, objects } = await store.readObjects(partition, ids.slice(start, start + SLICE_ENTRIES));
      if (state.epoch !== before.epoch) return null;
      for (const { record, seq } of objects.values()) if (record !== null) this.#takeOne(record, seq, before.head);
      await pace.turn();
    }
    this.#isWhole = this.#after === null;
    return { state: before, next: this.#next(null) };
  }

  /**
   * Refuses a sorted list that never ends, because objects are written faster than it reads. An object that moved to the
   * part that was not read would be missing. A list in the order of the journal says where it goes on instead.
   */
  #requireProgress(newSlices: number): void {
    const { newSlicesMax } = this.#ports.bounds ?? BOUNDS;
    if (this.#call.order.isOfJournal || newSlices < newSlicesMax) return;
    const detail = 'objects change faster than they are sorted; try again later, or leave sort out';
    throw new Refusal('overloaded', detail, [], RETRY_AFTER_S);
  }

  /** Reads the rows of the page again, as JSON text. Those that match no longer are left out. */
  async readRows(partition: PartitionKey): Promise<readonly string[]> {
    const { store, pace } = this.#ports;
    const ids = this.#first.rows.map(({ key }) => key[2]);
    const texts: string[] = [];
    for (let start = 0; start < ids.length; start += ROWS_CHUNK) {
      const chunk = ids.slice(start, start + ROWS_CHUNK);
      const { objects } = await store.readObjects(partition, chunk);
      for (const id of chunk) {
        const { record = null, seq = 0 } = objects.get(id) ?? {};
        if (record !== null && this.#isMatch(new ObjectFields(record, seq, this.#wanted))) {
          texts.push(listedObject(record, seq));
        }
      }
      await pace.turn();
    }
    return texts;
  }

  #take({ records, seqs }: JournalSlice, headBefore: number): void {
    for (const [index, record] of records.entries()) this.#takeOne(record, seqs[index] ?? 0, headBefore);
  }

  #takeOne(record: string, seq: number, headBefore: number): void {
    const object = new ObjectFields(record, seq, this.#wanted);
    this.#read++;
    this.#readUnits += record.length;
    // What was written since the beginning may have been read before, as it was then.
    if (object.seq > headBefore) this.#first.remove(object.id);
    if (!this.#isMatch(object)) return;
    this.#matches++;
    const key = this.#call.order.keyOf(object);
    if (this.#isAfter(key, seq)) this.#first.add({ key, units: record.length });
  }

  #isMatch(object: ObjectFields): boolean {
    return this.#call.filter?.matches(object) !== false;
  }

  #isAfter(key: SortKey, seq: number): boolean {
    if (this.#after === null) return true;
    return typeof this.#after === 'number' ? seq > this.#after : this.#call.order.compare(key, this.#after) > 0;
  }

  /** Whether no more is to be read. The first page without another order counts the matches, as far as it may read. */
  #isFull(): boolean {
    const { order, isOver } = this.#call;
    if (isOver()) return true;
    if (!order.isOfJournal) return false;
    const { readObjectsMax, readUnitsMax } = this.#ports.bounds ?? BOUNDS;
    if (this.#read >= readObjectsMax || this.#readUnits >= readUnitsMax) return true;
    return this.#first.hasMore && this.#after !== null;
  }

  /** Where the next page begins, as JSON text. `readUpTo` is null when everything was read. */
  #next(readUpTo: number | null): string {
    const last = this.#first.end ?? this.#after;
    if (this.#call.order.isOfJournal) {
      const seq = typeof last === 'number' || last === null ? last : last[1];
      return JSON.stringify(this.#first.hasMore ? seq : readUpTo);
    }
    return JSON.stringify(this.#first.hasMore ? JSON.stringify(last) : null);
  }

  #startOver(): void {
    this.#first.clear();
    this.#read = 0;
    this.#readUnits = 0;
    this.#matches = 0;
  }
}

/** Reads the `next` of a page in the order of the last change. */
export function seqIn(after: string): number {
  if (/^[0-9]{1,15}$/.test(after)) return Number(after);
  const detail = 'must be a whole number';
  throw new Refusal('invalid_request', `after ${detail}`, [{ pointer: pointer('after'), detail }]);
}

/** Returns an object of a list as JSON text, with the seqs at which its attributes changed. */
export function listedObject(record: string, seq: number): string {
  const { id, attributes, marks } = new ObjectRecord(record, seq);
  const changed = [...marks.touched, ...marks.gone].map(([name, at]) => `${nameText(name)}:${at}`);
  const head = `"id":${JSON.stringify(id)},"seq":${seq},"created_seq":${marks.born}`;
  return `{${head},"changed":{${changed.join(',')}},"attributes":${attributes.text}}`;
}
