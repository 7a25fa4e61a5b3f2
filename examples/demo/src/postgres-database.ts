import { randomBytes } from 'node:crypto';
import { checkDatabase, openSql, parseDatabaseUrl, parseMapping, type Sql } from '@tidemark/postgres';
import { startPostgres } from '@tidemark/testing/kit';

/** The address of a server that may be used instead of one of our own, with a user who may make databases and roles. */
const VARIABLE = 'DEMO_POSTGRES_URL';
export const MAPPING = 'tidemark-postgres.jsonc';
/** The grants of a role can be looked up only when it is there. */
const ROUNDS_MAX = 3;

export interface DemoDatabase {
  /** Also the name of the connector's role, and of its slot. */
  readonly name: string;
  /** The mapping with the names of this database. */
  readonly mapping: string;
  /** Statements of its owner. */
  readonly sql: Sql;
  /** The address for the connector. */
  readonly connectorUrl: string;
  /** The address for a person at a terminal: it may change rows. */
  readonly officeUrl: string;
  /** Drops everything that was made. */
  close(): Promise<void>;
}

/** Makes a database of its own on a server that is given, or on one that it starts, and what the connector needs in it. */
export async function openDatabase(schema: string, mappingTemplate: string): Promise<DemoDatabase> {
  const given = process.env[VARIABLE] ?? '';
  const server = given === '' ? await startPostgres() : null;
  const url = new URL(server?.url ?? given);
  const name = `tidemark_demo_${randomBytes(4).toString('hex')}`;
  const roles = { connector: name, devices: `${name}_devices`, office: `${name}_office` };
  const root = openSql(parseDatabaseUrl(url.href), { connections: 1 });
  await root.unsafe(`CREATE DATABASE ${name}`);
  const ownUrl = withName(url, name);
  const sql = openSql(parseDatabaseUrl(ownUrl.href), { connections: 2 });
  await sql.unsafe(schema);
  const [connectorUrl, officeUrl] = [withLogin(ownUrl, name), withLogin(ownUrl, roles.office)];
  await sql.unsafe(`
    CREATE ROLE ${roles.connector} LOGIN PASSWORD '${connectorUrl.password}';
    CREATE ROLE ${roles.office} LOGIN PASSWORD '${officeUrl.password}';
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${roles.office};`);
  // Roles and slots are shared by all databases of a server, which may have those of others.
  const mapping = mappingTemplate
    .replace('"slot": "tidemark"', `"slot": "${name}"`)
    .replace('"role": "devices"', `"role": "${roles.devices}"`);
  await mend(sql, connectorUrl, mapping);
  const close = async () => {
    await sql.end();
    if (server === null) await drop(root, name, Object.values(roles));
    await root.end();
    await server?.remove();
  };
  return { name, mapping, sql, connectorUrl: connectorUrl.href, officeUrl: officeUrl.href, close };
}

/** Runs what `tidemark connect postgres --check` prints until it finds nothing that is missing. */
async function mend(sql: Sql, url: URL, text: string): Promise<void> {
  const check = async () => {
    const found = await checkDatabase(parseDatabaseUrl(url.href), parseMapping(text, MAPPING), MAPPING);
    return found.filter(({ level }) => level === 'error');
  };
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const missing = await check();
    if (missing.length === 0) return;
    for (const { sql: statements } of missing) for (const statement of statements) await sql.unsafe(statement);
  }
  const left = (await check()).map(({ message }) => message);
  if (left.length > 0) throw new Error(`the database cannot be connected:\n${left.join('\n')}`);
}

async function drop(root: Sql, name: string, roles: readonly string[]): Promise<void> {
  await root`SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = ${name}`;
  await root.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
  await root.unsafe(`DROP ROLE ${roles.join(', ')}`);
}

function withName(url: URL, name: string): URL {
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own;
}

function withLogin(url: URL, role: string): URL {
  const own = new URL(url);
  own.username = role;
  own.password = randomBytes(12).toString('hex');
  return own;
}
