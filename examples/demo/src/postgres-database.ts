import { randomBytes } from 'node:crypto';
import { openSql, parseDatabaseUrl, type Sql } from '@tidemark/postgres';
import { startPostgres } from '@tidemark/testing/kit';

/** The address of a server that may be used instead of one of our own, with a user who may make databases and roles. */
const VARIABLE = 'DEMO_POSTGRES_URL';

export interface DemoDatabase {
  /** Also the name of the connector's role, and of its slot. */
  readonly name: string;
  /** Statements of its owner. */
  readonly sql: Sql;
  /** The address for the connector: it may read the tables and the changes. */
  readonly connectorUrl: string;
  /** The address for a person at a terminal: it may change rows. */
  readonly officeUrl: string;
  /** Drops everything that was made. */
  close(): Promise<void>;
}

/** Makes a database of its own on a server that is given, or on one that it starts. */
export async function openDatabase(schema: string): Promise<DemoDatabase> {
  const given = process.env[VARIABLE] ?? '';
  const server = given === '' ? await startPostgres() : null;
  const url = new URL(server?.url ?? given);
  const name = `tidemark_demo_${randomBytes(4).toString('hex')}`;
  const office = `${name}_office`;
  const root = openSql(parseDatabaseUrl(url.href), { connections: 1 });
  await root.unsafe(`CREATE DATABASE ${name}`);
  const ownUrl = withName(url, name);
  const sql = openSql(parseDatabaseUrl(ownUrl.href), { connections: 2 });
  await sql.unsafe(schema);
  const [connectorUrl, officeUrl] = [withLogin(ownUrl, name), withLogin(ownUrl, office)];
  await sql.unsafe(rolesOf({ name, office, connectorUrl, officeUrl }));
  const close = async () => {
    await sql.end();
    if (server === null) await drop(root, { name, office });
    await root.end();
    await server?.remove();
  };
  return { name, sql, connectorUrl: connectorUrl.href, officeUrl: officeUrl.href, close };
}

interface Roles {
  readonly name: string;
  readonly office: string;
  readonly connectorUrl: URL;
  readonly officeUrl: URL;
}

function rolesOf({ name, office, connectorUrl, officeUrl }: Roles): string {
  return `
    CREATE ROLE ${name} LOGIN REPLICATION PASSWORD '${connectorUrl.password}';
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${name};
    CREATE ROLE ${office} LOGIN PASSWORD '${officeUrl.password}';
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${office};`;
}

async function drop(root: Sql, { name, office }: Pick<Roles, 'name' | 'office'>): Promise<void> {
  await root`SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = ${name}`;
  await root.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
  await root.unsafe(`DROP ROLE ${name}, ${office}`);
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
