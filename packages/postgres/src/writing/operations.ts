import { DatabaseError } from 'pg';
import type { Sql, TransactionSql } from '../sql/open-sql.ts';

/** The statements that make the table of done operations. `tidemark connect postgres --check` prints them when it is missing. */
export const OPERATIONS_SQL = [
  'CREATE SCHEMA IF NOT EXISTS tidemark',
  `CREATE TABLE IF NOT EXISTS tidemark.operations (
  op_id text PRIMARY KEY,
  object_id text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
)`,
];

/** Tidemark gives up an upload long before that, so no call of an older operation comes again. */
const KEPT_DAYS = 30;

/** Deletes the operations of which no call comes any more. */
export async function forgetOperations(sql: Sql): Promise<void> {
  await sql`DELETE FROM tidemark.operations WHERE at < now() - make_interval(days => ${KEPT_DAYS})`;
}

/** Returns the id of the object if the operation was done before. Another call of the same operation is waited for. */
export async function beginOperation(sql: TransactionSql, opId: string): Promise<string | null> {
  const begun = await sql`INSERT INTO tidemark.operations (op_id, object_id) VALUES (${opId}, '')
    ON CONFLICT (op_id) DO NOTHING RETURNING 1`;
  if (begun.length > 0) return null;
  const [done] = await sql<{ object_id: string }>`UPDATE tidemark.operations SET at = now() WHERE op_id = ${opId}
    RETURNING object_id`;
  return done?.object_id ?? null;
}

/** From now on the answer is under way: the transaction may have begun long ago. */
export async function endOperation(sql: TransactionSql, opId: string, objectId: string): Promise<void> {
  await sql`UPDATE tidemark.operations SET object_id = ${objectId}, at = clock_timestamp() WHERE op_id = ${opId}`;
}

/** The prefix of the message in the log that says which row a device has created. */
export const CREATED_PREFIX = 'tidemark.created';

/** A row that a device has created. Tidemark puts it under its id when it has the answer, which may be after the stream has brought it. */
export interface CreatedMessage {
  /** The name of the connector whose device has created it. Others that read the same log wait for no answer. */
  readonly connector: string;
  readonly opId: string;
  /** The label of the table. */
  readonly table: string;
  readonly id: string;
  /** Whose data the device changed; null: everybody's. */
  readonly owner: string | null;
  /** The operation was done before; its answer was lost. */
  readonly isRepeated: boolean;
}

/** Arrives in the stream together with the row. */
export async function announceCreated(sql: TransactionSql, message: CreatedMessage): Promise<void> {
  await sql`SELECT pg_logical_emit_message(true, ${CREATED_PREFIX}, ${JSON.stringify(message)})`;
}

/** Null: it is none. Whoever may run statements in the database may write such messages, too. */
export function readCreatedMessage(content: string): CreatedMessage | null {
  try {
    const message = JSON.parse(content) as Partial<CreatedMessage> | null;
    const { connector, opId, table, id, owner, isRepeated } = message ?? {};
    const isWhole = [connector, opId, table, id].every((text) => typeof text === 'string');
    const isOwned = owner === null || typeof owner === 'string';
    return isWhole && isOwned && typeof isRepeated === 'boolean' ? (message as CreatedMessage) : null;
  } catch {
    return null;
  }
}

/** Longer than Tidemark takes to write down an answer that it got. */
const UNSETTLED_S = 30;

/**
 * Of these operations, those that were called so recently that Tidemark may still have to write down the answer. All of them when
 * the database gives no answer; none when there is no such table, because then no device can have created anything.
 */
export async function recentOperations(sql: Sql, opIds: readonly string[]): Promise<ReadonlySet<string>> {
  try {
    const rows = await sql<{ op_id: string }>`SELECT op_id FROM tidemark.operations
      WHERE op_id IN (SELECT json_array_elements_text(${JSON.stringify(opIds)}::text::json))
        AND at > now() - make_interval(secs => ${UNSETTLED_S})`;
    return new Set(rows.map(({ op_id }) => op_id));
  } catch (error) {
    return new Set(isAboutSetUp(error) ? [] : opIds);
  }
}

/** SQLSTATE class 42: there is no such table, or the role may not read it. */
function isAboutSetUp(error: unknown): boolean {
  return error instanceof DatabaseError && error.code?.startsWith('42') === true;
}
