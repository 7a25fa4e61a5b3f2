import { AdapterRefusal } from '@tidemark/core';
import type { JsonValue } from '@tidemark/protocol';
import type { SourceSetting } from '../config/source-settings.ts';

export type Attributes = Readonly<Record<string, JsonValue>>;
/** A hash of hashes: object id → attributes. */
export type Objects = Readonly<Record<string, Attributes>>;

export interface SourceCall {
  /** Whose data it is; null when the source is shared by all users, and in queries of a custom partition. */
  readonly user: string | null;
  /** What `partition` has answered for the user; null: it is the user's own, or there is no `partition`. */
  readonly partition: string | null;
}

/** Something that somebody has asked for. */
export interface PersonalSourceCall extends SourceCall {
  /** Who, whether the source is shared or not. */
  readonly user: string;
}

export interface ChangeCall extends PersonalSourceCall {
  /** The same at every attempt: a change that was done under it must not be done again. */
  readonly op_id: string;
  readonly id: string;
}

/**
 * A source and how it is filled: its attributes as in the configuration, and what Tidemark may ask of it. Whatever is
 * left out cannot be done: uploads of that kind are rejected, searches not available.
 */
export interface SourceDefinition extends Partial<Omit<SourceSetting, 'name' | 'adapter'>> {
  /** The name of the file when left out. */
  readonly name?: string;
  /** All objects there are; what is missing is deleted. */
  readonly query: (call: SourceCall) => Objects | Promise<Objects>;
  /** Answers the id under which the object is kept from now on; `id` is the device's temporary one. */
  readonly create?: (call: ChangeCall & { readonly attributes: Attributes }) => string | Promise<string>;
  readonly update?: (call: ChangeCall & { readonly attributes: Attributes }) => void | Promise<void>;
  readonly delete?: (call: ChangeCall) => void | Promise<void>;
  /**
   * In which partition a user's data is. Users for whom it answers the same name share everything: one query, one copy.
   * Null: the user's own. Only for sources whose `partition_type` is `user`. It is asked whenever a device syncs, so it
   * should be quick.
   */
  readonly partition?: (user: string) => string | null | Promise<string | null>;
  readonly search?: (call: PersonalSourceCall & { readonly params: JsonValue }) => Objects | Promise<Objects>;
}

/** Only for the types: what is defined is what was given. */
export function defineSource<T extends SourceDefinition>(definition: T): T {
  return definition;
}

/** To be thrown: the change is refused, and the device is told why. Anything else that is thrown is tried again. */
export function rejected(why: string): Error {
  return new AdapterRefusal('rejected', why);
}

/** To be thrown: the object is not what the change was made on. */
export function conflict(why: string): Error {
  return new AdapterRefusal('conflict', why);
}
