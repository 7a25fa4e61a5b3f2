import type { JsonValue } from '@tidemark/protocol';
import type { Attributes, ObjectsGiven } from '../push/objects.ts';

/** In the words of the wire, so that what the documentation says is what the code sees. */
export interface AuthenticateCall {
  readonly login: string;
  readonly password: string;
}

export interface QueryCall {
  readonly source: string;
  /** For whom; null when the data is shared. */
  readonly user_id: string | null;
  /** `app` when the data is shared by all users, `user` when it is this user's; null when Tidemark does not say. */
  readonly partition: string | null;
}

export interface SearchCall {
  readonly source: string;
  /** Who asks, also when the data is shared. */
  readonly user_id: string;
  /** What the device asked for; its form is between the app and the backend. */
  readonly params: JsonValue;
}

export interface UploadCall {
  readonly source: string;
  /** Who made the change, also when the data is shared. */
  readonly user_id: string;
  /** Names this one change, the same at every attempt. Keep it with the effect, and the effect happens once. */
  readonly op_id: string;
  readonly id: string;
}

/** `id` is what the device calls the object until it knows the backend's id. */
export interface CreateCall<A = Attributes> extends UploadCall {
  readonly attributes: A;
}

/** Only the attributes that changed; null stands for itself, it does not remove. */
export interface UpdateCall<A = Attributes> extends UploadCall {
  readonly attributes: Partial<A>;
}

export type DeleteCall = UploadCall;

export interface CallContext {
  /** Ends when Tidemark no longer waits for the answer, where the runtime tells. */
  readonly signal: AbortSignal;
  /** Of this attempt, for logs. */
  readonly webhookId: string;
}

type Answer<T> = T | Promise<T>;

/**
 * What a backend can do with one source; what is left out it cannot do. The attributes that arrive were made on a device:
 * their type is a wish, so check what matters.
 */
export interface SourceHandlers<A = Attributes> {
  /** All objects of the user or, of a shared source, all objects. Large answers are best given one by one. */
  query?(call: QueryCall, context: CallContext): Answer<ObjectsGiven<A>>;
  /** Answers the backend's id for the object, which may be the one given. */
  create?(call: CreateCall<A>, context: CallContext): Answer<{ readonly id: string | number }>;
  update?(call: UpdateCall<A>, context: CallContext): Answer<void>;
  delete?(call: DeleteCall, context: CallContext): Answer<void>;
  search?(call: SearchCall, context: CallContext): Answer<ObjectsGiven<A>>;
}

/** Null: login or password is wrong. Without `user_id` the user is called as they logged in. */
export type Authenticate = (
  call: AuthenticateCall,
  context: CallContext,
) => Answer<{ readonly user_id?: string | undefined } | null>;

/** Handlers whose attributes have a type of their own: `sourceHandlers<WorkOrder>({ … })`. */
export function sourceHandlers<A extends object>(handlers: SourceHandlers<A>): SourceHandlers {
  return handlers as unknown as SourceHandlers;
}
