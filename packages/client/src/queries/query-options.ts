import type { AttributesOfSource, JsonValue, SourceName, SourceTypes, Untyped } from '@tidemark/protocol';
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

/** What relations of a source lead to: sources by name, and those that its attributes refer to. */
export interface Relatives {
  readonly sources: SourceTypes;
  readonly references: { readonly [attribute: string]: string };
}

/** What relations of a source lead to, from the types of all sources. */
export type RelativesOf<S extends SourceTypes, N extends keyof S> = string extends keyof S
  ? Untyped
  : { readonly sources: S; readonly references: NonNullable<S[N]['references']> };

/** The `Source` for a relation, which brings its type. */
interface TypedSource<B> extends Observable<readonly SyncedObject<B>[]> {
  readonly name: string;
}

/**
 * A relation: the name of an attribute that the source declares in `references`; or the objects of another source that
 * point to this one with `by`; or the one that this one points to with `via`. The other source is named, or is a `Source`.
 */
export type Relation<R extends Relatives = Untyped> =
  | (keyof R['references'] & string)
  | RelationByName<R['sources']>
  | { readonly source: TypedSource<object>; readonly by: string }
  | { readonly source: TypedSource<object>; readonly via: string };

type RelationByName<S extends SourceTypes> = {
  readonly [N in SourceName<S>]:
    | { readonly source: N; readonly by: Path<AttributesOfSource<S, N>> }
    | { readonly source: N; readonly via: string };
}[SourceName<S>];

export type Include<R extends Relatives = Untyped> = Readonly<Record<string, Relation<R>>>;

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

type Included<I, R extends Relatives> = { readonly [N in keyof I]: Related<I[N], R> };

/** The objects of a relation; of several kinds of relations, any of them. */
type Related<I, R extends Relatives> = I extends { readonly source: infer T; readonly by: string }
  ? readonly SyncedObject<TargetOf<T, R>>[]
  : I extends { readonly source: infer T }
    ? SyncedObject<TargetOf<T, R>> | undefined
    : string extends keyof R['references']
      ? SyncedObject | undefined
      : I extends keyof R['references']
        ? SyncedObject<TargetOf<R['references'][I], R>> | undefined
        : SyncedObject | undefined;

/** The attributes of the source of a relation, which is named or is a `Source`. */
type TargetOf<T, R extends Relatives> =
  T extends TypedSource<infer B>
    ? keyof B extends never
      ? Attributes
      : B
    : T extends SourceName<R['sources']>
      ? AttributesOfSource<R['sources'], T>
      : Attributes;

/** An object of a result. `included` has its relations by the names that the query gave them. */
export type QueriedObject<A, I extends Include, R extends Relatives = Untyped> = [keyof I] extends [never]
  ? SyncedObject<A>
  : SyncedObject<A> & { readonly included: Included<I, R> };
