/** A mapping joined with what the catalogue says: everything that copying and streaming need to know of a table. */
export interface Plan {
  readonly tables: readonly TablePlan[];
  readonly members: readonly MembersPlan[];
  readonly users: readonly UsersPlan[];
}

/** What tables, tables of members and tables of users have in common. */
export interface PlannedTable {
  readonly schema: string;
  readonly name: string;
  /** As the mapping file names it: `public.orders`. */
  readonly label: string;
  /** Whether its rows are in partitions. */
  readonly isPartitioned: boolean;
  /** The columns that identify a row, in the order in which they make the object id. */
  readonly key: readonly ColumnPlan[];
  /**
   * Whether the connector must keep whose each row is, because an update or delete does not say whose it was: the columns
   * that say so are not in the replica identity, or the owner is that of a parent.
   */
  readonly keepsOwners: boolean;
}

export interface TablePlan extends PlannedTable {
  readonly source: string;
  /** The type of the source; a table with a parent has the type of the parent's source. */
  readonly sourceType: 'shared' | 'user' | 'group';
  readonly attributes: readonly AttributePlan[];
  readonly owner: OwnerPlan;
  /** What devices may change; null: nothing. */
  readonly writing: WritingPlan | null;
}

export interface WritingPlan {
  /** Names of the columns that devices may change. */
  readonly columns: readonly string[];
  /** Names of the columns that a new row may be given; null: devices create none. */
  readonly createColumns: readonly string[] | null;
  readonly mayDelete: boolean;
  /** Whether a change may give a row to anybody. */
  readonly mayHandOver: boolean;
  /** Null: the source decides. */
  readonly conflicts: 'last_writer' | 'detect' | null;
  /** Attribute → the source whose objects it names, so that ids that devices have made up are replaced. */
  readonly references: Readonly<Record<string, string>>;
}

export interface ColumnPlan {
  readonly name: string;
  readonly typeId: number;
  readonly typeModifier: number;
  /** True: Postgres fills its values up with blanks, which are no part of a name. Absent: it does not. */
  readonly isPadded?: boolean;
}

export interface AttributePlan extends ColumnPlan {
  readonly attribute: string;
}

export type OwnerPlan =
  | { readonly kind: 'shared' }
  /** The column with the login of the user. */
  | { readonly kind: 'user'; readonly column: ColumnPlan }
  /** The column with the name of the group. */
  | { readonly kind: 'group'; readonly column: ColumnPlan }
  /** The columns refer to the key of the parent, in the order of its key. The owner of a parent is a user or a group. */
  | { readonly kind: 'through'; readonly columns: readonly ColumnPlan[]; readonly parent: string };

export interface MembersPlan extends PlannedTable {
  readonly user: ColumnPlan;
  readonly group: ColumnPlan;
}

export interface UsersPlan extends PlannedTable {
  readonly login: ColumnPlan;
  readonly attributes: readonly AttributePlan[];
}
