import type {
  AttributesOfSource,
  Device,
  RelativesOf,
  Source,
  SourceTypes,
  Untyped,
  UntypedName,
} from '@tidemark/client';

/**
 * An app adds the types of its sources here, and hooks know every source by its name:
 * `declare module '@tidemark/react' { interface Register { sources: Sources } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: apps add to it.
export interface Register {}

/** The types of the sources of the app, if it has registered them. */
type Registered = Register extends { readonly sources: infer S extends SourceTypes } ? S : Untyped;

/** The device of the app, with the types of its sources. */
export type RegisteredDevice = Device<Registered>;

/** The names of sources of the app; none if it has not registered types. */
export type RegisteredName = string extends keyof Registered ? never : keyof Registered & string;

export type RegisteredAttributes<N extends RegisteredName> = AttributesOfSource<Registered, N>;

export type RegisteredRelatives<N extends RegisteredName> = RelativesOf<Registered, N>;

export type RegisteredSource<N extends RegisteredName> = Source<RegisteredAttributes<N>, RegisteredRelatives<N>>;

/** Any name, if the app has not registered types. */
export type AnyName = UntypedName<Registered>;
