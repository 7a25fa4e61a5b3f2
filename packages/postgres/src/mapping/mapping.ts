/** What a mapping file says: which tables become which sources, whose the rows are, and what devices may write. */
export interface Mapping {
  /** The publication that has the tables. */
  readonly publication: string;
  /** The replication slot of the connector. */
  readonly slot: string;
  /** By the name of the table with its schema, such as `public.orders`. */
  readonly tables: Readonly<Record<string, TableMapping>>;
  /** Tables that say which users are members of which groups. */
  readonly members: Readonly<Record<string, MembersMapping>>;
  /** Tables whose rows become users. */
  readonly users: Readonly<Record<string, UsersMapping>>;
}

export interface TableMapping {
  readonly source: string;
  /** The columns that identify a row, in the order in which they make the object id. Default: the primary key. */
  readonly key?: readonly string[];
  /** Column → attribute. Default: every column that is not in the key, under its own name. */
  readonly columns?: Readonly<Record<string, string>>;
  readonly owner: OwnerMapping;
  /** The columns that devices may write. Default: none. */
  readonly writable?: readonly string[];
}

/** Whose data a row is. */
export type OwnerMapping =
  | 'shared'
  /** The column that holds the login of the user, or the name of the group. A row with null there belongs to nobody. */
  | { readonly user: string }
  | { readonly group: string }
  /** The owner of the row of another mapped table that the columns refer to by its key. */
  | { readonly through: readonly string[]; readonly parent: string };

/** One row makes one user a member of one group. */
export interface MembersMapping {
  readonly user: string;
  readonly group: string;
}

export interface UsersMapping {
  /** The column with the login. */
  readonly login: string;
  /** Column → attribute of the user. */
  readonly attributes?: Readonly<Record<string, string>>;
}
