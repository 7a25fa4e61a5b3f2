import type { Change, JournalRange, PartitionState, StoredObject } from '@tidemark/core';

interface ModelEntry {
  readonly id: string;
  readonly seq: number;
  readonly record: string | null;
  readonly checksum: number;
}

/**
 * The model of a partition: a list of its entries, from which every answer is computed anew. It shares no code with any
 * engine; even the checksum uses another arithmetic.
 */
export class PartitionModel {
  entries: readonly ModelEntry[] = [];
  head = 0;
  floor = 0;

  commit(changes: readonly Change[]): void {
    for (const { id, record, checksum } of changes) {
      const old = this.entries.find((entry) => entry.id === id);
      if (record === null && (old?.record ?? null) === null) continue;
      this.head += 1;
      const others = this.entries.filter((entry) => entry.id !== id);
      this.entries = [...others, { id, seq: this.head, record, checksum }];
    }
  }

  trim(upTo: number): void {
    this.entries = this.entries.filter(({ seq, record }) => record !== null || seq > upTo);
    this.floor = Math.max(this.floor, Math.min(upTo, this.head));
  }

  seqOf(id: string): number {
    return this.entries.find((entry) => entry.id === id)?.seq ?? 0;
  }

  objectOf(id: string): StoredObject | undefined {
    const found = this.entries.find((entry) => entry.id === id);
    return found === undefined ? undefined : { seq: found.seq, record: found.record };
  }

  /** Returns the state without the epoch, which is random. */
  state(): Omit<PartitionState, 'epoch'> {
    const live = this.entries.filter(({ record }) => record !== null);
    const sum = live.reduce((total, { checksum }) => total + BigInt(checksum), 0n);
    return { head: this.head, floor: this.floor, size: live.length, checksum: Number(sum % 2n ** 52n) };
  }

  /** Returns the slice of a range, and the seq of the first entry that was left out, if any. */
  slice(range: JournalRange): ModelSlice {
    const { after, tombstonesAfter, entriesMax, unitsMax } = range;
    const wanted = this.entries.filter(({ seq, record }) => {
      return seq > after && (record !== null || seq > tombstonesAfter);
    });
    let room = wanted.length;
    while (room > 1 && (room > entriesMax || unitsOf(wanted.slice(0, room)) > unitsMax)) room -= 1;
    const given = wanted.slice(0, room);
    return {
      records: given.flatMap(({ record }) => (record === null ? [] : [record])),
      seqs: given.flatMap(({ record, seq }) => (record === null ? [] : [seq])),
      tombstones: given.flatMap(({ record, id }) => (record === null ? [id] : [])),
      lastSeq: given.at(-1)?.seq ?? null,
      nextSeq: wanted[room]?.seq ?? null,
    };
  }
}

export interface ModelSlice {
  readonly records: readonly string[];
  readonly seqs: readonly number[];
  readonly tombstones: readonly string[];
  readonly lastSeq: number | null;
  readonly nextSeq: number | null;
}

function unitsOf(entries: readonly ModelEntry[]): number {
  return entries.reduce((units, { id, record }) => units + (record ?? id).length, 0);
}
