import type { Sql } from '../sql/open-sql.ts';
import type { TypeInfo, Types } from '../values/type-info.ts';

/** Reads the named types and those that they are made of. */
export async function readTypes(sql: Sql, ids: readonly number[]): Promise<Types> {
  const rows = await sql`
    WITH RECURSIVE used AS (
      SELECT t.oid, t.typtype, t.typinput, t.typelem, t.typbasetype, t.typtypmod
      FROM pg_type t WHERE t.oid = ANY (${`{${ids.join(',')}}`}::oid[])
      UNION
      SELECT t.oid, t.typtype, t.typinput, t.typelem, t.typbasetype, t.typtypmod
      FROM used u JOIN pg_type t ON t.oid = u.typbasetype OR (t.oid = u.typelem AND u.typinput = 'array_in'::regproc)
    )
    SELECT u.oid::int8::text AS id, u.typtype AS type, u.typinput = 'array_in'::regproc AS is_array, u.typelem::int8::text AS element,
      u.typbasetype::int8::text AS base, u.typtypmod AS modifier, coalesce(e.typdelim, ',') AS delimiter,
      (SELECT json_agg(l.enumlabel ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = u.oid) AS labels
    FROM used u LEFT JOIN pg_type e ON e.oid = u.typelem`;
  return new Map(rows.map((row) => [Number(row.id), typeInfo(row)]));
}

function typeInfo(row: Readonly<Record<string, unknown>>): TypeInfo {
  if (row.is_array === true) return { kind: 'array', elementId: Number(row.element), delimiter: String(row.delimiter) };
  if (row.type === 'd') return { kind: 'domain', baseId: Number(row.base), baseModifier: Number(row.modifier) };
  return row.type === 'e' ? { kind: 'enum', labels: (row.labels ?? []) as readonly string[] } : { kind: 'other' };
}
