import type { JsonValue, Page, PartialError, SyncSource, UploadOp } from '@tidemark/protocol';

/** Attributes of an object. They are immutable, so they can be shared. */
export type Attributes = { readonly [name: string]: JsonValue };

export interface SessionRow {
  readonly token: string;
  readonly userId: string;
  readonly clientId: string;
  /** Differs for every user who is given the same login. Absent: the server does not say. */
  readonly generation?: number;
  readonly expiresAtMs: number;
  /** When the token was issued, by the clock of the device. */
  readonly givenAtMs: number;
  /** What the server was told about the device, as JSON. Absent: it was not told. */
  readonly about?: string;
}

/** The state of a source besides its objects. */
export interface SourceRow {
  readonly description: SyncSource;
  /** The token of the state the app sees; changes made on it carry this token. */
  readonly seen: string | null;
  /** The token for the next pull if no catch-up is under way. Null: start over. */
  readonly token: string | null;
  readonly staging: Staging | null;
  readonly syncedAtMs: number | null;
  /** How often the objects were found to differ from the server's. It should stay 0. */
  readonly heals: number;
  /** Of which versions of the schema the objects that the app sees are. Absent: the source had no schema when they came. */
  readonly form?: ObjectForm;
}

/** Objects are of the newest version, except for those that were not converted yet when they came. */
export interface ObjectForm {
  readonly oldest: number;
  readonly newest: number;
}

/** A catch-up under way. */
export interface Staging {
  /** The token of its last page; null: that of a first sync whose first page is not stored completely. */
  readonly token: string | null;
  /** The number of staged pages. */
  readonly pages: number;
  /**
   * Present in a first sync, whose pages are stored as objects at once. They are hidden from the app until it is complete, or
   * shown as they arrive. A source on the disk that starts over stores them aside, so that the app sees what it saw.
   */
  readonly firstSync?: 'hidden' | 'shown' | 'aside';
}

/** `held`: the app is too old for the source. It is sent again when the server serves the version of the app, or the app is updated. */
export type UploadState = 'waiting' | 'held' | 'queued' | 'applied';

/** A change made here. It stays in the overlay until the objects include it. */
export interface UploadRow {
  /** Uploads are sent in this order. */
  readonly order: number;
  readonly source: string;
  /** The group of the object, if the data of the source belongs to groups. */
  readonly group?: string;
  readonly op: UploadOp;
  readonly id: string;
  readonly attributes: Attributes | null;
  /** The attributes that an update removes. */
  readonly removed?: readonly string[];
  /** The version of the schema that the app was built with which made the change. Absent: it did not say. */
  readonly version?: number;
  readonly seen: string | null;
  readonly state: UploadState;
  /** The last op_ids that were merged into this one. A tab that did not hear of it sends them again. */
  readonly merged?: readonly string[];
  /** For applied uploads: the number of the outcome. */
  readonly settled: number | null;
  readonly madeAtMs: number;
}

/** An upload with its op_id. */
export type NewUpload = readonly [opId: string, row: UploadRow];

export function byOrder(left: UploadRow, right: UploadRow): number {
  return left.order - right.order;
}

export interface ProblemRow {
  readonly source: string;
  readonly op: UploadOp;
  readonly id: string;
  readonly attributes: Attributes | null;
  /** The group of the object, if the data of the source belongs to groups. */
  readonly group?: string;
  /** The attributes that the update would have removed. */
  readonly removed?: readonly string[];
  /** The version of the schema that the change was made in. */
  readonly version?: number;
  readonly status: 'rejected' | 'conflict';
  readonly error: PartialError;
  /** The object at the server; null if it does not exist. */
  readonly current: Attributes | null;
  /** The oldest version of the schema that `current` may be of. Absent: the source had none. */
  readonly currentSince?: number;
  readonly atMs: number;
}

/** A problem as the app sees it. */
export type ShownProblem = Omit<ProblemRow, 'currentSince'>;

/** The rows of each table. */
export interface Rows {
  facts: JsonValue;
  sources: SourceRow;
  objects: Attributes;
  staged: Page;
  uploads: UploadRow;
  problems: ProblemRow;
  acknowledgements: string;
  links: string;
}
