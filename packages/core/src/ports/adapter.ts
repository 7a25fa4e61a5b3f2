import { type JsonValue, Refusal } from '@tidemark/protocol';

/**
 * Connects a source to a customer's backend. Answers are not trusted: admission checks every object. A rejection that is
 * not an `AdapterRefusal` counts as temporary and is retried. A `Refusal` is reported with its own message; any other error
 * is reported as a failure of the adapter. An adapter bounds the time of every call and the memory for answers itself.
 */
export interface Adapter {
  /** True: an upload that refers to files comes when they have arrived, or after the longest wait. Absent: it comes at once. */
  readonly waitsForFiles?: boolean;
  query(call: QueryCall): Promise<QueryAnswer>;
  /** Returns the backend's id for the object. */
  create(call: UploadCall & { readonly attributes: JsonValue }): Promise<string>;
  update(call: UpdateCall): Promise<void> | Promise<ChangeAnswer>;
  delete(call: DeleteCall): Promise<void> | Promise<ChangeAnswer>;
  search?(call: PersonalCall & { readonly params: JsonValue }): Promise<ObjectsAnswer>;
  /**
   * Names the one group whose data of the source the user reads; null for the user's own data, or in a source of groups for
   * none. Called unless the data belongs to everybody, and not where `groups` answers. Absent: users have their own data.
   */
  partition?(call: { readonly source: string; readonly user: string }): Promise<string | null>;
  /** Returns the groups of a user. Called for sources with data of groups. Absent: groups are those set in Tidemark. */
  groups?(call: { readonly source: string; readonly user: string }): Promise<readonly string[]>;
}

/** Finds the adapter of a name; null when there is none. */
export interface Adapters {
  find(adapter: string): Adapter | null;
  /** The names of all adapters. Absent: the names in declarations are not checked. */
  names?(): readonly string[];
}

/** Checks logins. */
export interface Authenticator {
  /** Rejects when the backend cannot be asked. */
  authenticate(login: string, password: string): Promise<LoginAnswer>;
}

export type LoginAnswer =
  /** With groups, the user becomes a member of exactly these. */
  | { readonly kind: 'user'; readonly user: string; readonly groups?: readonly string[] }
  | { readonly kind: 'refused' }
  /** The backend does not support logins, and answered with this status. */
  | { readonly kind: 'not_handled'; readonly status: number };

/** What an adapter says of a change that it has made. */
export interface ChangeAnswer {
  /** True: the adapter pushes the object itself. Only the outcome is written here, so that it never undoes a later push. */
  readonly isPushed: boolean;
}

export type QueryAnswer = ObjectsAnswer | Unchanged;

/** The objects that are stored stay, because the adapter pushes every change by itself. */
export interface Unchanged {
  readonly isUnchanged: true;
}

/** A hash of hashes: as a value, or as JSON text that is still arriving. */
export type ObjectsAnswer = { readonly objects: unknown } | ArrivingAnswer;

export interface ArrivingAnswer {
  readonly chunks: AsyncIterable<string>;
  /** Called when the text is not what was asked for. The adapter records that, and returns the error for the caller. */
  onUnusable?(failure: Refusal): Refusal;
}

export interface QueryCall {
  readonly source: string;
  /** The user whose data it is; null for data of everybody or of a group. */
  readonly user: string | null;
  /** The name of the group, if the call is about the data of one. */
  readonly partition?: string;
}

/** A call on behalf of a user. */
export interface PersonalCall {
  readonly source: string;
  /** The user, also for shared data, so that the backend can check permissions. */
  readonly user: string;
  /** The name of the group, if the call is about the data of one. */
  readonly partition?: string;
}

export interface UpdateCall extends DeleteCall {
  /** The changed attributes. */
  readonly attributes: JsonValue;
  /** The attributes to remove from the object. */
  readonly removed: readonly string[];
}

export interface DeleteCall extends UploadCall {
  /**
   * The values that the device saw: of the attributes that an update changes, or of the whole object that is deleted. Given where the
   * source detects conflicts. An attribute that is missing had no value.
   */
  readonly seen?: JsonValue;
}

export interface UploadCall extends PersonalCall {
  /** The same for every attempt of one upload, so that the backend recognises repetitions. */
  readonly opId: string;
  readonly id: string;
}

const ADAPTER_REFUSAL = Symbol.for('tidemark.AdapterRefusal');

/**
 * A permanent refusal of the backend. `instanceof` recognises it by a symbol, because source modules create it with the class of
 * the installed package, while the server may run from a bundle with a class of its own.
 */
export class AdapterRefusal extends Error {
  override readonly name = 'AdapterRefusal';
  readonly [ADAPTER_REFUSAL] = true;
  readonly kind: 'conflict' | 'rejected';

  constructor(kind: 'conflict' | 'rejected', detail: string) {
    super(detail);
    this.kind = kind;
  }

  static override [Symbol.hasInstance](value: unknown): value is AdapterRefusal {
    return typeof value === 'object' && value !== null && ADAPTER_REFUSAL in value;
  }
}

/** A failure that the adapter has logged itself, so that callers do not log it again. */
export class LoggedFailure extends Refusal {
  override readonly cause: Refusal;

  constructor(failure: Refusal) {
    const { code, message, flaws, retryAfterS } = failure;
    super(code, message, flaws, retryAfterS);
    this.cause = failure;
  }
}
