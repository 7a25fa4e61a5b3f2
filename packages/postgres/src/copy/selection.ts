import { columnsOf, type MappedTable } from '../apply/row.ts';
import type { OwnerPlan, PlannedTable, TablePlan } from '../mapping/plan.ts';
import { quoteIdentifier, quoteTable } from '../sql/quote.ts';

/** Which rows of a table are read. */
export type Selection =
  | { readonly kind: 'all' }
  | { readonly kind: 'keys'; readonly keys: readonly (readonly string[])[] }
  /** The rows that refer to one of these keys of their parent. */
  | { readonly kind: 'children'; readonly parents: readonly (readonly string[])[] }
  /** The rows that belong to a user. */
  | { readonly kind: 'owner'; readonly login: string };

export interface ChunkQuery {
  readonly text: string;
  readonly parameters: readonly string[];
}

export interface ChunkTerms {
  readonly selection: Selection;
  /** Only rows behind this key; null: from the beginning. */
  readonly last: readonly string[] | null;
  readonly limit: number;
  /** The name of a type for a statement. */
  readonly typeName: (typeId: number) => string;
  readonly tableOf: (label: string) => TablePlan;
}

interface Column {
  readonly name: string;
  readonly typeId: number;
}

/**
 * The statement that reads one chunk in the order of the key. All parameters are texts that the server casts, because the driver
 * would change values of other types, such as times.
 */
export function chunkQuery(table: MappedTable, terms: ChunkTerms): ChunkQuery {
  const statement = new Statement(terms);
  const { key } = table.plan;
  const conditions = [
    ...statement.selected(table),
    ...(terms.last === null ? [] : [`${rowOf(key)} > ${statement.texts(terms.last, key)}`]),
  ];
  const columns = columnsOf(table).map(quoteIdentifier).join(', ');
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  const order = key.map(({ name }) => quoteIdentifier(name)).join(', ');
  const text = `SELECT ${columns} FROM ${rowsOf(table.plan)}${where} ORDER BY ${order} LIMIT ${terms.limit}`;
  return { text, parameters: statement.parameters };
}

/** The rows whose changes the stream sends under the name of the table: without those of tables that inherit from it. */
export function rowsOf(table: PlannedTable): string {
  return table.isPartitioned ? quoteTable(table) : `ONLY ${quoteTable(table)}`;
}

class Statement {
  readonly parameters: string[] = [];
  readonly #terms: ChunkTerms;

  constructor(terms: ChunkTerms) {
    this.#terms = terms;
  }

  selected(table: MappedTable): readonly string[] {
    const { selection } = this.#terms;
    if (selection.kind === 'all') return [];
    if (selection.kind === 'keys') return [this.#isOneOf(table.plan.key, table.plan.key, selection.keys)];
    if (selection.kind === 'owner') return [this.#isOwnedBy(table, selection.login)];
    const owner = table.kind === 'objects' ? table.plan.owner : null;
    if (owner?.kind !== 'through') throw new Error(`the table ${table.label} has no parent`);
    return [this.#isOneOf(owner.columns, this.#terms.tableOf(owner.parent).key, selection.parents)];
  }

  /** A row of parameters. */
  texts(values: readonly string[], types: readonly Column[]): string {
    return `(${values.map((value, index) => this.#cast(this.#add(value), types[index])).join(', ')})`;
  }

  #isOneOf(columns: readonly Column[], types: readonly Column[], keys: readonly (readonly string[])[]): string {
    const list = `jsonb_array_elements(${this.#add(JSON.stringify(keys))}::text::jsonb)`;
    const fields = types.map((type, index) => this.#cast(`(e ->> ${index})`, type));
    return `${rowOf(columns)} IN (SELECT ${fields.join(', ')} FROM ${list} AS e)`;
  }

  #isOwnedBy(table: MappedTable, login: string): string {
    if (table.kind === 'members') return this.#isText(table.plan.user, login);
    if (table.kind === 'users') return this.#isText(table.plan.login, login);
    return this.#isOwned(table.plan.owner, login);
  }

  #isOwned(owner: OwnerPlan, login: string): string {
    if (owner.kind === 'shared') return 'true';
    if (owner.kind !== 'through') return this.#isText(owner.column, login);
    const parent = this.#terms.tableOf(owner.parent);
    const keys = parent.key.map(({ name }) => quoteIdentifier(name)).join(', ');
    const condition = this.#isOwned(parent.owner, login);
    return `${rowOf(owner.columns)} IN (SELECT ${keys} FROM ${rowsOf(parent)} WHERE ${condition})`;
  }

  #isText(column: Column, value: string): string {
    return `${quoteIdentifier(column.name)} = ${this.#cast(this.#add(value), column)}`;
  }

  #cast(text: string, type: Column | undefined): string {
    return type === undefined ? text : `${text}::text::${this.#terms.typeName(type.typeId)}`;
  }

  #add(value: string): string {
    this.parameters.push(value);
    return `$${this.parameters.length}`;
  }
}

function rowOf(columns: readonly Column[]): string {
  return `(${columns.map(({ name }) => quoteIdentifier(name)).join(', ')})`;
}
