/** A table whose rows devices may change, as the statements need it. */
export interface WrittenTable {
  readonly schema: string;
  readonly name: string;
  /** As the mapping names it: `public.orders`. */
  readonly label: string;
  readonly source: string;
  readonly key: readonly KeyColumn[];
  /** The columns that devices may write. */
  readonly columns: readonly WrittenColumn[];
  readonly owner: WrittenOwner;
}

export interface TypedColumn {
  readonly name: string;
  /** As `CREATE TABLE` writes it. */
  readonly typeName: string;
}

export interface KeyColumn extends TypedColumn {
  /** Whether the database chooses a value when none is given. */
  readonly hasDefault: boolean;
}

export interface WrittenColumn extends TypedColumn {
  readonly attribute: string;
}

export type WrittenOwner =
  | { readonly kind: 'shared' }
  | { readonly kind: 'user' | 'group'; readonly column: TypedColumn }
  | {
      readonly kind: 'through';
      /** The columns that refer to the key of the parent, in its order. */
      readonly columns: readonly string[];
      readonly parent: {
        readonly schema: string;
        readonly name: string;
        readonly key: readonly string[];
        readonly ownerKind: 'user' | 'group';
        readonly ownerColumn: string;
      };
    };

/** Whose data a device changes. */
export interface Uploader {
  readonly user: string;
  /** The group, when the data is a group's. */
  readonly group: string | null;
}

/** The text that the owner's column must have; null: the data is everybody's. */
export function ownerText({ owner }: WrittenTable, { user, group }: Uploader): string | null {
  if (owner.kind === 'shared') return null;
  const kind = owner.kind === 'through' ? owner.parent.ownerKind : owner.kind;
  return kind === 'user' ? user : (group ?? '');
}
