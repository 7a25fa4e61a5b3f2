/** What the catalogue says about a type that is made of another one. */
export type TypeInfo =
  | { readonly kind: 'array'; readonly elementId: number; readonly delimiter: string }
  | { readonly kind: 'domain'; readonly baseId: number; readonly baseModifier: number }
  | { readonly kind: 'enum'; readonly labels: readonly string[] }
  | { readonly kind: 'other' };

/** Types by their number in `pg_type`. */
export type Types = ReadonlyMap<number, TypeInfo>;
