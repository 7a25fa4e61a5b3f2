import { randomUUID } from 'node:crypto';
import {
  type Attributes,
  Conflict,
  type CreateCall,
  type DeleteCall,
  Rejected,
  type UpdateCall,
  type UploadCall,
} from '@tidemark/backend';
import { errorMessage, type JsonValue } from '@tidemark/protocol';
import { keyOf, objectId } from '../sql/object-id.ts';
import type { Sql, TransactionSql } from '../sql/open-sql.ts';
import { quoteIdentifier } from '../sql/quote.ts';
import { announceCreated, beginOperation, endOperation } from './operations.ts';
import { isWorthRepeating, sqlVerdict } from './sql-verdict.ts';
import {
  deleteStatement,
  findStatement,
  insertStatement,
  type Row,
  type Statement,
  updateStatement,
  type Values,
} from './statements.ts';
import { ownerKind, ownerText, type TypedColumn, type WrittenTable } from './written-table.ts';

export interface RowWriterOptions {
  readonly sql: Sql;
  /** The name of the connector that reads the rows from the log. */
  readonly connector: string;
  readonly tables: readonly WrittenTable[];
  /** The role that changes rows, so that its grants and row-level security decide. Absent: the role of the connection. */
  readonly role?: string;
  /** The groups of a user, which policies read as `tidemark.groups`. */
  readonly groupsOf?: (user: string) => Promise<readonly string[]>;
  /** Functions that replace the statements of a table, by its label. */
  readonly hooks?: Readonly<Record<string, WriteHook>>;
}

/** What a device wants. `seen` are the values as the device saw them, if the source detects conflicts. */
export type RowCall =
  | ({ readonly op: 'create' } & CreateCall)
  | ({ readonly op: 'update' } & UpdateCall)
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
    requireAllowed(table, call);
    const groups = (await this.#options.groupsOf?.(call.user_id)) ?? (call.group === undefined ? [] : [call.group]);
    const hook = this.#options.hooks?.[table.label];
    return this.#options.sql.begin(async (sql) => {
      await unjudged(boundTime(sql));
      const known = await unjudged(beginOperation(sql, call.op_id));
      if (known !== null) {
        await this.#announce(sql, table, call, { id: known, isRepeated: true });
        return known;
      }
      await unjudged(this.#become(sql, call, groups));
      const id = await (hook === undefined
        ? this.#perform(sql, table, call, groups)
        : runHook(hook, sql, { call, table }));
      if (this.#options.role !== undefined) await sql.unsafe('RESET ROLE');
      await unjudged(endOperation(sql, call.op_id, id));
      await this.#announce(sql, table, call, { id, isRepeated: false });
      return id;
    });
  }

  async #announce(
    sql: TransactionSql,
    table: WrittenTable,
    call: RowCall,
    { id, isRepeated }: { readonly id: string; readonly isRepeated: boolean },
  ): Promise<void> {
    if (call.op !== 'create') return;
    const { connector } = this.#options;
    const owner = ownerText(table, { user: call.user_id, group: call.group ?? null });
    await unjudged(announceCreated(sql, { connector, opId: call.op_id, table: table.label, id, owner, isRepeated }));
  }

  /** Everything in this transaction that follows is done in the name of the user. */
  async #become(sql: TransactionSql, { user_id, group }: UploadCall, groups: readonly string[]): Promise<void> {
    await sql`SELECT set_config('tidemark.user', ${user_id}, true), set_config('tidemark.group', ${group ?? ''}, true),
      set_config('tidemark.groups', ${JSON.stringify(groups)}, true)`;
    const { role } = this.#options;
    if (role !== undefined) await sql.unsafe(`SET LOCAL ROLE ${quoteIdentifier(role)}`);
  }

  async #perform(sql: TransactionSql, table: WrittenTable, call: RowCall, groups: readonly string[]): Promise<string> {
    if (call.op === 'create') return this.#insert(sql, table, call);
    const owner = ownerText(table, { user: call.user_id, group: call.group ?? null });
    const row: Row = { key: keyIn(table, call.id), owner, seen: seenValues(table, call.seen) };
    if (call.op === 'delete') {
      const deleted = await run(sql, deleteStatement(table, row));
      if (deleted.length === 0) await this.#explainNotDeleted(sql, table, row);
      return call.id;
    }
    const values = given(table, call.attributes, { removed: call.removed, isNew: false });
    if (values.size === 0) return call.id;
    const [updated] = await run(sql, updateStatement(table, row, values));
    if (updated === undefined) throw await this.#notUpdated(sql, table, row);
    requireOwner(table, updated.owner ?? null, { owner, groups });
    return call.id;
  }

  async #insert(sql: TransactionSql, table: WrittenTable, call: CreateCall): Promise<string> {
    const owner = ownerText(table, { user: call.user_id, group: call.group ?? null });
    const values = new Map(given(table, call.attributes, { removed: [], isNew: true }));
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

  /** A row that is there although it was deleted has changed, or is one that the user may not delete. */
  async #explainNotDeleted(sql: TransactionSql, table: WrittenTable, row: Row): Promise<void> {
    const left = await this.#find(sql, table, row);
    if (left === undefined) return;
    throw left.is_as_seen === 'true' ? new Rejected('this user may not delete it') : changedMeanwhile();
  }

  async #notUpdated(sql: TransactionSql, table: WrittenTable, row: Row): Promise<Error> {
    const left = await this.#find(sql, table, row);
    if (left !== undefined && left.is_as_seen !== 'true') return changedMeanwhile();
    return new Rejected('it is not there any more, or this user may not change it');
  }

  /** Finds the row also where policies hide it from the user, whose it is. */
  async #find(sql: TransactionSql, table: WrittenTable, row: Row): Promise<ReturnedRow | undefined> {
    if (this.#options.role !== undefined) await sql.unsafe('RESET ROLE');
    const [found] = await run(sql, findStatement(table, row));
    return found;
  }
}

/** Hooks may be JavaScript, where nobody has checked what they return. */
async function runHook(
  hook: WriteHook,
  sql: TransactionSql,
  { call, table: { label } }: { readonly call: RowCall; readonly table: WrittenTable },
): Promise<string> {
  const id: unknown = await hook(sql, call);
  if (typeof id === 'string') return id;
  throw new Error(`hooks["${label}"]: expected the id of the object as a text, got ${id === null ? id : typeof id}`);
}

function changedMeanwhile(): Conflict {
  return new Conflict('somebody else has changed it in the database meanwhile');
}

/** A change that waits for others longer than this is tried again later, so that it holds up no other. */
async function boundTime(sql: TransactionSql): Promise<void> {
  await sql`SELECT set_config('lock_timeout', '2s', true), set_config('statement_timeout', '8s', true),
    set_config('idle_in_transaction_session_timeout', '10s', true)`;
}

/** A failure of the bookkeeping says nothing about the change: it must be tried again, never rejected. */
async function unjudged<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw new Error(`the change could not be written down: ${errorMessage(error)}`, { cause: error });
  }
}

function requireAllowed({ source, mayCreate, mayDelete }: WrittenTable, { op }: RowCall): void {
  if (op === 'create' && !mayCreate) throw new Rejected(`objects of "${source}" cannot be created on devices`);
  if (op === 'delete' && !mayDelete) throw new Rejected(`objects of "${source}" cannot be deleted on devices`);
}

/** A change may move a row to another group of the user, and to others only where the mapping says so. */
function requireOwner(
  table: WrittenTable,
  now: string | null,
  { owner, groups }: { readonly owner: string | null; readonly groups: readonly string[] },
): void {
  if (owner === null || now === owner || table.mayHandOver) return;
  if (ownerKind(table) === 'group' && now !== null && groups.includes(now)) return;
  throw new Rejected('it would belong to somebody else');
}

type ReturnedRow = Readonly<Record<string, string | null>>;

async function run(sql: TransactionSql, { text, parameters }: Statement): Promise<readonly ReturnedRow[]> {
  return sql.unsafe<ReturnedRow>(text, [...parameters]);
}

/** The columns that attributes stand for. What devices may not write is refused, not dropped. */
function given(
  table: WrittenTable,
  attributes: Attributes | Partial<Attributes>,
  { removed, isNew }: { readonly removed: readonly string[]; readonly isNew: boolean },
): Values {
  const values = new Map<TypedColumn, JsonValue>();
  const set = (attribute: string, value: JsonValue) => {
    const column = table.columns.find((one) => one.attribute === attribute);
    const mayWrite = isNew ? column?.inCreate : column?.inUpdate;
    if (column === undefined || mayWrite !== true) throw new Rejected(`"${attribute}" cannot be changed on devices`);
    values.set(column, value);
  };
  for (const [attribute, value] of Object.entries(attributes)) set(attribute, value ?? null);
  for (const attribute of removed) set(attribute, null);
  return values;
}

/** Ids that no row can have are refused: they would be other names of rows. */
function keyIn({ key }: WrittenTable, id: string): readonly string[] {
  const texts = keyOf(id, key.length);
  if (texts.length !== key.length || objectId(texts) !== id) throw new Rejected('there is no such object');
  return texts;
}

function seenValues({ columns }: WrittenTable, seen: Partial<Attributes> = {}): Values {
  const known = columns.filter(({ attribute }) => seen[attribute] !== undefined);
  return new Map(known.map((column) => [column, seen[column.attribute] ?? null]));
}

/** The key that the device chooses, where the database chooses none. */
function chosenKey({ key }: WrittenTable, id: string): { readonly column: TypedColumn; readonly value: string } | null {
  const [column, ...others] = key;
  if (column === undefined || others.length > 0 || column.hasDefault) return null;
  if (column.typeName === 'uuid') return { column, value: UUID.test(id) ? id : randomUUID() };
  return /^(?:text|character varying)/.test(column.typeName) ? { column, value: id } : null;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
