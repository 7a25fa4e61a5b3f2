/** What a mapping file says: which tables become which sources, whose the rows are, and what devices may write. */
export interface Mapping {
  /** The publication that has the tables. */
  readonly publication: string;
  /** The replication slot of the connector. */
  readonly slot: string;
  /** How changes of devices are made. Absent: by the statements of the connector, in the role that connects. */
  readonly writing?: WritingMapping;
  /** By the name of the table with its schema, such as `public.orders`. */
  readonly tables: Readonly<Record<string, TableMapping>>;
  /** Tables that say which users are members of which groups. */
  readonly members: Readonly<Record<string, MembersMapping>>;
  /** Tables whose rows become users. */
  readonly users: Readonly<Record<string, UsersMapping>>;
}

export interface WritingMapping {
  /** The role that changes rows, so that its grants and row-level security decide. */
  readonly role?: string;
  /** A module whose functions replace the statements of tables, by the name of the table. Its path begins at the mapping file. */
  readonly hooks?: string;
}

export interface TableMapping {
  readonly source: string;
  /** The columns that identify a row, in the order in which they make the object id. Default: the primary key. */
  readonly key?: readonly string[];
  /** Column → attribute. Default: every column that is not in the key, under its own name. */
  readonly columns?: Readonly<Record<string, string>>;
  readonly owner: OwnerMapping;
  /** The columns that devices may change. Default: none. */
  readonly writable?: readonly string[];
  /** What devices may do with whole rows. Default: nothing. */
  readonly devices?: DevicesMapping;
  /** Whether an update is refused when a column has another value than the device saw. Default: the source decides. */
  readonly conflicts?: 'last_writer' | 'detect';
}

export interface DevicesMapping {
  /** Whether devices may create rows. A list names columns that they may give to a new row, besides the writable ones. */
  readonly create?: boolean | readonly string[];
  readonly delete?: boolean;
  /** Whether a change may give a row to somebody else than the groups of its user. Default: no. */
  readonly handOver?: boolean;
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
