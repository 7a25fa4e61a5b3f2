import type { JsonValue, Page, PartialError, SyncSource, UploadOp } from '@tidemark/protocol';

/** Attributes of an object. They are never changed in place, so everybody may hold on to them. */
export type Attributes = { readonly [name: string]: JsonValue };

export interface SessionRow {
  readonly token: string;
  readonly userId: string;
  readonly clientId: string;
  readonly expiresAtMs: number;
  /** When the token was given, by the clock of the device. */
  readonly givenAtMs: number;
}

/** What is kept of a source beside its objects. */
export interface SourceRow {
  readonly description: SyncSource;
  /** Of the state the app sees; what changes made in it are marked with. */
  readonly seen: string | null;
  /** What to pull with when no catch-up is under way. Null: start over. */
  readonly token: string | null;
  /** A catch-up under way: the token of its last page, and how many pages are staged. */
  readonly staging: { readonly token: string; readonly pages: number } | null;
  readonly syncedAtMs: number | null;
  /** How often the objects were found to differ from the server's. It should stay 0. */
  readonly heals: number;
}

export type UploadState = 'waiting' | 'queued' | 'applied';

/** A change made here. It lies over the objects until they include it. */
export interface UploadRow {
  /** Uploads are sent in this order. */
  readonly order: number;
  readonly source: string;
  readonly op: UploadOp;
  readonly id: string;
  readonly attributes: Attributes | null;
  readonly seen: string | null;
  readonly state: UploadState;
  /** For applied ones, when the outcome was learnt, in outcomes. */
  readonly settled: number | null;
  readonly madeAtMs: number;
}

export interface ProblemRow {
  readonly source: string;
  readonly op: UploadOp;
  readonly id: string;
  readonly attributes: Attributes | null;
  readonly status: 'rejected' | 'conflict';
  readonly error: PartialError;
  /** The object as the server had it; null: it had none. */
  readonly current: Attributes | null;
  readonly atMs: number;
}

/** What each table holds. */
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
