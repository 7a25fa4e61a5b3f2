import { randomUUID } from 'node:crypto';
import {
  type Attributes,
  Conflict,
  type CreateCall,
  type DeleteCall,
  Rejected,
  type SourceHandlers,
  type UpdateCall,
  type UploadCall,
} from '@tidemark/backend';
import type { JsonValue } from '@tidemark/protocol';

import { keyOf, objectId } from '../sql/object-id.ts';
import type { Sql, TransactionSql } from '../sql/open-sql.ts';
import { quoteIdentifier } from '../sql/quote.ts';
import { isWorthRepeating, sqlVerdict } from './sql-verdict.ts';
import {
  deleteStatement,
  findStatement,
  insertStatement,
  type Statement,
  updateStatement,
  type Values,
} from './statements.ts';
import { ownerText, type TypedColumn, type WrittenTable } from './written-table.ts';

export interface RowWriterOptions {
  readonly sql: Sql;
  readonly tables: readonly WrittenTable[];
  /** The role that changes rows, so that its grants and row-level security decide. Absent: the role of the connection. */
  readonly role?: string;
  /** The groups of a user, which policies read as `tidemark.groups`. */
  readonly groupsOf?: (user: string) => Promise<readonly string[]>;
  /** Functions that replace the statements of a table, by its label. */
  readonly hooks?: Readonly<Record<string, WriteHook>>;
}

/** What a device wants. `seen` are the values of the changed attributes as the device saw them, if the source detects conflicts. */
export type RowCall =
  | ({ readonly op: 'create' } & CreateCall)
  | ({ readonly op: 'update'; readonly seen?: Attributes } & UpdateCall)
  | ({ readonly op: 'delete' } & DeleteCall);

/** Runs in the transaction of the change. It returns the id of the object; throw `Rejected` or `Conflict` to refuse. */
export type WriteHook = (sql: TransactionSql, call: RowCall) => Promise<string>;

/** Transactions that meet others are repeated so often before Tidemark is asked to come back later. */
const ATTEMPTS_MAX = 4;

/**
 * Makes what people change on their devices in the database: one transaction for each change, with a row in
 * `tidemark.operations`, so that a repeated call changes nothing. The database decides what is allowed.
 */
export class RowWriter {
  readonly #options: RowWriterOptions;
  readonly #tables: ReadonlyMap<string, WrittenTable>;

  constructor(options: RowWriterOptions) {
    this.#options = options;
    this.#tables = new Map(options.tables.map((table) => [table.source, table]));
  }

  /** The handlers of all written sources, as a backend has them. */
  handlers(): Readonly<Record<string, SourceHandlers>> {
    const handlers: SourceHandlers = {
      create: async (call) => ({ id: await this.write({ op: 'create', ...call }) }),
      update: async (call) => void (await this.write({ op: 'update', ...call })),
      delete: async (call) => void (await this.write({ op: 'delete', ...call })),
    };
    return Object.fromEntries([...this.#tables.keys()].map((source) => [source, handlers]));
  }

  /** Returns the id of the object. Rejects with `Rejected` or `Conflict` for good, with anything else for now. */
  async write(call: RowCall): Promise<string> {
    const table = this.#tables.get(call.source);
    if (table === undefined) throw new Rejected(`objects of "${call.source}" cannot be changed on devices`);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(table, call);
      } catch (error) {
        if (attempt < ATTEMPTS_MAX && isWorthRepeating(error)) continue;
        throw sqlVerdict(error, table) ?? error;
      }
    }
  }

  async #once(table: WrittenTable, call: RowCall): Promise<string> {
    const groups = (await this.#options.groupsOf?.(call.user_id)) ?? (call.group === undefined ? [] : [call.group]);
    const hook = this.#options.hooks?.[table.label];
    return this.#options.sql.begin(async (sql) => {
      const known = await beginOperation(sql, call.op_id);
      if (known !== null) return known;
      await this.#become(sql, call, groups);
      const id = await (hook === undefined ? this.#perform(sql, table, call) : hook(sql, call));
      if (this.#options.role !== undefined) await sql.unsafe('RESET ROLE');
      await sql`UPDATE tidemark.operations SET object_id = ${id} WHERE op_id = ${call.op_id}`;
      return id;
    }) as Promise<string>;
  }

  /** Everything in this transaction that follows is done in the name of the user. */
  async #become(sql: TransactionSql, { user_id, group }: UploadCall, groups: readonly string[]): Promise<void> {
    await sql`SELECT set_config('tidemark.user', ${user_id}, true), set_config('tidemark.group', ${group ?? ''}, true),
      set_config('tidemark.groups', ${JSON.stringify(groups)}, true)`;
    const { role } = this.#options;
    if (role !== undefined) await sql.unsafe(`SET LOCAL ROLE ${quoteIdentifier(role)}`);
  }

  async #perform(sql: TransactionSql, table: WrittenTable, call: RowCall): Promise<string> {
    if (call.op === 'create') return this.#insert(sql, table, call);
    const key = keyOf(call.id, table.key.length);
    const owner = ownerText(table, { user: call.user_id, group: call.group ?? null });
    if (call.op === 'delete') {
      const deleted = await run(sql, deleteStatement(table, key, owner));
      if (deleted.length === 0) await this.#requireGone(sql, table, key, owner);
      return call.id;
    }
    const values = given(table, call.attributes, call.removed);
    if (values.size === 0) return call.id;
    const seen = call.seen === undefined ? new Map<TypedColumn, JsonValue>() : given(table, call.seen, []);
    const updated = await run(sql, updateStatement(table, key, owner, { values, seen }));
    if (updated.length > 0) return call.id;
    const isThere = seen.size > 0 && (await run(sql, findStatement(table, key, owner))).length > 0;
    if (isThere) throw new Conflict('somebody else has changed it in the database meanwhile');
    throw new Rejected('it is not there any more, or this user may not change it');
  }

  async #insert(sql: TransactionSql, table: WrittenTable, call: CreateCall): Promise<string> {
    const owner = ownerText(table, { user: call.user_id, group: call.group ?? null });
    const values = new Map(given(table, call.attributes, []));
    const isGiven = (column: string) => [...values.keys()].some(({ name }) => name === column);
    const chosen = chosenKey(table, call.id);
    if (chosen !== null && !isGiven(chosen.column.name)) values.set(chosen.column, chosen.value);
    if (table.owner.kind === 'user' || table.owner.kind === 'group') {
      const { column } = table.owner;
      if (!isGiven(column.name)) values.set(column, owner);
    }
    const [row] = await run(sql, insertStatement(table, values));
    if (row === undefined) throw new Rejected('the database did not keep it');
    // It would be in the data of somebody else, while this device shows it in its own.
    if (owner !== null && row.owner !== owner) throw new Rejected('it would belong to somebody else');
    return objectId(table.key.map((_, at) => row[`k${at}`] ?? ''));
  }

  /** A row that is there although it was deleted is one that the user may not delete. */
  async #requireGone(sql: TransactionSql, table: WrittenTable, key: readonly string[], owner: string | null) {
    if (this.#options.role !== undefined) await sql.unsafe('RESET ROLE');
    const left = await run(sql, findStatement(table, key, owner));
    if (left.length > 0) throw new Rejected('this user may not delete it');
  }
}

/** Returns the id of the object if the operation was done before. Another call of the same operation is waited for. */
async function beginOperation(sql: TransactionSql, opId: string): Promise<string | null> {
  const begun = await sql`INSERT INTO tidemark.operations (op_id, object_id) VALUES (${opId}, '')
    ON CONFLICT (op_id) DO NOTHING RETURNING 1`;
  if (begun.length > 0) return null;
  const [done] = await sql<{ object_id: string }>`SELECT object_id FROM tidemark.operations WHERE op_id = ${opId}`;
  return done?.object_id ?? null;
}

type ReturnedRow = Readonly<Record<string, string | null>>;

async function run(sql: TransactionSql, { text, parameters }: Statement): Promise<readonly ReturnedRow[]> {
  return sql.unsafe<ReturnedRow>(text, [...parameters]);
}

/** The columns that attributes stand for. What devices may not write is refused, not dropped. */
function given(table: WrittenTable, attributes: Attributes | Partial<Attributes>, removed: readonly string[]): Values {
  const values = new Map<TypedColumn, JsonValue>();
  const set = (attribute: string, value: JsonValue) => {
    const column = table.columns.find((one) => one.attribute === attribute);
    if (column === undefined) throw new Rejected(`"${attribute}" cannot be changed on devices`);
    values.set(column, value);
  };
  for (const [attribute, value] of Object.entries(attributes)) set(attribute, value ?? null);
  for (const attribute of removed) set(attribute, null);
  return values;
}

/** The key that the device chooses, where the database chooses none. */
function chosenKey({ key }: WrittenTable, id: string): { readonly column: TypedColumn; readonly value: string } | null {
  const [column, ...others] = key;
  if (column === undefined || others.length > 0 || column.hasDefault) return null;
  if (column.typeName === 'uuid') return { column, value: UUID.test(id) ? id : randomUUID() };
  return /^(?:text|character varying)/.test(column.typeName) ? { column, value: id } : null;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
