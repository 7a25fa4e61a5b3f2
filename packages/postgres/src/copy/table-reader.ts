import { columnsOf, type MappedTable, type Row, textsOf } from '../apply/row.ts';
import type { MembersPlan, TablePlan } from '../mapping/plan.ts';
import { HEARTBEAT_PREFIX } from '../replication/heartbeat.ts';
import { objectId } from '../sql/object-id.ts';
import type { Sql } from '../sql/open-sql.ts';
import { quoteIdentifier, quoteTable } from '../sql/quote.ts';
import { chunkQuery, type Selection } from './selection.ts';
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

/** Reads tables in chunks, and writes marks into the log. */
export class TableReader {
  readonly #sql: Sql;
  readonly #tableOf: (label: string) => TablePlan;
  readonly #typeNames = new Map<number, string>();

  constructor(sql: Sql, tableOf: (label: string) => TablePlan) {
    this.#sql = sql;
    this.#tableOf = tableOf;
  }

  /** Writes a mark before and one after a chunk, so that the stream brings them in this order. */
  async readBetween(request: ChunkRequest, marks: { readonly low: string; readonly high: string }): Promise<Chunk> {
    await this.#loadTypeNames(request.table);
    await this.#mark(marks.low);
    const chunk = await this.#read(request);
    await this.#mark(marks.high);
    return chunk;
  }

  async beat(content: string): Promise<void> {
    await this.#sql`SELECT pg_logical_emit_message(false, ${HEARTBEAT_PREFIX}, ${content})`;
  }

  async isMember({ user, group, ...plan }: MembersPlan, login: string, name: string): Promise<boolean> {
    const is = (column: string, index: number) => `${quoteIdentifier(column)}::text = $${index}::text`;
    const text = `SELECT 1 FROM ${quoteTable(plan)} WHERE ${is(user.name, 1)} AND ${is(group.name, 2)} LIMIT 1`;
    return (await this.#sql.unsafe(text, [login, name])).length > 0;
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

  async #read({ table, selection, last, limit }: ChunkRequest): Promise<Chunk> {
    const typeName = (typeId: number) => this.#typeNames.get(typeId) ?? 'text';
    const { text, parameters } = chunkQuery(table, { selection, last, limit, typeName, tableOf: this.#tableOf });
    const [snapshots, found] = await this.#sql.begin('isolation level repeatable read read only', (tx) =>
      Promise.all([
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

  async #loadTypeNames(table: MappedTable): Promise<void> {
    for (const id of typeIdsOf(table, this.#tableOf)) {
      if (this.#typeNames.has(id)) continue;
      // Without a length: "character" alone would mean one character.
      const [row] = await this.#sql`SELECT format_type(${id}::oid, -1) AS name`;
      this.#typeNames.set(id, String(row?.name));
    }
  }
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
