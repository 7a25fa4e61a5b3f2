import type { AttributeValues } from './translate.ts';

/** The type of one source. `tidemark types` writes it from the schema. */
export type SourceType = {
  readonly attributes: object;
  /** The attributes that hold ids of objects of another source: attribute → source. */
  readonly references?: { readonly [attribute: string]: string };
};

/** The types of sources by their names. */
export type SourceTypes = { readonly [source: string]: SourceType };

/**
 * Stands where an app has given no types: every name is that of a source, which may have any attributes. It is `any`, so that a device
 * with types is also one for functions that take any device.
 */
// biome-ignore lint/suspicious/noExplicitAny: no other type takes every device, and is taken for every device.
export type Untyped = any;

/** The names of sources; any text where the sources have no types. */
export type SourceName<S extends SourceTypes> = keyof S & string;

/** The names of sources of any attributes; no text where the sources have types. */
export type UntypedName<S extends SourceTypes> = string extends keyof S ? string : never;

/** The attributes of a source. */
export type AttributesOfSource<S extends SourceTypes, N extends keyof S> = string extends keyof S
  ? AttributeValues
  : S[N]['attributes'];
