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
 * Returns a text that is another one when columns of the tables, or what identifies their rows, have changed. The stream tells of new
 * columns at the next change of a row only, and of another key never.
 */
export async function readShape(sql: Sql, tables: readonly PlannedTable[]): Promise<string> {
  const wanted = JSON.stringify(tables.map(({ schema, name }) => ({ schema, name })));
  const [row] = await sql<{ shape: string }>`
    SELECT md5(json_agg(json_build_array(c.oid::int8, c.relreplident,
      (SELECT json_agg(json_build_array(a.attname, a.atttypid::int8, a.atttypmod, a.attnotnull) ORDER BY a.attnum)
        FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
      (SELECT json_agg(json_build_array(x.indkey::text, x.indisprimary, x.indisreplident) ORDER BY x.indexrelid)
        FROM pg_index x WHERE x.indrelid = c.oid AND x.indisunique AND x.indisvalid)) ORDER BY c.oid)::text) AS shape
    FROM json_to_recordset(${wanted}::text::json) AS w(schema text, name text)
    JOIN pg_namespace n ON n.nspname = w.schema
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.name`;
  return row?.shape ?? '';
}

/**
 * Reads what the stream does not tell of tables: which ones stand behind their names and in which files, since when and how they are
 * published, which partitions they have, and what the values of their enums are called. A table that does not exist has no entry.
 * Schemas are published since version 15; the table that says so is looked up by its name, because older versions have none.
 */
export async function readOrigins(
  sql: Sql,
  publication: string,
  tables: readonly PlannedTable[],
): Promise<ReadonlyMap<string, TableOrigin>> {
  const wanted = JSON.stringify(tables.map(({ label, schema, name }) => ({ label, schema, name })));
  const rows = await sql<OriginRow>`
    SELECT w.label, b.oid::int8::text AS publication,
      concat_ws(' ', c.oid::int8, pg_relation_filenode(c.oid)::int8, b.xmin::text, (SELECT string_agg(r.oid::int8::text, ' ' ORDER BY r.oid)
        FROM pg_publication_rel r WHERE r.prpubid = b.oid AND r.prrelid = c.oid), (SELECT string_agg(d.objid::int8::text, ' ' ORDER BY d.objid)
        FROM pg_depend d JOIN pg_class k ON k.oid = d.classid AND k.relname = 'pg_publication_namespace'
        WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid AND EXISTS (SELECT 1 FROM pg_depend o WHERE o.classid = d.classid
          AND o.objid = d.objid AND o.refclassid = 'pg_publication'::regclass AND o.refobjid = b.oid))) AS table,
      CASE c.relkind WHEN 'p' THEN (SELECT json_object_agg(p.relid::oid::int8::text, pg_relation_filenode(p.relid)::int8::text)
        FROM pg_partition_tree(c.oid) p WHERE p.isleaf) END AS partitions,
      (WITH RECURSIVE used AS (
        SELECT a.atttypid AS oid FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
        UNION
        SELECT below.oid FROM used u JOIN pg_type t ON t.oid = u.oid CROSS JOIN LATERAL (
          SELECT unnest(ARRAY[t.typelem, t.typbasetype])
          UNION ALL SELECT m.atttypid FROM pg_attribute m WHERE m.attrelid = t.typrelid AND m.attnum > 0) below(oid))
        SELECT json_object_agg(e.oid::int8::text, e.enumlabel) FROM pg_enum e WHERE e.enumtypid IN (SELECT u.oid FROM used u)
      ) AS labels
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
