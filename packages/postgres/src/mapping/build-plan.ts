import { didYouMean } from '@tidemark/protocol';
import type { Catalogue, CatalogueColumn, CatalogueTable } from '../catalogue/catalogue.ts';
import { quoteIdentifier, quoteTable } from '../sql/quote.ts';
import { isPadded, leafType } from '../values/leaf-type.ts';
import type { Types } from '../values/type-info.ts';
import { existing, fittingTable } from './fitting-table.ts';
import type { Mapping, TableMapping, UsersMapping } from './mapping.ts';
import { type MappingProblem, MappingProblems } from './mapping-problems.ts';
import type {
  AttributePlan,
  ColumnPlan,
  MembersPlan,
  OwnerPlan,
  Plan,
  PlannedTable,
  TablePlan,
  UsersPlan,
} from './plan.ts';
import { planWriting } from './plan-writing.ts';

/** Joins a mapping with the catalogue. Throws a `MappingError` with everything that does not fit. */
export function buildPlan(mapping: Mapping, catalogue: Catalogue, file: string): Plan {
  const problems = new MappingProblems(file);
  const plan = new Planner(mapping, catalogue, problems).plan();
  problems.throwIfAny();
  return plan;
}

/** The plan as far as the mapping fits the database, so that everything else can be checked all the same, and what does not fit. */
export function fittingPlan(
  mapping: Mapping,
  catalogue: Catalogue,
  file: string,
): { readonly plan: Plan; readonly problems: readonly MappingProblem[] } {
  const problems = new MappingProblems(file);
  const { tables, members, users } = new Planner(mapping, catalogue, problems).plan();
  const plan = {
    tables: tables.map(fittingTable),
    // Without their columns these would be nothing.
    members: members.filter(({ user, group }) => existing([user, group]).length === 2),
    users: users
      .filter(({ login }) => existing([login]).length === 1)
      .map((one) => ({ ...one, attributes: existing(one.attributes) })),
  };
  return { plan, problems: problems.found };
}

type Path = readonly string[];

const LOOKS_LIKE_PASSWORD = /passw|pwd|secret/i;

const KIND_PROBLEMS: Readonly<Partial<Record<CatalogueTable['kind'], string>>> = {
  view: 'is no table: Postgres sends changes of tables only, so map the tables behind it',
  partition: 'is a partition of another table: map that one',
};

class Planner {
  readonly #mapping: Mapping;
  readonly #tables: ReadonlyMap<string, CatalogueTable>;
  readonly #types: Types;
  readonly #problems: MappingProblems;

  constructor(mapping: Mapping, catalogue: Catalogue, problems: MappingProblems) {
    this.#mapping = mapping;
    this.#tables = new Map(catalogue.tables.map((table) => [table.label, table]));
    this.#types = catalogue.types;
    this.#problems = problems;
  }

  plan(): Plan {
    const { tables, members, users } = this.#mapping;
    if (Object.keys(tables).length === 0) this.#problems.add(['tables'], 'map at least one table');
    this.#refuseSharedSources();
    return {
      tables: this.#each('tables', tables, (table, mapped, path) => this.#table(table, mapped, path)),
      members: this.#each('members', members, (table, mapped, path) => {
        const user = this.#column(table, mapped.user, [...path, 'user']);
        const group = this.#column(table, mapped.group, [...path, 'group']);
        return { ...this.#rowsOf(table, [user, group]), user, group } satisfies MembersPlan;
      }),
      users: this.#each('users', users, (table, mapped, path) => this.#users(table, mapped, path)),
    };
  }

  #table(table: CatalogueTable, mapped: TableMapping, path: Path): TablePlan {
    const key = this.#key(table, mapped, path);
    const owner = this.#owner(table, mapped, [...path, 'owner']);
    const attributes = this.#attributes(table, mapped.columns ?? ownNames(table, key), [...path, 'columns']);
    return {
      ...planned(table, key, this.#keepsOwners(table, owner)),
      source: mapped.source,
      sourceType: this.#sourceType(mapped),
      attributes,
      owner,
      writing: planWriting(
        { problems: this.#problems, mapping: this.#mapping, tables: this.#tables },
        { table, mapped, attributes, path },
      ),
    };
  }

  #key(table: CatalogueTable, { key }: TableMapping, path: Path): readonly ColumnPlan[] {
    if (key === undefined) {
      if (table.primaryKey.length === 0) {
        const problem = 'the table has no primary key: add one, or name the columns of a unique index as "key"';
        this.#problems.add(path, problem, [addKeySql(table)]);
      }
      return this.#columns(table, table.primaryKey, path);
    }
    const columns = this.#columns(table, key, [...path, 'key']);
    const isUnique = table.uniqueIndexes.some((index) => index.columns.every((column) => key.includes(column)));
    if (!isUnique)
      this.#problems.add([...path, 'key'], 'no unique index makes sure that these columns identify one row');
    for (const name of key) {
      const isNullable = table.columns.find((column) => column.name === name)?.isNullable ?? false;
      if (isNullable)
        this.#problems.add([...path, 'key'], `the column "${name}" may be null: a column of a key must be NOT NULL`);
    }
    return columns;
  }

  #owner(table: CatalogueTable, { owner }: TableMapping, path: Path): OwnerPlan {
    if (owner === 'shared') return { kind: 'shared' };
    if ('user' in owner) return { kind: 'user', column: this.#column(table, owner.user, [...path, 'user']) };
    if ('group' in owner) return { kind: 'group', column: this.#column(table, owner.group, [...path, 'group']) };
    const columns = this.#columns(table, owner.through, [...path, 'through']);
    this.#checkParent(columns, owner.parent, path);
    return { kind: 'through', columns, parent: owner.parent };
  }

  /** The parent is mapped, has an owner of its own, and is identified by as many columns. */
  #checkParent(columns: readonly ColumnPlan[], label: string, path: Path): void {
    const problem = this.#parentProblem(label);
    if (problem !== null) this.#problems.add([...path, 'parent'], problem);
    const key = this.#mapped(label)?.key ?? this.#tables.get(label)?.primaryKey ?? [];
    if (problem !== null || columns.length === key.length) return;
    const count = `the key of "${label}" has ${key.length} columns (${key.join(', ')})`;
    this.#problems.add([...path, 'through'], `${count}: name as many, in the same order`);
  }

  #parentProblem(label: string): string | null {
    const parent = this.#mapped(label);
    if (parent === undefined) {
      return `the table "${label}" is not mapped${this.#hint(label, Object.keys(this.#mapping.tables))}`;
    }
    if (parent.owner === 'shared') return `the rows of "${label}" are shared: write "owner": "shared" here as well`;
    if (!('through' in parent.owner)) return null;
    const problem = `"${label}" has a parent itself, and only one step is followed`;
    return `${problem}: add the column with the owner to this table or to "${label}"`;
  }

  #mapped(label: string): TableMapping | undefined {
    return Object.hasOwn(this.#mapping.tables, label) ? this.#mapping.tables[label] : undefined;
  }

  #sourceType({ owner }: TableMapping): TablePlan['sourceType'] {
    if (owner === 'shared') return 'shared';
    if ('user' in owner) return 'user';
    if ('group' in owner) return 'group';
    const parent = this.#mapped(owner.parent)?.owner;
    return parent !== undefined && parent !== 'shared' && 'user' in parent ? 'user' : 'group';
  }

  #keepsOwners({ identityColumns }: CatalogueTable, owner: OwnerPlan): boolean {
    if (owner.kind === 'shared') return false;
    return owner.kind === 'through' || !identityColumns.includes(owner.column.name);
  }

  #users(table: CatalogueTable, mapped: UsersMapping, path: Path): UsersPlan {
    const login = this.#column(table, mapped.login, [...path, 'login']);
    const attributes = this.#attributes(table, mapped.attributes ?? {}, [...path, 'attributes']);
    for (const { name } of attributes.filter(({ name }) => LOOKS_LIKE_PASSWORD.test(name))) {
      this.#problems.add(
        [...path, 'attributes', name],
        'looks like a password, which must not leave the database: take it out',
      );
    }
    return { ...this.#rowsOf(table, [login]), login, attributes };
  }

  /** Rows of members and users are identified by the key, or where there is none, by the columns that are mapped. */
  #rowsOf(table: CatalogueTable, columns: readonly ColumnPlan[]): PlannedTable {
    const names = table.primaryKey.length > 0 ? table.primaryKey : columns.map(({ name }) => name);
    const columnsOf = (name: string) => table.columns.filter((column) => column.name === name);
    const key = names.flatMap((name) => columnsOf(name).map((column) => this.#columnPlan(column)));
    return planned(table, key, !columns.every(({ name }) => table.identityColumns.includes(name)));
  }

  #attributes(table: CatalogueTable, names: Readonly<Record<string, string>>, path: Path): readonly AttributePlan[] {
    return Object.entries(names).map(([name, attribute]) => ({
      ...this.#column(table, name, [...path, name]),
      attribute,
    }));
  }

  #columns(table: CatalogueTable, names: readonly string[], path: Path): readonly ColumnPlan[] {
    return names.map((name) => this.#column(table, name, path));
  }

  #column(table: CatalogueTable, name: string, path: Path): ColumnPlan {
    const column = table.columns.find((one) => one.name === name);
    if (column === undefined) {
      const names = table.columns.map((one) => one.name);
      this.#problems.add(path, `the table "${table.label}" has no column "${name}"${this.#hint(name, names)}`);
      return { name, typeId: 0, typeModifier: -1 };
    }
    if (column.isGenerated) {
      this.#problems.add(
        path,
        `the column "${name}" is generated, and Postgres does not send such columns in the stream: take it out`,
      );
    }
    return this.#columnPlan(column);
  }

  #columnPlan({ name, typeId, typeModifier }: CatalogueColumn): ColumnPlan {
    const padded = isPadded(leafType(this.#types, typeId)) ? { isPadded: true } : {};
    return { name, typeId, typeModifier, ...padded };
  }

  #each<M, P>(
    section: 'tables' | 'members' | 'users',
    mapped: Readonly<Record<string, M>>,
    plan: (table: CatalogueTable, mapped: M, path: Path) => P,
  ): readonly P[] {
    return Object.entries(mapped).flatMap(([label, one]): P[] => {
      const table = this.#find(label, [section, label]);
      return table === null ? [] : [plan(table, one, [section, label])];
    });
  }

  #find(label: string, path: Path): CatalogueTable | null {
    const table = this.#tables.get(label);
    if (table === undefined) {
      const hint = label.includes('.') ? this.#hint(label, this.#tables.keys()) : this.#hintForSchema(label);
      this.#problems.add(path, `the database has no table "${label}"${hint}`);
      return null;
    }
    const problem = KIND_PROBLEMS[table.kind];
    if (problem === undefined) return this.#logged(table, path);
    this.#problems.add(path, problem);
    return null;
  }

  #logged(table: CatalogueTable, path: Path): CatalogueTable {
    const sql = [`ALTER TABLE ${quoteTable(table)} SET LOGGED`];
    if (!table.isLogged)
      this.#problems.add(path, 'the table is unlogged: Postgres sends changes of logged tables only', sql);
    return table;
  }

  #hintForSchema(name: string): string {
    const found = [...this.#tables.values()].find((table) => table.name === name);
    return found === undefined
      ? ': write it with its schema, such as "public.orders"'
      : `: did you mean "${found.label}"?`;
  }

  #hint(word: string, known: Iterable<string>): string {
    const similar = didYouMean(word, known);
    return similar === null ? '' : `: did you mean "${similar}"?`;
  }

  /** Two tables in one source would take each other's rows for their own. */
  #refuseSharedSources(): void {
    const first = new Map<string, string>();
    for (const [label, { source }] of Object.entries(this.#mapping.tables)) {
      const other = first.get(source);
      if (other === undefined) first.set(source, label);
      else
        this.#problems.add(
          ['tables', label, 'source'],
          `"${source}" is the source of "${other}" already: give each table its own`,
        );
    }
  }
}

/** The statement that gives a table a primary key: of columns that identify rows already, or of a new one. */
function addKeySql(table: CatalogueTable): string {
  const column = (name: string) => table.columns.find((one) => one.name === name);
  const index = table.uniqueIndexes.find(({ columns }) => columns.every((name) => column(name)?.isNullable === false));
  const alter = `ALTER TABLE ${quoteTable(table)} ADD`;
  if (index !== undefined) return `${alter} PRIMARY KEY (${index.columns.map(quoteIdentifier).join(', ')})`;
  const name = ['id', 'row_id', 'tidemark_row_id'].find((one) => column(one) === undefined) ?? 'id';
  return `${alter} COLUMN ${quoteIdentifier(name)} bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY`;
}

function planned(
  { schema, name, label, kind }: CatalogueTable,
  key: readonly ColumnPlan[],
  keepsOwners: boolean,
): PlannedTable {
  return { schema, name, label, isPartitioned: kind === 'partitioned', key, keepsOwners };
}

/** Every column but those of the key and generated ones, under its own name. */
function ownNames(table: CatalogueTable, key: readonly ColumnPlan[]): Readonly<Record<string, string>> {
  const names = table.columns.filter(({ isGenerated }) => !isGenerated).map(({ name }) => name);
  return Object.fromEntries(
    names.filter((name) => !key.some((column) => column.name === name)).map((name) => [name, name]),
  );
}
