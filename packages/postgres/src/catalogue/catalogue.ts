import type { Types } from '../values/type-info.ts';

/** What a database says about its tables. */
export interface Catalogue {
  /** Such as 150018 for 15.18. */
  readonly version: number;
  readonly tables: readonly CatalogueTable[];
  /** The types of all columns. */
  readonly types: Types;
}

export interface CatalogueTable {
  readonly id: number;
  readonly schema: string;
  readonly name: string;
  /** Schema and name with a dot between them, as a mapping names it. */
  readonly label: string;
  readonly kind: 'table' | 'partitioned' | 'partition' | 'view';
  /** False: its changes are not in the log, so nobody can be sent them. */
  readonly isLogged: boolean;
  /** What the statistics say; null: nobody has counted yet. */
  readonly estimatedRows: number | null;
  readonly identity: 'default' | 'nothing' | 'full' | 'index';
  /** The columns of the old row that an update or delete sends. */
  readonly identityColumns: readonly string[];
  readonly primaryKey: readonly string[];
  readonly uniqueIndexes: readonly UniqueIndex[];
  readonly columns: readonly CatalogueColumn[];
  readonly foreignKeys: readonly ForeignKey[];
  /** Whether row-level security may hide rows from whoever reads the table. */
  readonly hasRowSecurity: boolean;
}

export interface CatalogueColumn {
  readonly name: string;
  readonly typeId: number;
  readonly typeModifier: number;
  /** As `CREATE TABLE` writes it. */
  readonly typeName: string;
  /** The same without a length or a precision. */
  readonly bareTypeName: string;
  readonly isNullable: boolean;
  /** Whether the database chooses a value when none is given. */
  readonly hasDefault: boolean;
  /** The database calculates it, and does not send it in the stream. */
  readonly isGenerated: boolean;
  /** Whether large values are stored out of line. */
  readonly isToastable: boolean;
}

/** A unique index without a condition or expressions. */
export interface UniqueIndex {
  readonly name: string;
  readonly columns: readonly string[];
}

export interface ForeignKey {
  readonly columns: readonly string[];
  /** The label of the other table. */
  readonly parent: string;
  readonly parentColumns: readonly string[];
}
