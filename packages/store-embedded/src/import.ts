import type { PartitionKey, PartitionState, Piece, StoreLife } from '@tidemark/core/ports';
import { importDocument, importPart } from './documents.ts';
import { nextNumber, raiseNumber, storeEpoch } from './facts.ts';
import { importJobs } from './jobs/carry-jobs.ts';
import { keyOf } from './keys.ts';
import { LiveWriter } from './live-records.ts';
import { importNote } from './notes.ts';
import { type KeptPartition, keptPartition, partitionName } from './partitions.ts';
import { standingBytes } from './standings.ts';
import { applyStats } from './stats.ts';
import type { Tables } from './tables.ts';
import { putTidemark } from './tidemarks.ts';

// All of this runs in the writer's transaction.

/** Takes over a life. Versions given from now on are above all that were given there. */
export function applyLife(tables: Tables, { epoch, lastVersion }: StoreLife): void {
  tables.facts.put('epoch', epoch);
  raiseNumber(tables, 'entry_version', lastVersion);
}

/** Puts down pieces as they are. Nobody else uses the store meanwhile, and nothing of it is believed before the end. */
export function applyImport(tables: Tables, pieces: readonly Piece[]): void {
  const desk = new ImportDesk(tables);
  for (const piece of pieces) desk.put(piece);
  desk.close();
  importJobs(
    tables,
    pieces.filter((piece) => piece.what === 'queue' || piece.what === 'job'),
  );
}

class ImportDesk {
  readonly #tables: Tables;
  #key: PartitionKey | null = null;
  #partition: KeptPartition | null = null;
  #live: LiveWriter | null = null;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  put(piece: Piece): void {
    const tables = this.#tables;
    switch (piece.what) {
      case 'entry':
        tables.entries.put(keyOf(...piece.key), `${piece.version} ${piece.value}`);
        raiseNumber(tables, 'entry_version', piece.version);
        break;
      case 'partition':
        this.#open(piece.partition, newPartition(tables, piece.state));
        break;
      case 'record':
      case 'grave':
        this.#journal(piece);
        break;
      case 'tidemark':
        putTidemark(tables, this.#at(piece.partition).number, piece.mark);
        break;
      case 'note':
        importNote(tables, piece);
        break;
      case 'document':
        importDocument(tables, piece);
        break;
      case 'part':
        importPart(tables, piece);
        break;
      case 'stat':
        applyStats(tables, [piece.row]);
        break;
    }
  }

  /** Writes the partition that pieces came for last. */
  close(): void {
    this.#live?.flush();
    if (this.#key !== null) this.#tables.partitions.put(partitionName(this.#key), JSON.stringify(this.#partition));
    this.#key = null;
  }

  #journal(piece: Extract<Piece, { readonly what: 'record' | 'grave' }>): void {
    const { number } = this.#at(piece.partition);
    const { seq, id } = piece;
    const isLive = piece.what === 'record';
    if (isLive) this.#live?.add({ seq, bytes: Buffer.from(piece.record), units: piece.record.length });
    else this.#tables.tombstones.put([number, seq], id);
    this.#tables.index.put([number, id], standingBytes({ seq, isLive, checksum: isLive ? piece.checksum : 0 }));
    if (!isLive)
      this.#partition = { ...this.#at(piece.partition), tombstones: this.#at(piece.partition).tombstones + 1 };
  }

  #open(key: PartitionKey, partition: KeptPartition): KeptPartition {
    this.close();
    this.#key = key;
    this.#partition = partition;
    // Where the pieces of the portion before have ended is of no use: they are not taken up again.
    this.#live = new LiveWriter(this.#tables, partition.number, 0);
    return partition;
  }

  #at(key: PartitionKey): KeptPartition {
    if (this.#partition !== null && this.#key?.source === key.source && this.#key.user === key.user) {
      return this.#partition;
    }
    const kept = keptPartition(this.#tables, key);
    if (kept === null) throw new Error('a piece of a partition came before the partition');
    return this.#open(key, kept);
  }
}

/** The word is whatever its epoch has behind that of the store. */
function newPartition(tables: Tables, { epoch, head, floor, size, checksum, earlier }: PartitionState): KeptPartition {
  const life = storeEpoch(tables);
  if (!epoch.startsWith(life)) throw new Error('the epoch of a partition does not begin with that of its store');
  return {
    ...{ number: nextNumber(tables, 'partition'), word: epoch.slice(life.length), head, floor, size, checksum },
    tombstones: 0,
    ...(earlier === undefined ? {} : { earlier }),
  };
}
