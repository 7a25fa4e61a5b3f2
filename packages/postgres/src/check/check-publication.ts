import type { MembersPlan, PlannedTable, TablePlan, UsersPlan } from '../mapping/plan.ts';
import { createPublicationSql } from '../replication/slot.ts';
import type { Sql } from '../sql/open-sql.ts';
import { quoteIdentifier, quoteTable } from '../sql/quote.ts';
import type { Finding } from './finding.ts';

interface Publication {
  readonly all_operations: boolean;
  readonly via_root: boolean;
}

interface Published {
  readonly schema: string;
  readonly name: string;
  /** Postgres 15 and newer; null: all columns. */
  readonly columns: readonly string[] | null;
  readonly filter: string | null;
}

/** Checks that the publication has all mapped tables with all of their mapped columns, rows and changes. */
export async function checkPublication(
  sql: Sql,
  name: string,
  tables: readonly PlannedTable[],
): Promise<readonly Finding[]> {
  const [publication] = await sql<Publication>`
    SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate AS all_operations, pubviaroot AS via_root
    FROM pg_publication WHERE pubname = ${name}`;
  const hasPartitions = tables.some(({ isPartitioned }) => isPartitioned);
  if (publication === undefined) return [missing(name, tables, hasPartitions)];
  const published = await readPublished(sql, name);
  const quoted = quoteIdentifier(name);
  const found: Finding[] = [];
  if (!publication.all_operations) {
    const message = `the publication "${name}" leaves out some changes`;
    found.push(
      error(
        'publication_operations',
        message,
        `ALTER PUBLICATION ${quoted} SET (publish = 'insert, update, delete, truncate')`,
      ),
    );
  }
  if (hasPartitions && !publication.via_root) {
    const message = `the publication "${name}" sends changes under the names of partitions instead of their table's`;
    found.push(
      error('publication_via_root', message, `ALTER PUBLICATION ${quoted} SET (publish_via_partition_root = true)`),
    );
  }
  return [...found, ...tables.flatMap((table) => tableFindings(table, quoted, name, published))];
}

async function readPublished(sql: Sql, name: string): Promise<ReadonlyMap<string, Published>> {
  // Older versions have neither lists of columns nor filters; in JSON they are null.
  const rows = await sql<Published>`
    SELECT p.schemaname AS schema, p.tablename AS name, to_jsonb(p) -> 'attnames' AS columns, to_jsonb(p) ->> 'rowfilter' AS filter
    FROM pg_publication_tables p WHERE p.pubname = ${name}
    UNION
    SELECT n.nspname, c.relname, NULL, NULL FROM pg_publication b JOIN pg_publication_rel r ON r.prpubid = b.oid
    JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE b.pubname = ${name} AND c.relkind = 'p' AND NOT b.pubviaroot`;
  return new Map(rows.map((row) => [`${row.schema}.${row.name}`, row]));
}

function tableFindings(
  table: PlannedTable,
  publication: string,
  name: string,
  published: ReadonlyMap<string, Published>,
): readonly Finding[] {
  const called = `${table.schema}.${table.name}`;
  const entry = published.get(called);
  if (entry === undefined) {
    const message = `the publication "${name}" lacks the table "${called}"`;
    return [error('publication_table', message, `ALTER PUBLICATION ${publication} ADD TABLE ${quoteTable(table)}`)];
  }
  const again = [
    `ALTER PUBLICATION ${publication} DROP TABLE ${quoteTable(table)}`,
    `ALTER PUBLICATION ${publication} ADD TABLE ${quoteTable(table)}`,
  ];
  const hidden = columnsOf(table).filter((column) => entry.columns !== null && !entry.columns.includes(column));
  return [
    ...(hidden.length === 0
      ? []
      : [
          error(
            'publication_columns',
            `the publication "${name}" leaves out columns of "${called}": ${hidden.join(', ')}`,
            ...again,
          ),
        ]),
    ...(entry.filter === null
      ? []
      : [error('publication_rows', `the publication "${name}" leaves out rows of "${called}" by a filter`, ...again)]),
  ];
}

/** The columns that are read of a table, whatever its rows become. */
function columnsOf(table: PlannedTable): readonly string[] {
  const { attributes = [], owner, user, group, login } = table as Partial<TablePlan & MembersPlan & UsersPlan>;
  const owners =
    owner === undefined || owner.kind === 'shared' ? [] : owner.kind === 'through' ? owner.columns : [owner.column];
  const named = [user, group, login].flatMap((column) => (column === undefined ? [] : [column]));
  return [...new Set([...table.key, ...attributes, ...owners, ...named].map((column) => column.name))];
}

function missing(name: string, tables: readonly PlannedTable[], hasPartitions: boolean): Finding {
  const create = createPublicationSql(name, [...new Set(tables.map(quoteTable))]);
  const sql = hasPartitions ? `${create} WITH (publish_via_partition_root = true)` : create;
  return error('publication', `there is no publication "${name}", which says whose changes are sent`, sql);
}

function error(code: string, message: string, ...sql: readonly string[]): Finding {
  return { code, level: 'error', message, sql };
}
