import type { Catalogue, CatalogueTable } from '../catalogue/catalogue.ts';
import type { Plan, PlannedTable } from '../mapping/plan.ts';
import type { Sql } from '../sql/open-sql.ts';
import { quoteIdentifier, quoteTable } from '../sql/quote.ts';
import type { Finding } from './finding.ts';

/** Checks the mapped tables: grants, row-level security, keys and what changes say about the row before. */
export async function checkTables(sql: Sql, plan: Plan, catalogue: Catalogue): Promise<readonly Finding[]> {
  const tables = mappedTables(plan);
  const byLabel = new Map(catalogue.tables.map((table) => [table.label, table]));
  const identity = tables.flatMap((table) => {
    const found = byLabel.get(table.label);
    return found === undefined ? [] : identityFindings(table, found);
  });
  return [...(await grantFindings(sql, tables)), ...(await rowSecurityFindings(sql, tables)), ...identity];
}

/** A table is there for each thing that it is mapped to, such as objects and users. */
export function mappedTables(plan: Plan): readonly PlannedTable[] {
  return [...plan.tables, ...plan.members, ...plan.users];
}

/** As JSON, because arrays as parameters need types that are not read from the server. */
function namesOf(tables: readonly PlannedTable[]): string {
  const names = new Map(tables.map(({ schema, name, label }) => [label, { schema, name }]));
  return JSON.stringify([...names.values()]);
}

async function grantFindings(sql: Sql, tables: readonly PlannedTable[]): Promise<readonly Finding[]> {
  const rows = await sql`
    SELECT n.nspname AS schema, c.relname AS name, current_user AS login, has_schema_privilege(n.oid, 'USAGE') AS may_use,
      has_table_privilege(c.oid, 'SELECT') AS may_read
    FROM json_to_recordset(${namesOf(tables)}::text::json) mapped(schema text, name text)
    JOIN pg_namespace n ON n.nspname = mapped.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = mapped.name`;
  const closed = new Set(rows.filter(({ may_use }) => !may_use).map(({ schema }) => String(schema)));
  const login = String(rows[0]?.login);
  const role = quoteIdentifier(login);
  const schemas = [...closed].map((schema): Finding => {
    const sqlText = `GRANT USAGE ON SCHEMA ${quoteIdentifier(schema)} TO ${role}`;
    return {
      code: 'schema_usage',
      level: 'error',
      message: `the role "${login}" may not use the schema "${schema}"`,
      sql: [sqlText],
    };
  });
  const unread = rows
    .filter(({ may_read }) => !may_read)
    .map(({ schema, name }) => ({ schema: String(schema), name: String(name) }));
  const selects = unread.map((table): Finding => {
    const message = `the role "${login}" may not read the table "${table.schema}.${table.name}"`;
    return { code: 'table_select', level: 'error', message, sql: [`GRANT SELECT ON ${quoteTable(table)} TO ${role}`] };
  });
  return [...schemas, ...selects];
}

/** The stream has every row, but the copy reads only what the policies show: rows would be missing until they change. */
async function rowSecurityFindings(sql: Sql, tables: readonly PlannedTable[]): Promise<readonly Finding[]> {
  const rows = await sql<{ schema: string; name: string; login: string }>`
    SELECT mapped.schema, mapped.name, current_user AS login
    FROM json_to_recordset(${namesOf(tables)}::text::json) mapped(schema text, name text)
    JOIN pg_namespace n ON n.nspname = mapped.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = mapped.name
    WHERE row_security_active(c.oid)`;
  return rows.map(({ schema, name, login }): Finding => {
    const message = `row-level security of "${schema}.${name}" may hide rows from the role "${login}", so the copy would lack them`;
    return { code: 'row_security', level: 'error', message, sql: [`ALTER ROLE ${quoteIdentifier(login)} BYPASSRLS`] };
  });
}

function identityFindings(table: PlannedTable, found: CatalogueTable): readonly Finding[] {
  const name = quoteTable(table);
  const missing = table.key.filter((column) => !found.identityColumns.includes(column.name));
  if (missing.length > 0) return [identityError(table, found, name)];
  return [...toastFindings(table, found), ...ownerFindings(table)];
}

/** Without the key in the old row, an update or delete does not say which object it is about. */
function identityError(table: PlannedTable, found: CatalogueTable, name: string): Finding {
  const key = table.key.map((column) => column.name);
  const message = `changes of "${table.label}" do not say which row they are about: its replica identity lacks ${key.join(', ')}`;
  const isSame = (columns: readonly string[]) =>
    columns.length === key.length && columns.every((column) => key.includes(column));
  const index = found.uniqueIndexes.find(({ columns }) => isSame(columns));
  const how = isSame(found.primaryKey)
    ? 'DEFAULT'
    : index === undefined
      ? 'FULL'
      : `USING INDEX ${quoteIdentifier(index.name)}`;
  return { code: 'replica_identity', level: 'error', message, sql: [`ALTER TABLE ${name} REPLICA IDENTITY ${how}`] };
}

function toastFindings(table: PlannedTable, found: CatalogueTable): readonly Finding[] {
  const large = table.key.filter(({ name }) =>
    found.columns.some((column) => column.name === name && column.isToastable),
  );
  if (large.length === 0) return [];
  const names = large.map(({ name }) => name).join(', ');
  const message = `the key of "${table.label}" has texts (${names}): rows whose key has more than 512 bytes are refused by name`;
  return [{ code: 'long_key', level: 'notice', message, sql: [] }];
}

function ownerFindings(table: PlannedTable): readonly Finding[] {
  if (!table.keepsOwners) return [];
  const message = `changes of "${table.label}" do not say whose the row was, so the connector keeps that for each row; nothing is to be done`;
  return [{ code: 'kept_owners', level: 'notice', message, sql: [] }];
}
