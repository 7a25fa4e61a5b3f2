import type { AttributesOfSource, JsonValue, SourceName, SourceTypes, Untyped } from '@tidemark/protocol';
import type { Attributes, ObjectsGiven } from '../push/objects.ts';

/** Field names are those of the protocol, as in the documentation. */
export interface AuthenticateCall {
  readonly login: string;
  readonly password: string;
}

export interface QueryCall {
  readonly source: string;
  /** The user; null when the data is shared. */
  readonly user_id: string | null;
  /** `app` when all users share the data, `user` when it is this user's, `group` when it is a group's; null: unknown. */
  readonly partition: string | null;
  /** The group, when the data is a group's. */
  readonly group?: string;
}

export interface SearchCall {
  readonly source: string;
  /** The user who asks, also when the data is shared. */
  readonly user_id: string;
  /** The group, when the data is a group's. */
  readonly group?: string;
  /** The parameters of the device. App and backend define their form. */
  readonly params: JsonValue;
}

export interface UploadCall {
  readonly source: string;
  /** The user who made the change, also when the data is shared. */
  readonly user_id: string;
  /** The group, when the data is a group's. */
  readonly group?: string;
  /** The id of the change, the same for every attempt. Store it with the effect, so that the effect happens once. */
  readonly op_id: string;
  readonly id: string;
}

/** Where the bytes of a file are, for a while. Whoever has the URL can read them, so it should not be logged. */
export interface FileLink {
  readonly url: string;
  readonly expires_at: string;
}

/** `id` is the temporary id of the device, until it knows the backend's id. */
export interface CreateCall<A = Attributes> extends UploadCall {
  readonly attributes: A;
  /** Links to the files that the attributes refer to, by SHA-256. Absent: they refer to none. */
  readonly files?: Readonly<Record<string, FileLink>>;
}

export interface DeleteCall<A = Attributes> extends UploadCall {
  /**
   * The values that the device saw, if the source detects conflicts: of the attributes that it changes, or of the whole object that it
   * deletes. An attribute that is missing had no value.
   */
  readonly seen?: Partial<A>;
}

/** Holds only the attributes that changed. The value null is stored, it does not remove the attribute. */
export interface UpdateCall<A = Attributes> extends DeleteCall<A> {
  readonly attributes: Partial<A>;
  /** The names of the attributes to remove. */
  readonly removed: readonly string[];
  /** Links to the files that the attributes refer to, by SHA-256. Absent: they refer to none. */
  readonly files?: Readonly<Record<string, FileLink>>;
}

/** What a handler may return for a change that it has made. */
export interface ChangeDone {
  /** True: the backend pushes the object by itself. Tidemark writes the outcome and nothing else, so that it never undoes a later push. */
  readonly pushed?: boolean;
}

/** Returned by `query`: what is stored stays, because the backend pushes every change by itself. */
export const UNCHANGED: unique symbol = Symbol('unchanged');

export interface CallContext {
  /** Aborted when Tidemark no longer waits for the answer, if the runtime supports it. */
  readonly signal: AbortSignal;
  /** The id of this attempt, for logs. */
  readonly webhookId: string;
}

type Answer<T> = T | Promise<T>;

/**
 * The handlers of one source. A call without a handler is not supported. Attributes come from devices and are not checked
 * against their type.
 */
export interface SourceHandlers<A = Attributes> {
  /** Returns all objects of the user, or all objects of a shared source. Large answers are best returned as an iterable. */
  query?(call: QueryCall, context: CallContext): Answer<ObjectsGiven<A> | typeof UNCHANGED>;
  /** Returns the backend's id for the object, which may be the given one. */
  create?(call: CreateCall<A>, context: CallContext): Answer<{ readonly id: string | number }>;
  update?(call: UpdateCall<A>, context: CallContext): Answer<void> | Answer<ChangeDone>;
  delete?(call: DeleteCall<A>, context: CallContext): Answer<void> | Answer<ChangeDone>;
  search?(call: SearchCall, context: CallContext): Answer<ObjectsGiven<A>>;
}

/** The handlers of sources, by name. */
export type HandlersBySource<S extends SourceTypes = Untyped> = string extends keyof S
  ? Readonly<Record<string, SourceHandlers>>
  : { readonly [N in SourceName<S>]?: SourceHandlers<AttributesOfSource<S, N>> };

/**
 * Null: login or password is wrong. Without `user_id`, the login is the id of the user. `groups` replaces the groups of the
 * user; without it they stay.
 */
export type Authenticate = (
  call: AuthenticateCall,
  context: CallContext,
) => Answer<{ readonly user_id?: string | undefined; readonly groups?: readonly string[] | undefined } | null>;

/** Declares handlers with a type for their attributes: `sourceHandlers<WorkOrder>({ … })`. */
export function sourceHandlers<A extends object>(handlers: SourceHandlers<A>): SourceHandlers {
  return handlers as unknown as SourceHandlers;
}
