import type { JsonValue } from '@tidemark/protocol';
import type { Attributes } from '../state/rows.ts';
import type { Observable } from '../view/observable.ts';
import type { SyncedObject } from '../view/source-view.ts';

/** How deep typed paths reach; deeper values need attributes without a type. */
type Depth = readonly [never, 0, 1, 2];

/** The paths of a type: `total`, `address.city`. Any text where the attributes have no type. */
export type Path<A, D extends number = 3> = string extends keyof A
  ? string
  : { [K in keyof A & string]: K | NestedPath<K, NonNullable<A[K]>, D> }[keyof A & string];

type NestedPath<K extends string, V, D extends number> = D extends 0
  ? never
  : V extends readonly unknown[]
    ? never
    : V extends object
      ? `${K}.${Path<V, Depth[D] & number>}`
      : never;

/** The type of the value at a path; any JSON where it is not known. */
export type ValueAt<A, P extends string> = P extends keyof A
  ? NonNullable<A[P]> | Extract<A[P], null>
  : P extends `${infer K}.${infer Rest}`
    ? K extends keyof A
      ? ValueAt<NonNullable<A[K]>, Rest>
      : JsonValue
    : JsonValue;

/**
 * What a value must fulfil, all of it. A comparison never holds between different types; `ne` holds for a missing value;
 * null is a value, which `exists` counts.
 */
export interface Operators<V> {
  readonly eq?: V;
  readonly ne?: V;
  readonly lt?: V;
  readonly lte?: V;
  readonly gt?: V;
  readonly gte?: V;
  readonly in?: readonly V[];
  /** The value is a text that begins with this one. */
  readonly prefix?: string;
  /** True: the object has the attribute; false: it does not. */
  readonly exists?: boolean;
}

/** A value alone means `eq`. An object is only compared by `{ eq: … }`. */
export type Condition<V> = Operators<V> | Exclude<V, Readonly<Record<string, unknown>>>;

interface Combinators<W> {
  readonly and?: readonly W[];
  readonly or?: readonly W[];
  readonly not?: W;
}

/**
 * Conditions by path, all of which must hold. A dot leads into a value. A backslash makes the next character part of the
 * name: `a\\.b` is the attribute "a.b", `\\or` the attribute "or".
 */
export type Where<A = Attributes> = string extends keyof A
  ? AnyWhere
  : { readonly [P in Path<A>]?: Condition<ValueAt<A, P>> } & Combinators<Where<A>>;

/** `JsonValue` also stands for operators: without a type, nothing tells them from values. */
export interface AnyWhere extends Combinators<AnyWhere> {
  readonly [path: string]: Condition<JsonValue> | AnyWhere | readonly AnyWhere[] | undefined;
}

export type Direction = 'asc' | 'desc';

/** Paths, the most significant first. Objects that are equal in all of them are sorted by id, ascending. */
export type OrderBy<A = Attributes> = OrderTerm<A> | readonly OrderTerm<A>[];

type OrderTerm<A> = Path<A> | { readonly [P in Path<A>]?: Direction };

/** A source for a relation: its name, or the `Source` itself, which brings its type. */
export type SourceRef<B = never> = string | TypedSource<B>;

interface TypedSource<B> extends Observable<readonly SyncedObject<B>[]> {
  readonly name: string;
}

/**
 * A relation: the name of an attribute that the source declares in `references`; or the objects of another source that
 * point to this one with `by`; or the one that this one points to with `via`.
 */
export type Relation =
  | string
  | { readonly source: SourceRef<object>; readonly by: string }
  | { readonly source: SourceRef<object>; readonly via: string };

export type Include = Readonly<Record<string, Relation>>;

/** What a query asks for. Without any member it is all objects, sorted by id. */
export interface QueryOptions<A = Attributes, I extends Include = Include> {
  readonly where?: Where<A> | undefined;
  readonly orderBy?: OrderBy<A> | undefined;
  /** The objects of the result at most. */
  readonly limit?: number | undefined;
  /** The objects left out at the beginning. */
  readonly offset?: number | undefined;
  readonly include?: I | undefined;
}

/** What a long list asks for, page by page. */
export interface PagesOptions<A = Attributes, I extends Include = Include>
  extends Omit<QueryOptions<A, I>, 'limit' | 'offset'> {
  /** The objects of each page. */
  readonly size: number;
}

type AttributesOf<S> = S extends TypedSource<infer B> ? (keyof B extends never ? Attributes : B) : Attributes;

type Included<I extends Include> = { readonly [N in keyof I]: Related<I[N]> };

/** The objects of a relation; of several kinds of relations, any of them. */
type Related<R extends Relation> = R extends { readonly source: infer S; readonly by: string }
  ? readonly SyncedObject<AttributesOf<S>>[]
  : R extends { readonly source: infer S }
    ? SyncedObject<AttributesOf<S>> | undefined
    : SyncedObject | undefined;

/** An object of a result. `included` has its relations by the names that the query gave them. */
export type QueriedObject<A, I extends Include> = [keyof I] extends [never]
  ? SyncedObject<A>
  : SyncedObject<A> & { readonly included: Included<I> };
