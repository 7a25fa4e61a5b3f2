import type { PlannedTable } from '../mapping/plan.ts';
import type { Sql } from '../sql/open-sql.ts';
import type { TableOrigin } from '../state/connector-state.ts';

interface OriginRow {
  readonly label: string;
  readonly table: string;
  readonly publication: string;
  readonly partitions: Readonly<Record<string, string>> | null;
  readonly labels: Readonly<Record<string, string>> | null;
}

/**
 * Reads what the stream does not tell of tables: which ones stand behind their names, since when they are published, which
 * partitions they have, and what the values of their enums are called. A table that does not exist has no entry.
 */
export async function readOrigins(
  sql: Sql,
  publication: string,
  tables: readonly PlannedTable[],
): Promise<ReadonlyMap<string, TableOrigin>> {
  const wanted = JSON.stringify(tables.map(({ label, schema, name }) => ({ label, schema, name })));
  const rows = await sql<OriginRow>`
    SELECT w.label, b.oid::int8::text AS publication,
      c.oid::int8::text || ' ' || coalesce((SELECT string_agg(r.oid::int8::text, ' ' ORDER BY r.oid)
        FROM pg_publication_rel r WHERE r.prpubid = b.oid AND r.prrelid = c.oid), '') AS table,
      CASE c.relkind WHEN 'p' THEN (SELECT json_object_agg(p.relid::oid::int8::text, pg_relation_filenode(p.relid)::int8::text)
        FROM pg_partition_tree(c.oid) p WHERE p.isleaf) END AS partitions,
      (SELECT json_object_agg(e.oid::int8::text, e.enumlabel) FROM pg_enum e WHERE e.enumtypid IN (
        SELECT unnest(ARRAY[t.oid, t.typelem, t.typbasetype]) FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        WHERE a.attrelid = c.oid AND a.attnum > 0)) AS labels
    FROM json_to_recordset(${wanted}::text::json) AS w(label text, schema text, name text)
    JOIN pg_namespace n ON n.nspname = w.schema
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
    JOIN pg_publication b ON b.pubname = ${publication}`;
  return new Map(
    rows.map((row) => [
      row.label,
      { table: row.table, publication: row.publication, partitions: row.partitions ?? {}, labels: row.labels ?? {} },
    ]),
  );
}
