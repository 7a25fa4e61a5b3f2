import {
  type NoteKind,
  type PartitionKey,
  type Piece,
  portionsOf,
  type RecordReader,
  type StatRow,
  scopeFrom,
} from '@tidemark/core/ports';
import type { RangeOptions, Transaction } from 'lmdb';
import { sortedByClient } from './acknowledged-index.ts';
import type { DocumentRow } from './documents.ts';
import { exportedJobs } from './jobs/move-jobs.ts';
import { journalAfter, keyOf, NUMBER_BYTES, readNumber, textsOf } from './keys.ts';
import { liveRecords } from './live-records.ts';
import { readNoteValue } from './notes.ts';
import { decodeIndexEntry } from './object-index.ts';
import { type PartitionRow, partitionKeyOf, stateOf } from './partitions.ts';
import type { Tables } from './tables.ts';
import { readListed } from './tidemarks.ts';

/** Pieces between two pauses for the event loop. */
const PIECES_PER_PAUSE = 1_000;

/** Exports everything from one snapshot. */
export async function* exportTables(tables: Tables, reader: RecordReader): AsyncIterable<readonly Piece[]> {
  const transaction = tables.root.useReadTransaction();
  try {
    for await (const portion of portionsOf(withPauses(new Exporter(tables, transaction, reader).all()))) yield portion;
  } finally {
    transaction.done();
  }
}

async function* withPauses(pieces: Iterable<Piece>): AsyncIterable<Piece> {
  let count = 0;
  for (const piece of pieces) {
    yield piece;
    if (++count % PIECES_PER_PAUSE === 0) await new Promise((resolve) => setImmediate(resolve));
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
    yield* exportedJobs(this.#tables, this.#transaction);
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
      const row = JSON.parse(value) as PartitionRow;
      const partition = partitionKeyOf(key);
      yield { what: 'partition', partition, state: stateOf(this.#tables, row) };
      yield* this.#journal(partition, row);
      yield* this.#tidemarks(partition, row);
    }
  }

  /** Live records and tombstones are stored in two tables; an export merges them by seq. */
  *#journal(partition: PartitionKey, { number }: PartitionRow): Iterable<Piece> {
    const range = { ...journalAfter(number, -1), transaction: this.#transaction };
    const tombstones = this.#tables.tombstones.getRange(range)[Symbol.iterator]();
    let tombstone = tombstones.next();
    for (const { seq, record } of liveRecords(this.#tables, range)) {
      for (; tombstone.done !== true && tombstone.value.key[1] < seq; tombstone = tombstones.next()) {
        yield { what: 'tombstone', partition, seq: tombstone.value.key[1], id: tombstone.value.value };
      }
      yield this.#record(partition, number, seq, record);
    }
    for (; tombstone.done !== true; tombstone = tombstones.next()) {
      yield { what: 'tombstone', partition, seq: tombstone.value.key[1], id: tombstone.value.value };
    }
  }

  /** The checksum is that of the index. A missing one becomes −1, which no record has, so the comparison fails. */
  #record(partition: PartitionKey, number: number, seq: number, record: string): Piece {
    const { id, files } = this.#reader(record);
    const bytes = this.#tables.index.get([number, id], { transaction: this.#transaction });
    const checksum = bytes === undefined ? -1 : decodeIndexEntry(bytes).checksum;
    return { what: 'record', partition, seq, id, checksum, record, ...(files === undefined ? {} : { files }) };
  }

  /** An export has the tidemarks of a partition in the order of their clients. */
  *#tidemarks(partition: PartitionKey, row: PartitionRow): Iterable<Piece> {
    const range = this.#within({ start: keyOf(row.number), end: keyOf(row.number + 1) });
    const found = sortedByClient(this.#tables.acknowledged.getKeys(range));
    const snapshot = { transaction: this.#transaction };
    for (const mark of readListed(this.#tables, row, found, snapshot)) yield { what: 'tidemark', partition, mark };
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
    for (const { key: name, value } of this.#tables.documents.getRange(this.#within())) {
      const { number, type, version, partCount, units } = JSON.parse(value) as DocumentRow;
      const texts = textsOf(name);
      const key = { scope: scopeFrom(texts), name: texts.at(-1) ?? '' };
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
