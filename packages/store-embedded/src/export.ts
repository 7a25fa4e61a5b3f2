import {
  type DocumentScope,
  type NoteKind,
  type PartitionKey,
  type Piece,
  portionsOf,
  type RecordReader,
  type StatRow,
} from '@tidemark/core/ports';
import type { RangeOptions, Transaction } from 'lmdb';
import type { KeptDocument } from './documents.ts';
import { carriedJobs } from './jobs/carry-jobs.ts';
import { journalAfter, keyOf, NUMBER_BYTES, readNumber, textsOf } from './keys.ts';
import { liveRecords } from './live-records.ts';
import { readNoteValue } from './notes.ts';
import { decodeIndexEntry } from './object-index.ts';
import { partitionKeyOf, type StoredPartition, stateOf } from './partitions.ts';
import type { Tables } from './tables.ts';
import { readMark } from './tidemarks.ts';

/** Pieces given before the event loop gets its turn. */
const STRIDE = 1_000;

/** Everything, out of one snapshot. */
export async function* exportTables(tables: Tables, reader: RecordReader): AsyncIterable<readonly Piece[]> {
  const transaction = tables.root.useReadTransaction();
  try {
    for await (const portion of portionsOf(inTurns(new Exporter(tables, transaction, reader).all()))) yield portion;
  } finally {
    transaction.done();
  }
}

async function* inTurns(pieces: Iterable<Piece>): AsyncIterable<Piece> {
  let given = 0;
  for (const piece of pieces) {
    yield piece;
    if (++given % STRIDE === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

class Exporter {
  readonly #tables: Tables;
  readonly #transaction: Transaction;
  readonly #reader: RecordReader;

  constructor(tables: Tables, transaction: Transaction, reader: RecordReader) {
    this.#tables = tables;
    this.#transaction = transaction;
    this.#reader = reader;
  }

  *all(): Iterable<Piece> {
    yield* this.#entries();
    yield* this.#partitions();
    yield* this.#notes();
    yield* this.#documents();
    yield* this.#stats();
    yield* carriedJobs(this.#tables, this.#transaction);
  }

  *#entries(): Iterable<Piece> {
    for (const { key, value } of this.#tables.entries.getRange(this.#within())) {
      const space = value.indexOf(' ');
      const version = Number(value.slice(0, space));
      yield { what: 'entry', key: textsOf(key), value: value.slice(space + 1), version };
    }
  }

  *#partitions(): Iterable<Piece> {
    for (const { key, value } of this.#tables.partitions.getRange(this.#within())) {
      const kept = JSON.parse(value) as StoredPartition;
      const partition = partitionKeyOf(key);
      yield { what: 'partition', partition, state: stateOf(this.#tables, kept) };
      yield* this.#journal(partition, kept);
      yield* this.#tidemarks(partition, kept);
    }
  }

  /** Live records and tombstones lie in two ranges; they are merged by seq. */
  *#journal(partition: PartitionKey, { number }: StoredPartition): Iterable<Piece> {
    const range = { ...journalAfter(number, -1), transaction: this.#transaction };
    const graves = this.#tables.tombstones.getRange(range)[Symbol.iterator]();
    let grave = graves.next();
    for (const { seq, record } of liveRecords(this.#tables, range)) {
      for (; grave.done !== true && grave.value.key[1] < seq; grave = graves.next()) {
        yield { what: 'grave', partition, seq: grave.value.key[1], id: grave.value.value };
      }
      yield this.#record(partition, number, seq, record);
    }
    for (; grave.done !== true; grave = graves.next()) {
      yield { what: 'grave', partition, seq: grave.value.key[1], id: grave.value.value };
    }
  }

  /** The checksum is the one kept beside the record; one that is missing is no checksum there can be. */
  #record(partition: PartitionKey, number: number, seq: number, record: string): Piece {
    const { id } = this.#reader(record);
    const bytes = this.#tables.index.get([number, id], { transaction: this.#transaction });
    const checksum = bytes === undefined ? -1 : decodeIndexEntry(bytes).checksum;
    return { what: 'record', partition, seq, id, checksum, record };
  }

  *#tidemarks(partition: PartitionKey, { number }: StoredPartition): Iterable<Piece> {
    const range = this.#within({ start: keyOf(number), end: keyOf(number + 1) });
    for (const { key, value } of this.#tables.tidemarks.getRange(range)) {
      const [client = ''] = textsOf(key, NUMBER_BYTES);
      yield { what: 'tidemark', partition, mark: readMark(client, value) };
    }
  }

  *#notes(): Iterable<Piece> {
    for (const { key, value } of this.#tables.notes.getRange(this.#within())) {
      const texts = textsOf(key);
      const [client = '', kind = '', name = ''] = texts.slice(-3);
      const { endsAtMs, text } = readNoteValue(value);
      const note = { kind: kind as NoteKind, key: name, text };
      yield { what: 'note', partition: partitionKeyOf(keyOf(...texts.slice(0, -3))), client, note, endsAtMs };
    }
  }

  *#documents(): Iterable<Piece> {
    for (const { key: place, value } of this.#tables.documents.getRange(this.#within())) {
      const { number, type, version, partCount, units } = JSON.parse(value) as KeptDocument;
      const texts = textsOf(place);
      const key = { scope: scopeOf(texts), name: texts.at(-1) ?? '' };
      yield { what: 'document', key, type, version, partCount, units };
      const range = this.#within({ start: keyOf(number), end: keyOf(number + 1) });
      for (const { key: part, value: text } of this.#tables.parts.getRange(range)) {
        yield { what: 'part', key, part: textsOf(part, NUMBER_BYTES)[0] ?? '', text };
      }
    }
  }

  *#stats(): Iterable<Piece> {
    for (const { key, value } of this.#tables.stats.getRange(this.#within())) {
      const metric = textsOf(key.subarray(0, -NUMBER_BYTES))[0] ?? '';
      const atS = readNumber(key, key.length - NUMBER_BYTES);
      yield { what: 'stat', row: { metric, atS, ...(JSON.parse(value) as Omit<StatRow, 'metric' | 'atS'>) } };
    }
  }

  #within(range: { readonly start?: Buffer; readonly end?: Buffer } = {}): RangeOptions & { start?: Buffer } {
    return { ...range, transaction: this.#transaction };
  }
}

function scopeOf([kind, first = '', second = '']: readonly string[]): DocumentScope {
  if (kind === 'shared') return { kind, source: first };
  if (kind === 'user') return { kind, user: first, source: second };
  if (kind === 'client') return { kind, client: first, source: second };
  return { kind: 'server' };
}
