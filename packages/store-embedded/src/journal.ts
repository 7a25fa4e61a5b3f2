import type {
  JournalRange,
  JournalSlice,
  ObjectsRead,
  PartitionKey,
  PartitionState,
  StoredObject,
} from '@tidemark/core';
import { NUMBER_MAX, type Place, placesAfter } from './keys.ts';
import { type KeptPartition, keptPartition, stateOf } from './partitions.ts';
import { type Standing, standingOf } from './standings.ts';
import type { Tables } from './tables.ts';

export function readObjects(tables: Tables, key: PartitionKey, ids: readonly string[]): ObjectsRead {
  const kept = keptPartition(tables, key);
  const objects = new Map<string, StoredObject>();
  if (kept !== null) {
    for (const id of ids) {
      const standing = standingOf(tables, kept.number, id);
      if (standing !== null) objects.set(id, { seq: standing.seq, record: recordAt(tables, kept.number, standing) });
    }
  }
  return { state: stateOf(tables, kept), objects };
}

function recordAt(tables: Tables, partition: number, { seq, isLive }: Standing): string | null {
  if (!isLive) return null;
  const record = tables.live.get([partition, seq]);
  if (record === undefined) throw new Error(`the record at seq ${seq} is missing; run verify`);
  return record;
}

/** Live records and tombstones lie in two ranges; a slice merges them by seq until a bound is met. */
export function readJournal(tables: Tables, key: PartitionKey, range: JournalRange): JournalSlice {
  const kept = keptPartition(tables, key);
  const state = stateOf(tables, kept);
  const slice = new SliceBuilder(range);
  if (kept === null || range.after >= kept.head) return slice.whole(state);
  const graves = new GraveCursor(tables, kept, Math.max(range.after, range.gravesAfter));
  try {
    for (const { key: place, value } of tables.live.getRange(placesAfter(kept.number, range.after))) {
      const seq = place[1];
      if (!buryBefore(seq, graves, slice) || !slice.addRecord(seq, value)) return slice.cut(state);
    }
    return buryBefore(NUMBER_MAX, graves, slice) ? slice.whole(state) : slice.cut(state);
  } finally {
    graves.close();
  }
}

/** Adds the tombstones below `seq`. False: there was no room for all of them. */
function buryBefore(seq: number, graves: GraveCursor, slice: SliceBuilder): boolean {
  while (graves.seq < seq) {
    if (!slice.addGrave(graves.seq, graves.id)) return false;
    graves.advance();
  }
  return true;
}

class SliceBuilder {
  readonly #range: JournalRange;
  readonly #records: string[] = [];
  readonly #seqs: number[] = [];
  readonly #graves: string[] = [];
  #units = 0;
  #upTo: number;

  constructor(range: JournalRange) {
    if (range.entriesMax < 1) throw new Error('a slice has room for one entry at least');
    this.#range = range;
    this.#upTo = range.after;
  }

  addRecord(seq: number, record: string): boolean {
    if (!this.#takes(seq, record)) return false;
    this.#records.push(record);
    this.#seqs.push(seq);
    return true;
  }

  addGrave(seq: number, id: string): boolean {
    if (!this.#takes(seq, id)) return false;
    this.#graves.push(id);
    return true;
  }

  /** Everything was added. */
  whole(state: PartitionState): JournalSlice {
    return { state, records: this.#records, seqs: this.#seqs, graves: this.#graves, upTo: state.head };
  }

  /** Something was left out. */
  cut(state: PartitionState): JournalSlice {
    return { ...this.whole(state), upTo: this.#upTo };
  }

  #takes(seq: number, text: string): boolean {
    const entries = this.#records.length + this.#graves.length;
    const units = this.#units + text.length;
    if (entries > 0 && (entries >= this.#range.entriesMax || units > this.#range.unitsMax)) return false;
    this.#units = units;
    this.#upTo = seq;
    return true;
  }
}

/** Walks over the tombstones of a partition. Behind the last one, `seq` is infinite. */
class GraveCursor {
  readonly #entries: Iterator<{ readonly key: Place; readonly value: string }> | null;
  seq = Number.POSITIVE_INFINITY;
  id = '';

  constructor(tables: Tables, { number, graves, head }: KeptPartition, after: number) {
    const isEmpty = graves === 0 || after >= head;
    this.#entries = isEmpty ? null : tables.graves.getRange(placesAfter(number, after))[Symbol.iterator]();
    this.advance();
  }

  advance(): void {
    const next = this.#entries?.next();
    const isEnd = next === undefined || next.done === true;
    this.seq = isEnd ? Number.POSITIVE_INFINITY : next.value.key[1];
    this.id = isEnd ? '' : next.value.value;
  }

  close(): void {
    this.#entries?.return?.();
  }
}
