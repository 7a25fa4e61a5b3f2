import type { Sql } from '../sql/open-sql.ts';
import type { Catalogue, CatalogueColumn, CatalogueTable, ForeignKey, UniqueIndex } from './catalogue.ts';
import { readTypes } from './read-types.ts';

const KINDS: Readonly<Record<string, CatalogueTable['kind']>> = {
  r: 'table',
  p: 'partitioned',
  v: 'view',
  m: 'view',
  f: 'view',
};
const IDENTITIES = { d: 'default', n: 'nothing', f: 'full', i: 'index' } as const;

/** Reads all tables that are not the system's. Whoever can connect may read the catalogue; no grants are needed. */
export async function readCatalogue(sql: Sql): Promise<Catalogue> {
  const [version] = await sql`SELECT current_setting('server_version_num')::int AS number`;
  const rows = await readTables(sql);
  const tables = rows.map(tableOf);
  const typeIds = tables.flatMap(({ columns }) => columns.map(({ typeId }) => typeId));
  return { version: Number(version?.number), tables, types: await readTypes(sql, [...new Set(typeIds)]) };
}

interface TableRow {
  readonly id: string;
  readonly schema: string;
  readonly name: string;
  readonly kind: string;
  readonly is_partition: boolean;
  readonly is_logged: boolean;
  readonly rows: number;
  readonly identity: keyof typeof IDENTITIES;
  readonly has_row_security: boolean;
  readonly columns: readonly CatalogueColumn[];
  readonly indexes: readonly IndexRow[];
  readonly foreign_keys: readonly ForeignKey[];
}

interface IndexRow extends UniqueIndex {
  readonly is_primary: boolean;
  readonly is_identity: boolean;
}

async function readTables(sql: Sql): Promise<readonly TableRow[]> {
  return sql<TableRow>`
    SELECT c.oid::int8::text AS id, n.nspname AS schema, c.relname AS name, c.relkind AS kind, c.relispartition AS is_partition,
      c.relpersistence = 'p' AS is_logged, c.reltuples::float8 AS rows, c.relreplident AS identity, c.relrowsecurity AS has_row_security,
      coalesce((SELECT json_agg(json_build_object(
          'name', a.attname, 'typeId', a.atttypid::int8, 'typeModifier', a.atttypmod,
          'typeName', format_type(a.atttypid, a.atttypmod), 'bareTypeName', format_type(a.atttypid, -1), 'isNullable', NOT a.attnotnull,
          'hasDefault', a.atthasdef OR a.attidentity <> '', 'isGenerated', a.attgenerated <> '', 'isToastable', a.attstorage IN ('x', 'e', 'm')) ORDER BY a.attnum)
        FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), '[]') AS columns,
      coalesce((SELECT json_agg(json_build_object(
          'name', i.relname, 'is_primary', x.indisprimary, 'is_identity', x.indisreplident,
          'columns', (SELECT json_agg(a.attname ORDER BY k.place)
            FROM unnest(x.indkey::int2[]) WITH ORDINALITY k(number, place)
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number WHERE k.place <= x.indnkeyatts)) ORDER BY i.relname)
        FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
        WHERE x.indrelid = c.oid AND x.indisunique AND x.indisvalid AND x.indimmediate
          AND x.indpred IS NULL AND x.indexprs IS NULL), '[]') AS indexes,
      coalesce((SELECT json_agg(json_build_object(
          'columns', (SELECT json_agg(a.attname ORDER BY k.place) FROM unnest(f.conkey) WITH ORDINALITY k(number, place)
            JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.number),
          'parent', pn.nspname || '.' || pc.relname,
          'parentColumns', (SELECT json_agg(a.attname ORDER BY k.place) FROM unnest(f.confkey) WITH ORDINALITY k(number, place)
            JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.number)) ORDER BY f.conname)
        FROM pg_constraint f JOIN pg_class pc ON pc.oid = f.confrelid JOIN pg_namespace pn ON pn.oid = pc.relnamespace
        WHERE f.conrelid = c.oid AND f.contype = 'f'), '[]') AS foreign_keys
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
      AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
    ORDER BY n.nspname, c.relname`;
}

function tableOf(row: TableRow): CatalogueTable {
  const primaryKey = row.indexes.find(({ is_primary }) => is_primary)?.columns ?? [];
  const identity = IDENTITIES[row.identity];
  return {
    id: Number(row.id),
    schema: row.schema,
    name: row.name,
    label: `${row.schema}.${row.name}`,
    kind: row.is_partition ? 'partition' : (KINDS[row.kind] ?? 'view'),
    isLogged: row.is_logged,
    estimatedRows: row.rows < 0 ? null : row.rows,
    identity,
    identityColumns: identityColumns(row, identity, primaryKey),
    primaryKey,
    uniqueIndexes: row.indexes.map(({ name, columns }) => ({ name, columns })),
    columns: row.columns,
    foreignKeys: row.foreign_keys,
    hasRowSecurity: row.has_row_security,
  };
}

function identityColumns(
  row: TableRow,
  identity: CatalogueTable['identity'],
  primaryKey: readonly string[],
): readonly string[] {
  if (identity === 'full') return row.columns.filter(({ isGenerated }) => !isGenerated).map(({ name }) => name);
  if (identity === 'index') return row.indexes.find(({ is_identity }) => is_identity)?.columns ?? [];
  return identity === 'default' ? primaryKey : [];
}
