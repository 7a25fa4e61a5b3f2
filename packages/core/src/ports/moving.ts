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
 * A store that can be carried to another engine, piece by piece, and can be filled with the pieces of another one.
 *
 * What every engine promises:
 * - The pieces of an export come in one order, which is the same on all engines: so two exports are compared side by
 *   side, without holding either. `pieceKey` is that order.
 * - A portion holds a bounded number of pieces and, except for a single large one, a bounded amount of text.
 * - What an import has taken, an export gives back exactly, versions and epochs included. Only jobs get other ids.
 * - A store that was opened to be filled is sealed as incomplete until somebody opens it, whatever dies in between.
 */
export interface MovableStore extends Store {
  /** Which life this is, and a version that no write so far has gone beyond. */
  life(): Promise<StoreLife>;
  /** Everything there is. Writes going on meanwhile may be in it or not. */
  export(reader: RecordReader): AsyncIterable<readonly Piece[]>;
  /** Takes over the life of another store. Only for a store that was opened to be filled. */
  beginImport(life: StoreLife): Promise<void>;
  /** Portions come in the order of their export, each once. */
  import(pieces: readonly Piece[]): Promise<void>;
  /** What keeps servers from opening the store; null: nothing does. */
  seal(): Promise<Seal | null>;
  /** A sealed store is opened by no server, and takes no writes but those of an import. Null opens it. */
  setSeal(seal: Seal | null): Promise<void>;
}

/**
 * `incomplete`: being filled, or left half full. `moving`: being read for the last time; it can still be opened again.
 * `moved`: what it held has gone on elsewhere.
 */
export type Seal =
  | { readonly state: 'incomplete' }
  /** Where to, for people. */
  | { readonly state: 'moving' | 'moved'; readonly to: string };

export interface StoreLife {
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

/** Id and checksum are those that follow from the record. */
export interface RecordPiece {
  readonly what: 'record';
  readonly partition: PartitionKey;
  readonly seq: number;
  readonly id: string;
  readonly checksum: number;
  readonly record: string;
}

export interface NotePiece {
  readonly what: 'note';
  readonly partition: PartitionKey;
  readonly client: string;
  readonly note: Note;
  /** Null: never by itself. */
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
  /** Its place among the jobs of the queue, in the order in which they were enqueued: 1 for the first. */
  readonly place: number;
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
