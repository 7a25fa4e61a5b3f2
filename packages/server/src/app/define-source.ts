import { AdapterRefusal } from '@tidemark/core/ports';
import type { JsonValue } from '@tidemark/protocol';
import type { SourceSetting } from '../config/source-settings.ts';

export type Attributes = Readonly<Record<string, JsonValue>>;
/** Objects by id. */
export type Objects = Readonly<Record<string, Attributes>>;

export interface SourceCall {
  /** The user whose data it is. Null if the source is shared by all users, and in queries for a group. */
  readonly user: string | null;
  /** The name that `partition` returned for the user, or the group if the data belongs to groups. Null if the partition is the user's own. */
  readonly partition: string | null;
}

/** A call on behalf of a user. */
export interface PersonalSourceCall extends SourceCall {
  /** The user, also if the source is shared. */
  readonly user: string;
}

export interface ChangeCall extends PersonalSourceCall {
  /** The same at every attempt: a change that was made under this id must not be made again. */
  readonly op_id: string;
  readonly id: string;
}

/** `seen` are the values that the device saw, if the source detects conflicts: of what it changes, or of the object that it deletes. */
export interface SeenChangeCall extends ChangeCall {
  readonly seen?: Attributes;
}

/**
 * A source with its functions: attributes as in the configuration, and the calls that Tidemark may make. Without a
 * function the call is not supported: uploads of that kind are rejected, searches are not available.
 */
export interface SourceDefinition extends Partial<Omit<SourceSetting, 'name' | 'adapter'>> {
  /** Defaults to the name of the file. */
  readonly name?: string;
  /** Returns all objects; objects that are missing from the result are deleted. */
  readonly query: (call: SourceCall) => Objects | Promise<Objects>;
  /** Returns the id of the new object; `id` is the temporary id of the device. */
  readonly create?: (call: ChangeCall & { readonly attributes: Attributes }) => string | Promise<string>;
  /** `attributes` are the changed ones, `removed` the names of those to remove. */
  readonly update?: (
    call: SeenChangeCall & { readonly attributes: Attributes; readonly removed: readonly string[] },
  ) => void | Promise<void>;
  readonly delete?: (call: SeenChangeCall) => void | Promise<void>;
  /**
   * Returns the name of the partition for the data of a user. Users with the same name share one query and one copy.
   * Null: the user's own partition, or with the `partition_type` `group` no group. It is called whenever a device
   * syncs, so it should be fast.
   */
  readonly partition?: (user: string) => string | null | Promise<string | null>;
  /**
   * Returns the groups of a user, instead of those set in Tidemark. Only for sources with the `partition_type` `group`. It
   * is called whenever a device syncs, so it should be fast.
   */
  readonly groups?: (user: string) => readonly string[] | Promise<readonly string[]>;
  readonly search?: (call: PersonalSourceCall & { readonly params: JsonValue }) => Objects | Promise<Objects>;
}

/** Returns the definition unchanged; it only checks the types. */
export function defineSource<T extends SourceDefinition>(definition: T): T {
  return definition;
}

/** Creates the error by which a function rejects a change; the device receives the reason. Other errors are retried. */
export function rejected(why: string): Error {
  return new AdapterRefusal('rejected', why);
}

/** Creates the error for a change that was made on an outdated version of the object. */
export function conflict(why: string): Error {
  return new AdapterRefusal('conflict', why);
}
