import { DatabaseError } from 'pg';
import { columnsOf, type MappedTable, type Row, textsOf } from '../apply/row.ts';
import type { ColumnPlan, MembersPlan, PlannedTable, TablePlan, UsersPlan } from '../mapping/plan.ts';
import { HEARTBEAT_PREFIX } from '../replication/heartbeat.ts';
import { objectId } from '../sql/object-id.ts';
import type { Sql } from '../sql/open-sql.ts';
import { quoteIdentifier, quoteTable } from '../sql/quote.ts';
import { chunkQuery, rowsOf, type Selection } from './selection.ts';
import { Snapshot } from './snapshot.ts';

/** Rows of a table as one snapshot sees them. */
export interface Chunk {
  /** By object id. */
  readonly rows: ReadonlyMap<string, Row>;
  /** The key of the last row; null: there is none. */
  readonly last: readonly string[] | null;
  /** Whether there are no rows behind them. */
  readonly isEnd: boolean;
  readonly snapshot: Snapshot;
}

export interface ChunkRequest {
  readonly table: MappedTable;
  readonly selection: Selection;
  readonly last: readonly string[] | null;
  readonly limit: number;
}

export const MARK_PREFIX = 'tidemark';

/** A type as statements name it, with the schema in which its operators are. */
interface KeyType {
  readonly name: string;
  readonly schema: string;
}

/** Reads tables in chunks, and writes marks into the log. */
export class TableReader {
  readonly #sql: Sql;
  readonly #tableOf: (label: string) => TablePlan;
  readonly #types = new Map<number, KeyType>();

  constructor(sql: Sql, tableOf: (label: string) => TablePlan) {
    this.#sql = sql;
    this.#tableOf = tableOf;
  }

  /** Writes a mark before and one after a chunk, so that the stream brings them in this order. */
  async readBetween(request: ChunkRequest, marks: { readonly low: string; readonly high: string }): Promise<Chunk> {
    await this.#loadTypes(request.table);
    await this.#mark(marks.low);
    const chunk = await this.#readPossible(request);
    await this.#mark(marks.high);
    return chunk;
  }

  async beat(content: string): Promise<void> {
    await this.#sql`SELECT pg_logical_emit_message(false, ${HEARTBEAT_PREFIX}, ${content})`;
  }

  /** Which transactions everybody sees now. */
  async snapshot(): Promise<Snapshot> {
    const [row] = await this.#sql`SELECT pg_current_snapshot()::text AS text`;
    return Snapshot.parse(String(row?.text));
  }

  /** Whether a row of one of the tables makes the user a member of the group. */
  async isMember(plans: readonly MembersPlan[], login: string, name: string): Promise<boolean> {
    for (const { user, group, ...plan } of plans) {
      if (await this.#hasRow(plan, [user, group], [login, name])) return true;
    }
    return false;
  }

  /** Whether a row of one of the tables names the user. */
  async isUser(plans: readonly UsersPlan[], login: string): Promise<boolean> {
    for (const plan of plans) if (await this.#hasRow(plan, [plan.login], [login])) return true;
    return false;
  }

  async #hasRow(table: PlannedTable, columns: readonly ColumnPlan[], texts: readonly string[]): Promise<boolean> {
    const conditions = columns.map(({ name }, index) => `${quoteIdentifier(name)}::text = $${index + 1}::text`);
    const text = `SELECT 1 FROM ${rowsOf(table)} WHERE ${conditions.join(' AND ')} LIMIT 1`;
    return (await this.#sql.unsafe(text, texts)).length > 0;
  }

  /** About how many rows a table has. */
  async estimate({ plan }: MappedTable): Promise<number> {
    const [row] = await this
      .#sql`SELECT greatest(reltuples, 0)::int8 AS rows FROM pg_class WHERE oid = ${quoteTable(plan)}::text::regclass`;
    return Number(row?.rows ?? 0);
  }

  async #mark(content: string): Promise<void> {
    await this.#sql`SELECT pg_logical_emit_message(true, ${MARK_PREFIX}, ${content})`;
  }

  /** A key or a login that is no value of the type of the column, such as a key from before another type, has no row. */
  async #readPossible(request: ChunkRequest): Promise<Chunk> {
    const { selection } = request;
    try {
      return await this.#read(request);
    } catch (error) {
      const keys = selection.kind === 'keys' ? selection.keys : selection.kind === 'owner' ? [[selection.login]] : [];
      if (keys.length === 0 || !isDataException(error)) throw error;
      const middle = keys.length >> 1;
      const readSome = (some: typeof keys) =>
        this.#readPossible({ ...request, selection: { kind: 'keys', keys: some } });
      if (keys.length === 1) return readSome([]);
      const first = await readSome(keys.slice(0, middle));
      const second = await readSome(keys.slice(middle));
      // What the first snapshot sees, the second one sees as well.
      return { ...first, rows: new Map([...first.rows, ...second.rows]) };
    }
  }

  async #read({ table, selection, last, limit }: ChunkRequest): Promise<Chunk> {
    const typeName = (typeId: number) => this.#types.get(typeId)?.name ?? 'text';
    const { text, parameters } = chunkQuery(table, { selection, last, limit, typeName, tableOf: this.#tableOf });
    const path = this.#searchPath(table);
    const [, snapshots, found] = await this.#sql.begin('isolation level repeatable read read only', (tx) =>
      Promise.all([
        tx.unsafe(`SET LOCAL search_path = ${path}`),
        tx`SELECT pg_current_snapshot()::text AS text`,
        // As the server writes values, which is how the stream has them, too.
        tx.texts(text, parameters),
      ]),
    );
    const columns = columnsOf(table);
    const rows = new Map<string, Row>();
    let lastKey: readonly string[] | null = null;
    for (const values of found) {
      const row = new Map(columns.map((column, index) => [column, values[index] ?? null] as const));
      lastKey = textsOf(row, table.plan.key);
      if (lastKey !== null) rows.set(objectId(lastKey), row);
    }
    const snapshot = Snapshot.parse(String(snapshots[0]?.text));
    return { rows, last: lastKey, isEnd: found.length < limit, snapshot };
  }

  /** Operators of a type from an extension, such as `citext`, are where it is. Those of Postgres still come first. */
  #searchPath(table: MappedTable): string {
    const schemas = [...typeIdsOf(table, this.#tableOf)].map((id) => this.#types.get(id)?.schema ?? 'pg_catalog');
    return [...new Set(['pg_catalog', ...schemas]), 'pg_temp'].map(quoteIdentifier).join(', ');
  }

  async #loadTypes(table: MappedTable): Promise<void> {
    for (const id of typeIdsOf(table, this.#tableOf)) {
      if (this.#types.has(id)) continue;
      // Without a length: "character" alone would mean one character.
      const [row] = await this.#sql`
        SELECT format_type(${id}::oid, -1) AS name, n.nspname AS schema
        FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = ${id}::oid`;
      this.#types.set(id, { name: String(row?.name), schema: String(row?.schema) });
    }
  }
}

/** SQLSTATE class 22: a value that its type does not have. */
function isDataException(error: unknown): boolean {
  return error instanceof DatabaseError && error.code?.startsWith('22') === true;
}

/** The types of the key of a table, of its owner, and of the keys of its parents. */
function typeIdsOf(table: MappedTable, tableOf: (label: string) => TablePlan): ReadonlySet<number> {
  const ids = new Set(table.plan.key.map(({ typeId }) => typeId));
  if (table.kind === 'members') ids.add(table.plan.user.typeId);
  if (table.kind === 'users') ids.add(table.plan.login.typeId);
  for (let plan = table.kind === 'objects' ? table.plan : null; plan !== null; ) {
    const { owner }: TablePlan = plan;
    if (owner.kind === 'user' || owner.kind === 'group') ids.add(owner.column.typeId);
    plan = owner.kind === 'through' ? tableOf(owner.parent) : null;
    for (const { typeId } of plan?.key ?? []) ids.add(typeId);
  }
  return ids;
}
