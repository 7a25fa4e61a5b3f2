import type { Sql } from '../sql/open-sql.ts';

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
