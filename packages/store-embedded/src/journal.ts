import type {
  JoinedSlice,
  JournalRange,
  JournalSlice,
  ObjectsRead,
  PartitionKey,
  PartitionState,
  StoredObject,
} from '@tidemark/core/ports';
import { copyOf, textOf, viewOf } from './fleeting-bytes.ts';
import { JoinedRecords } from './joined-records.ts';
import { NUMBER_MAX, type Place, placesAfter } from './keys.ts';
import { type LiveValue, liveValues, RecordFinder, recordsIn } from './live-records.ts';
import { type KeptPartition, keptPartition, stateOf } from './partitions.ts';
import { COMMA_BYTES, type RunHead, type RunRecord, recordInRun, recordsOfRun, runHead } from './runs.ts';
import { type Standing, standingOf } from './standings.ts';
import type { Tables } from './tables.ts';

export function readObjects(tables: Tables, key: PartitionKey, ids: readonly string[]): ObjectsRead {
  const kept = keptPartition(tables, key);
  const objects = new Map<string, StoredObject>();
  if (kept !== null) {
    const records = new RecordFinder(tables, kept.number);
    for (const id of ids) {
      const standing = standingOf(tables, kept.number, id);
      if (standing !== null) objects.set(id, { seq: standing.seq, record: recordAt(records, standing) });
    }
  }
  return { state: stateOf(tables, kept), objects };
}

function recordAt(records: RecordFinder, { seq, isLive }: Standing): string | null {
  if (!isLive) return null;
  const record = records.at(seq);
  if (record === null) throw new Error(`the record at seq ${seq} is missing; run verify`);
  return record;
}

/** Live records and tombstones lie in two ranges; a slice merges them by seq until a bound is met. */
export function readJournal(tables: Tables, key: PartitionKey, range: JournalRange): JournalSlice {
  const records: string[] = [];
  const seqs: number[] = [];
  const stretch = walkJournal(tables, key, range, (live, room, tombstones) => {
    for (const { seq, record } of recordsIn(live, range.after)) {
      if (!buryBefore(seq, tombstones, room) || !room.take(seq, 1, record.length)) return false;
      records.push(record);
      seqs.push(seq);
    }
    return true;
  });
  return { ...stretch, records, seqs };
}

/** The same with the records joined as they are kept: of what is taken whole, nothing is looked at but its size. */
export function readJoined(tables: Tables, key: PartitionKey, range: JournalRange): JoinedSlice {
  const joined = new JoinedRecords();
  const stretch = walkJournal(tables, key, range, (live, room, tombstones) => {
    const { end, isRun, value, gaps } = live;
    if (!isRun) {
      // A tombstone is read into the same memory.
      const bytes = tombstones.seq < end ? copyOf(value) : viewOf(value);
      return addEach(joined, [{ seq: end, bytes, units: textOf(value).length }], false, { room, tombstones });
    }
    const head = runHead(value, end);
    if (tombstones.seq > head.lastSeq) {
      const isAllNew = gaps.length === 0 && head.firstSeq > range.after;
      if (isAllNew && room.take(head.lastSeq, head.count, head.units)) {
        joined.add(viewOf(value, head.textStart), head.count, head.isOneLine);
        return true;
      }
      if (head.isAscii) return addSome(joined, live, { head, after: range.after, room });
    }
    const records = recordsOfRun(value, end, gaps).filter(({ seq }) => seq > range.after);
    return addEach(joined, records, head.isOneLine, { room, tombstones });
  });
  return { ...stretch, ...joined.take() };
}

/** Of a run of which not all belongs in, what does, in as few pieces as possible. False: there was no room for all of it. */
function addSome(
  joined: JoinedRecords,
  { end, value, gaps }: LiveValue,
  { head, after, room }: { readonly head: RunHead; readonly after: number; readonly room: Room },
): boolean {
  let [start, at, count, gap] = [head.textStart, head.textStart, 0, 0];
  const addPiece = () => {
    if (count > 0) joined.add(viewOf(value, start, at - COMMA_BYTES), count, head.isOneLine);
    count = 0;
  };
  for (let index = 0; index < head.count; index++) {
    const { seq, bytes } = recordInRun(value, end, index);
    const isGap = gaps[gap] === index;
    if (isGap) gap++;
    if (isGap || seq <= after) {
      addPiece();
      start = at + bytes + COMMA_BYTES;
    } else if (room.take(seq, 1, bytes)) count++;
    else {
      addPiece();
      return false;
    }
    at += bytes + COMMA_BYTES;
  }
  addPiece();
  return true;
}

/** Records one by one, with the tombstones before each. False: there was no room for all of them. */
function addEach(
  joined: JoinedRecords,
  records: readonly RunRecord[],
  isOneLine: boolean,
  { room, tombstones }: { readonly room: Room; readonly tombstones: GraveCursor },
): boolean {
  for (const { seq, bytes, units } of records) {
    if (!buryBefore(seq, tombstones, room) || !room.take(seq, 1, units)) return false;
    joined.add(bytes, 1, isOneLine);
  }
  return true;
}

/** False: there was no room for all of it. */
type Visit = (live: LiveValue, room: Room, tombstones: GraveCursor) => boolean;

/** Visits what stands in a range. Of the tombstones, the visitor has to add those before each record. */
function walkJournal(
  tables: Tables,
  key: PartitionKey,
  range: JournalRange,
  visit: Visit,
): Pick<JournalSlice, 'state' | 'tombstones' | 'upTo'> {
  const kept = keptPartition(tables, key);
  const state = stateOf(tables, kept);
  const room = new Room(range);
  if (kept === null || range.after >= kept.head) return room.stretch(state, true);
  const tombstones = new GraveCursor(tables, kept, Math.max(range.after, range.tombstonesAfter));
  try {
    for (const live of liveValues(tables.live.getRange(placesAfter(kept.number, range.after)))) {
      if (!visit(live, room, tombstones)) return room.stretch(state, false);
    }
    return room.stretch(state, buryBefore(NUMBER_MAX, tombstones, room));
  } finally {
    tombstones.close();
  }
}

/** Adds the tombstones below `seq`. False: there was no room for all of them. */
function buryBefore(seq: number, tombstones: GraveCursor, room: Room): boolean {
  while (tombstones.seq < seq) {
    if (!room.take(tombstones.seq, 1, tombstones.id.length)) return false;
    room.tombstones.push(tombstones.id);
    tombstones.advance();
  }
  return true;
}

/** What is left of the bounds of a slice, and how far it has come. */
class Room {
  readonly #range: JournalRange;
  readonly tombstones: string[] = [];
  #entries = 0;
  #units = 0;
  #upTo: number;

  constructor(range: JournalRange) {
    if (range.entriesMax < 1) throw new Error('a slice has room for one entry at least');
    this.#range = range;
    this.#upTo = range.after;
  }

  /** Entries up to `seq`, of so many units together. The first one fits whatever its size. */
  take(seq: number, entries: number, entryUnits: number): boolean {
    const units = this.#units + entryUnits;
    const isFirst = this.#entries === 0 && entries === 1;
    if (!isFirst && (this.#entries + entries > this.#range.entriesMax || units > this.#range.unitsMax)) return false;
    this.#entries += entries;
    this.#units = units;
    this.#upTo = seq;
    return true;
  }

  stretch(state: PartitionState, isWhole: boolean): Pick<JournalSlice, 'state' | 'tombstones' | 'upTo'> {
    return { state, tombstones: this.tombstones, upTo: isWhole ? state.head : this.#upTo };
  }
}

/** Walks over the tombstones of a partition. Behind the last one, `seq` is infinite. */
class GraveCursor {
  readonly #entries: Iterator<{ readonly key: Place; readonly value: string }> | null;
  seq = Number.POSITIVE_INFINITY;
  id = '';

  constructor(tables: Tables, { number, tombstones, head }: KeptPartition, after: number) {
    const isEmpty = tombstones === 0 || after >= head;
    this.#entries = isEmpty ? null : tables.tombstones.getRange(placesAfter(number, after))[Symbol.iterator]();
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
