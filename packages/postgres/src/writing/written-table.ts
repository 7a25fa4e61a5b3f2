import type { LeafType } from '../values/leaf-type.ts';

/** A table whose rows devices may change, as the statements need it. */
export interface WrittenTable {
  readonly schema: string;
  readonly name: string;
  /** As the mapping names it: `public.orders`. */
  readonly label: string;
  readonly source: string;
  readonly key: readonly KeyColumn[];
  /** The columns that devices have, also those that they may not write. */
  readonly columns: readonly WrittenColumn[];
  readonly owner: WrittenOwner;
  readonly mayCreate: boolean;
  readonly mayDelete: boolean;
  /** Whether an update may give the row to anybody. */
  readonly mayHandOver: boolean;
}

export interface TypedColumn {
  readonly name: string;
  /** Without a length or a precision: the column has them, and they may change. */
  readonly typeName: string;
  /** What its values are made of: the type below domains and arrays. */
  readonly leaf: LeafType;
}

export interface KeyColumn extends TypedColumn {
  /** Whether the database chooses a value when none is given. */
  readonly hasDefault: boolean;
}

export interface WrittenColumn extends TypedColumn {
  readonly attribute: string;
  /** Whether devices may give it to a row that is there, and to a new one. */
  readonly inUpdate: boolean;
  readonly inCreate: boolean;
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
        readonly ownerColumn: TypedColumn;
      };
    };

/** Whose data a device changes. */
export interface Uploader {
  readonly user: string;
  /** The group, when the data is a group's. */
  readonly group: string | null;
}

/** The text that the owner's column must have; null: the data is everybody's. */
export function ownerText(table: WrittenTable, { user, group }: Uploader): string | null {
  const kind = ownerKind(table);
  if (kind === 'shared') return null;
  return kind === 'user' ? user : (group ?? '');
}

export function ownerKind({ owner }: WrittenTable): 'shared' | 'user' | 'group' {
  return owner.kind === 'through' ? owner.parent.ownerKind : owner.kind;
}
