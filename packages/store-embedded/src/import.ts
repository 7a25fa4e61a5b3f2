import {
  isSameOwner,
  keptBytes,
  type MovableStore,
  type PartitionKey,
  type PartitionState,
  type Piece,
  type StoreHead,
} from '@tidemark/core/ports';
import { migrationStateOf, type Opening, writeManifest } from './data-folder.ts';
import { importDocument, importPart } from './documents.ts';
import type { EngineContext } from './engine-context.ts';
import { changeFiles } from './file-index.ts';
import { importJobs } from './jobs/move-jobs.ts';
import { keyOf } from './keys.ts';
import { RecordAppender } from './live-records.ts';
import { lastNumber, nextNumber, raiseNumber, setEpoch, storeEpoch } from './meta.ts';
import { importNote } from './notes.ts';
import { encodeIndexEntry } from './object-index.ts';
import { type PartitionRow, readPartition, writePartition } from './partitions.ts';
import { changeRetainedBytes } from './retained-bytes.ts';
import { applyStats } from './stats.ts';
import type { Tables } from './tables.ts';
import { putTidemark } from './tidemarks.ts';

/** The part of a migration that is not the export: epoch, import and migration state. */
export function migration(
  { read, write }: EngineContext,
  folder: string,
  opening: Opening,
): Pick<MovableStore, 'head' | 'beginImport' | 'import' | 'migrationState' | 'setMigrationState'> {
  const requireTarget = () => {
    if (opening.as !== 'target')
      throw new Error('only a store that was opened as the target of a migration can import');
  };
  return {
    async head() {
      const tables = read();
      return { epoch: storeEpoch(tables), lastVersion: lastNumber(tables, 'entry_version') };
    },

    async beginImport(head) {
      requireTarget();
      await write({ kind: 'head', head });
    },

    async import(pieces) {
      requireTarget();
      await write({ kind: 'import', pieces });
    },

    async migrationState() {
      read();
      return migrationStateOf(folder);
    },

    async setMigrationState(migration) {
      read();
      if (migration === null) writeManifest(folder, 'ready');
      else writeManifest(folder, migration.state, migration.state === 'incomplete' ? undefined : migration.to);
    },
  };
}

// Writing: all of this runs in the writer's transaction

/** Adopts the epoch of another store. Versions given from now on are above all that were given there. */
export function applyHead(tables: Tables, { epoch, lastVersion }: StoreHead): void {
  setEpoch(tables, epoch);
  raiseNumber(tables, 'entry_version', lastVersion);
}

/** Writes one portion of exported pieces. The folder stays marked as incomplete until the last portion is written. */
export function applyImport(tables: Tables, pieces: readonly Piece[]): void {
  const importer = new Importer(tables);
  for (const piece of pieces) importer.put(piece);
  importer.flush();
  importJobs(
    tables,
    pieces.filter((piece) => piece.what === 'queue' || piece.what === 'job'),
  );
}

/** The partition that the last piece belonged to. */
interface OpenPartition {
  readonly key: PartitionKey;
  readonly records: RecordAppender;
  row: PartitionRow;
  /** The bytes of the tombstones of this portion. */
  kept: number;
}

class Importer {
  readonly #tables: Tables;
  #open: OpenPartition | null = null;

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
        this.#begin(piece.partition, newPartition(tables, piece.state));
        break;
      case 'record':
        this.#record(piece);
        break;
      case 'tombstone':
        this.#tombstone(piece);
        break;
      case 'tidemark':
        putTidemark(tables, this.#at(piece.partition).row, piece.mark);
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

  flush(): void {
    if (this.#open === null) return;
    this.#open.records.flush();
    writePartition(this.#tables, this.#open.key, this.#open.row);
    changeRetainedBytes(this.#tables, this.#open.key, this.#open.kept);
    this.#open = null;
  }

  #record({ partition, seq, id, checksum, record, files }: Extract<Piece, { readonly what: 'record' }>): void {
    const open = this.#at(partition);
    const bytes = Buffer.from(record);
    open.records.add({ seq, bytes, units: record.length });
    open.row = { ...open.row, bytes: open.row.bytes + bytes.length };
    this.#tables.index.put([open.row.number, id], encodeIndexEntry({ seq, isLive: true, checksum }));
    if (files === undefined) return;
    const { number } = open.row;
    open.row = { ...open.row, files: changeFiles(this.#tables, number, open.row.files ?? 0, [{ id, files }]) };
  }

  #tombstone({ partition, seq, id }: Extract<Piece, { readonly what: 'tombstone' }>): void {
    const open = this.#at(partition);
    open.row = { ...open.row, tombstones: open.row.tombstones + 1 };
    open.kept += keptBytes(id);
    this.#tables.tombstones.put([open.row.number, seq], id);
    this.#tables.index.put([open.row.number, id], encodeIndexEntry({ seq, isLive: false, checksum: 0 }));
  }

  #begin(key: PartitionKey, row: PartitionRow): OpenPartition {
    this.flush();
    // Records of this portion do not join the last run of the portion before: head 0 has none.
    this.#open = { key, row, kept: 0, records: new RecordAppender(this.#tables, row.number, 0) };
    return this.#open;
  }

  #at(key: PartitionKey): OpenPartition {
    const open = this.#open;
    if (open !== null && open.key.source === key.source && isSameOwner(open.key.owner, key.owner)) return open;
    const row = readPartition(this.#tables, key);
    if (row === null) throw new Error('a piece of a partition came before the partition');
    return this.#begin(key, row);
  }
}

function newPartition(tables: Tables, { epoch, earlier, ...state }: PartitionState): PartitionRow {
  const prefix = storeEpoch(tables);
  if (!epoch.startsWith(prefix)) throw new Error('the epoch of a partition does not begin with that of its store');
  const { head, floor, size, checksum } = state;
  const number = nextNumber(tables, 'partition');
  const row = { number, epochSuffix: epoch.slice(prefix.length), head, floor, size, checksum, tombstones: 0, bytes: 0 };
  return earlier === undefined ? row : { ...row, earlier };
}
