import type {
  DeviceTidemark,
  DocumentKey,
  DocumentType,
  Note,
  PartitionKey,
  PartitionState,
  RecordReader,
  StatRow,
  Store,
} from './store.ts';

/**
 * A store whose contents can be exported piece by piece, and imported into a store of another engine.
 *
 * Every engine guarantees:
 * - All engines export their pieces in the same order, given by `pieceKey`. Two exports can therefore be compared as
 *   streams.
 * - A portion holds a bounded number of pieces and, except for a single large one, a bounded amount of text.
 * - An export after an import returns exactly what was imported, versions and epochs included. Only jobs get other ids.
 * - A store that was opened as the target of an import stays `incomplete` until `setMigrationState(null)`, also after a
 *   crash.
 */
export interface MovableStore extends Store {
  /** Returns the epoch of the store, and a version that no write so far exceeds. */
  head(): Promise<StoreHead>;
  /** Exports the whole store. Writes that happen meanwhile may be included or not. */
  export(reader: RecordReader): AsyncIterable<readonly Piece[]>;
  /** Takes over epoch and version of another store. Only allowed on a store that was opened as the target of an import. */
  beginImport(head: StoreHead): Promise<void>;
  /** Imports a portion. The caller passes portions in the order of their export, each once. */
  import(pieces: readonly Piece[]): Promise<void>;
  /** Returns null when servers may open the store. */
  migrationState(): Promise<MigrationState | null>;
  /** While the state is not null, no server opens the store, and it refuses all writes except those of an import. */
  setMigrationState(state: MigrationState | null): Promise<void>;
}

/**
 * `incomplete`: the target of an import that has not finished. `moving`: the source of a migration that has not finished,
 * and that can still be released. `moved`: another store has taken over.
 */
export type MigrationState =
  | { readonly state: 'incomplete' }
  /** `to` names the target in messages. */
  | { readonly state: 'moving' | 'moved'; readonly to: string };

export interface StoreHead {
  readonly epoch: string;
  readonly lastVersion: number;
}

/** One part of a store, independent of the engine. */
export type Piece =
  /** The kind of an entry is the first part of its key. */
  | { readonly what: 'entry'; readonly key: readonly string[]; readonly value: string; readonly version: number }
  | { readonly what: 'partition'; readonly partition: PartitionKey; readonly state: PartitionState }
  | RecordPiece
  | { readonly what: 'tombstone'; readonly partition: PartitionKey; readonly seq: number; readonly id: string }
  | { readonly what: 'tidemark'; readonly partition: PartitionKey; readonly mark: DeviceTidemark }
  | NotePiece
  | DocumentPiece
  | { readonly what: 'part'; readonly key: DocumentKey; readonly part: string; readonly text: string }
  | { readonly what: 'stat'; readonly row: StatRow }
  | { readonly what: 'queue'; readonly queue: string; readonly isPaused: boolean }
  | JobPiece;

/** `id`, `checksum` and `files` are derived from the record. */
export interface RecordPiece {
  readonly what: 'record';
  readonly partition: PartitionKey;
  readonly seq: number;
  readonly id: string;
  readonly checksum: number;
  /** The files that it refers to, from which an import makes the index again. Absent: none. */
  readonly files?: readonly string[];
  readonly record: string;
}

export interface NotePiece {
  readonly what: 'note';
  readonly partition: PartitionKey;
  readonly client: string;
  readonly note: Note;
  /** Null: the note does not expire. */
  readonly endsAtMs: number | null;
}

export interface DocumentPiece {
  readonly what: 'document';
  readonly key: DocumentKey;
  readonly type: DocumentType;
  readonly version: number;
  readonly partCount: number;
  readonly units: number;
}

export interface JobPiece {
  readonly what: 'job';
  readonly queue: string;
  /** The position of the job in the queue, in the order of enqueueing: 1 for the first. */
  readonly position: number;
  readonly job: CarriedJob;
}

export interface CarriedJob {
  readonly kind: string;
  readonly payload: string;
  readonly order: string | null;
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly enqueuedAtMs: number;
  readonly dueAtMs: number;
  readonly lastReason: string | null;
  /** `ready` is due or delayed. Of an order, one at most is ready or leased; those behind it wait. */
  readonly standing: 'ready' | 'waiting' | 'leased' | 'dead';
  /** When it is due, when its lease runs out, when it died. */
  readonly atMs: number;
}

/** Pieces in a portion. */
export const PORTION_PIECES_MAX = 1_000;
/** UTF-16 units of text in a portion, unless its only piece has more. */
export const PORTION_UNITS_MAX = 1_000_000;
