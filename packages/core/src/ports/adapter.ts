import { type JsonValue, Refusal } from '@tidemark/protocol';

/**
 * The way to a customer's backend for one source. Answers are not trusted: admission looks at every object. Any
 * rejection that is not an `AdapterRefusal` counts as passing trouble and is tried again; one that is a `Refusal` of the
 * catalogue is told in its own words, any other only says that the adapter failed. An adapter ends every call in bounded
 * time by itself, and keeps no more of an answer than it has been asked for.
 */
export interface Adapter {
  query(call: QueryCall): Promise<ObjectsAnswer>;
  /** Answers the backend's id for the object. */
  create(call: UploadCall & { readonly attributes: JsonValue }): Promise<string>;
  update(call: UploadCall & { readonly attributes: JsonValue }): Promise<void>;
  delete(call: UploadCall): Promise<void>;
  search?(call: PersonalCall & { readonly params: JsonValue }): Promise<ObjectsAnswer>;
  /**
   * The partition into which a user's data goes, by a name that users may have in common; null: one of their own. Asked
   * of sources whose data belongs to users. Absent: it is always one of their own.
   */
  partition?(call: { readonly source: string; readonly user: string }): Promise<string | null>;
}

/** Finds the adapter a source names. Null: there is none of that name. */
export interface Adapters {
  find(adapter: string): Adapter | null;
}

/** Whether somebody is who they say. */
export interface Authenticator {
  /** Rejects when nobody can tell. */
  authenticate(login: string, password: string): Promise<LoginAnswer>;
}

export type LoginAnswer =
  | { readonly kind: 'user'; readonly user: string }
  | { readonly kind: 'refused' }
  /** The backend has no such call and checks nobody, which it said by this status. */
  | { readonly kind: 'not_handled'; readonly status: number };

/** A hash of hashes: as a value, or as JSON text that is still arriving. */
export type ObjectsAnswer = { readonly objects: unknown } | { readonly chunks: AsyncIterable<string> };

export interface QueryCall {
  readonly source: string;
  /** Whose data it is. Null when it is shared by all, and in queries of a custom partition, which is nobody's own. */
  readonly user: string | null;
  /** The custom partition it is about. Absent: it is about none. */
  readonly partition?: string;
}

/** Something that somebody has asked for. */
export interface PersonalCall {
  readonly source: string;
  /** Who, also where the data is shared: the backend may want to know, or to refuse. */
  readonly user: string;
  /** The custom partition it is about. Absent: it is about none. */
  readonly partition?: string;
}

export interface UploadCall extends PersonalCall {
  /** The same for every attempt at one upload, so that the backend can tell a repetition. */
  readonly opId: string;
  readonly id: string;
}

/** The backend said no, and will say it again. */
export class AdapterRefusal extends Error {
  override readonly name = 'AdapterRefusal';
  readonly kind: 'conflict' | 'rejected';

  constructor(kind: 'conflict' | 'rejected', detail: string) {
    super(detail);
    this.kind = kind;
  }
}

/** A failure that the adapter has logged itself, with all it knows: whoever gets it does not log it again. */
export class LoggedFailure extends Refusal {
  override readonly cause: Refusal;

  constructor(failure: Refusal) {
    const { code, message, flaws, retryAfterS } = failure;
    super(code, message, flaws, retryAfterS);
    this.cause = failure;
  }
}
