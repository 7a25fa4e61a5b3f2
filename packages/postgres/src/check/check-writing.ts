import type { Mapping } from '../mapping/mapping.ts';
import type { Plan, TablePlan } from '../mapping/plan.ts';
import type { Sql } from '../sql/open-sql.ts';
import { quoteIdentifier, quoteTable } from '../sql/quote.ts';
import { OPERATIONS_SQL } from '../writing/operations.ts';
import type { Finding } from './finding.ts';

/** Stands for all roles where rights are asked for. */
const EVERYBODY = 'public';

/** Checks what the changes of devices need: the table of operations, the role that makes them, and its grants. */
export async function checkWriting(sql: Sql, plan: Plan, { writing }: Mapping): Promise<readonly Finding[]> {
  const tables = plan.tables.filter((table) => table.writing !== null);
  if (tables.length === 0) return [];
  const [{ login } = { login: '' }] = await sql<{ login: string }>`SELECT current_user::text AS login`;
  const role = writing?.role ?? login;
  const roles = await roleFindings(sql, login, role);
  const operations = await operationsFindings(sql, login);
  // A role that does not exist yet will have what everybody has.
  const like = roles.some(({ code }) => code === 'writing_role') ? EVERYBODY : role;
  const grants: Finding[] = [];
  for (const table of tables) grants.push(...(await grantFindings(sql, table, { role, like })));
  return [...operations, ...roles, ...grants];
}

async function operationsFindings(sql: Sql, login: string): Promise<readonly Finding[]> {
  const role = quoteIdentifier(login);
  // By number: whoever may not use the schema cannot ask by name.
  const [found] = await sql<{ may: boolean }>`
    SELECT has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
      AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE') AS may
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'tidemark' AND c.relname = 'operations'`;
  const grants = [
    `GRANT USAGE ON SCHEMA tidemark TO ${role}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON tidemark.operations TO ${role}`,
  ];
  if (found === undefined) {
    const message = 'there is no table tidemark.operations, which makes each change of a device happen once';
    return [error('operations_table', message, ...OPERATIONS_SQL, ...grants)];
  }
  if (found.may) return [];
  return [error('operations_grants', `the role "${login}" may not write the table tidemark.operations`, ...grants)];
}

async function roleFindings(sql: Sql, login: string, role: string): Promise<readonly Finding[]> {
  if (role === login) return [];
  const name = quoteIdentifier(role);
  const grant = `GRANT ${name} TO ${quoteIdentifier(login)}`;
  const [found] = await sql<{ may: boolean }>`
    SELECT pg_has_role(oid, 'MEMBER') AS may FROM pg_roles WHERE rolname = ${role}`;
  if (found === undefined) {
    return [
      error('writing_role', `there is no role "${role}", in which changes are made`, `CREATE ROLE ${name}`, grant),
    ];
  }
  if (found.may) return [];
  return [error('writing_member', `the role "${login}" may not make changes in the role "${role}"`, grant)];
}

/** A table with its number in the catalogue: whoever may not use its schema cannot ask for its rights by name. */
interface Found {
  readonly table: TablePlan;
  readonly id: string;
}

async function tableId(sql: Sql, { schema, name }: TablePlan): Promise<string> {
  const [row] = await sql<{ id: string }>`SELECT c.oid::int8::text AS id FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ${schema} AND c.relname = ${name}`;
  return row?.id ?? '0';
}

/** The role that makes changes. */
interface Writer {
  readonly role: string;
  /** The role whose rights are asked for. */
  readonly like: string;
}

async function grantFindings(sql: Sql, table: TablePlan, writer: Writer): Promise<readonly Finding[]> {
  const { role, like } = writer;
  const [name, to] = [quoteTable(table), quoteIdentifier(role)];
  const id = await tableId(sql, table);
  const missing = await missingGrants(sql, { table, id }, like);
  const statements = missing.map((what) => `GRANT ${what} ON ${name} TO ${to}`);
  const message = `the role "${role}" may not write "${table.label}" as the mapping says`;
  const found = statements.length === 0 ? [] : [error('table_write', message, ...statements)];
  const [schema] = await sql<{
    may: boolean;
  }>`SELECT has_schema_privilege(${like}::name, ${table.schema}::text, 'USAGE') AS may`;
  const usage = `GRANT USAGE ON SCHEMA ${quoteIdentifier(table.schema)} TO ${to}`;
  const closed = error('writing_schema', `the role "${role}" may not use the schema "${table.schema}"`, usage);
  const sequences = table.writing?.createColumns === null ? [] : await sequenceFindings(sql, { table, id }, writer);
  return [...(schema?.may === true ? [] : [closed]), ...found, ...sequences];
}

/** What `GRANT` has to name. Statements find the row by its key and its owner, so they also read. */
async function missingGrants(sql: Sql, { table, id }: Found, role: string): Promise<readonly string[]> {
  const { writing } = table;
  if (writing === null) return [];
  const created = writing.createColumns === null ? [] : [...writing.createColumns, ...ownerColumns(table)];
  const wanted = [
    { right: 'SELECT', columns: null },
    ...writing.columns.map((column) => ({ right: 'UPDATE', columns: column })),
    ...created.map((column) => ({ right: 'INSERT', columns: column })),
    ...(writing.mayDelete ? [{ right: 'DELETE', columns: null }] : []),
  ];
  const missing: string[] = [];
  for (const { right, columns } of wanted) {
    const [row] = await (columns === null
      ? sql<{
          may: boolean;
        }>`SELECT has_table_privilege(${role}::name, ${id}::oid, ${right}::text) AS may`
      : sql<{
          may: boolean;
        }>`SELECT has_column_privilege(${role}::name, ${id}::oid, ${columns}::text, ${right}::text) AS may`);
    if (row?.may !== true) missing.push(columns === null ? right : `${right} (${quoteIdentifier(columns)})`);
  }
  return missing;
}

function ownerColumns({ owner }: TablePlan): readonly string[] {
  return owner.kind === 'user' || owner.kind === 'group' ? [owner.column.name] : [];
}

/** Keys of the type `serial` come from a sequence with rights of its own. */
async function sequenceFindings(sql: Sql, { table, id }: Found, { role, like }: Writer): Promise<readonly Finding[]> {
  const rows = await sql<{ name: string }>`
    SELECT quote_ident(n.nspname) || '.' || quote_ident(s.relname) AS name
    FROM pg_depend d JOIN pg_class s ON s.oid = d.objid JOIN pg_namespace n ON n.oid = s.relnamespace
    WHERE d.classid = 'pg_class'::regclass AND d.refobjid = ${id}::oid AND d.deptype = 'a'
      AND CASE s.relkind WHEN 'S' THEN NOT has_sequence_privilege(${like}::name, s.oid, 'USAGE') ELSE false END`;
  return rows.map(({ name }) => {
    const statement = `GRANT USAGE ON SEQUENCE ${name} TO ${quoteIdentifier(role)}`;
    return error(
      'sequence_usage',
      `the role "${role}" may not use the sequence ${name} of "${table.label}"`,
      statement,
    );
  });
}

function error(code: string, message: string, ...sql: readonly string[]): Finding {
  return { code, level: 'error', message, sql };
}
