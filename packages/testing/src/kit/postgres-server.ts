import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { chown, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Sql } from '@tidemark/postgres';
import { copyRunningPostgres } from './copy-running-postgres.ts';
import { findProgram } from './find-program.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';
import { freePort } from './valkey-server.ts';

/** A PostgreSQL server on a free loopback port, with logical replication and a temporary folder. */
export interface PostgresServer {
  readonly port: number;
  /** The address of the superuser, with its password: `postgres://…`. */
  readonly url: string;
  /** The major version, such as 15. */
  readonly version: number;
  /** Statements of the superuser in the database `postgres`. It connects again after a restart. */
  readonly sql: Sql;
  /** Makes an empty database, so that test files and tests can share a server. */
  createDatabase(): Promise<PostgresDatabase>;
  /** Shuts down in order; the folder stays. A replication connection is waited for until it has confirmed everything. */
  stop(): Promise<void>;
  /** Kills the process with SIGKILL; the folder stays. */
  kill(): Promise<void>;
  /** Starts it again with the same port and folder, and other settings when there are any. */
  restart(settings?: PostgresSettings): Promise<void>;
  /** Starts a server that follows this one: a copy of it that takes over with `promote`. It has the slots of no other. */
  startStandby(): Promise<PostgresServer>;
  /** Starts a server of its own on a copy of the files as they are now; this one is stopped for the moment. */
  startCopy(): Promise<PostgresServer>;
  /** Makes a standby a server of its own, with a new timeline. Resolves when it takes writes. */
  promote(): Promise<void>;
  /** Kills it and removes its folder. */
  remove(): Promise<void>;
}

export interface PostgresDatabase {
  readonly name: string;
  /** The address of the superuser in this database. */
  readonly url: string;
  /** Statements of the superuser in this database. */
  readonly sql: Sql;
}

/** Such as `{ max_replication_slots: '1' }`. */
export type PostgresSettings = Readonly<Record<string, string>>;

export interface PostgresServerOptions {
  readonly settings?: PostgresSettings;
  /** Whether it gets a system identifier of its own. All others are copies of one folder and share theirs. */
  readonly isNewSystem?: boolean;
  /** Files in its folder, by name, such as a certificate with its key. */
  readonly files?: Readonly<Record<string, string>>;
}

const PASSWORD = 'only-for-tests';
const READY = /database system is ready to accept (read-only )?connections/;
const START_ATTEMPTS_MAX = 5;
const RESTART_ATTEMPTS_MAX = 200;
const RESTART_PAUSE_MS = 50;
const DEFAULTS: PostgresSettings = {
  wal_level: 'logical',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '16MB',
  max_connections: '50',
  // Copies of a crashed test's folder are never looked at, and a collector would need a folder of its own.
  logging_collector: 'off',
  autovacuum_naptime: '10min',
  // Tests kill servers, and never the machine: what a killed process has written is there.
  fsync: 'off',
};

export async function startPostgres({ settings = {}, isNewSystem = false, files = {} }: PostgresServerOptions = {}) {
  const folder = await ownedFolder();
  const data = join(folder.path, 'data');
  if (isNewSystem) await initialise(data);
  else await runTool('cp', ['-a', await template(), data]);
  const owner = serverUser();
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(data, name), text, { mode: 0o600 });
    if (owner !== null) await chown(join(data, name), owner.uid, owner.gid);
  }
  return serve(folder, { ...DEFAULTS, ...settings });
}

/** A folder that the server's user may write. */
async function ownedFolder(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder();
  const owner = serverUser();
  if (owner !== null) await chown(folder.path, owner.uid, owner.gid);
  return folder;
}

let databases = 0;

/** Starts a server on the folder `data` inside of `folder`. */
async function serve(folder: TemporaryFolder, settings: PostgresSettings): Promise<PostgresServer> {
  const data = join(folder.path, 'data');
  let all = settings;
  const { port, child } = await startAnywhere(data, all);
  let running = child;
  const clients: Sql[] = [];
  const open = async (name: string) => {
    // Loaded here because worker processes load this kit at every start.
    const { openSql, parseDatabaseUrl } = await import('@tidemark/postgres');
    const sql = openSql(parseDatabaseUrl(addressOf(port, name)));
    clients.push(sql);
    return sql;
  };
  const server: PostgresServer = {
    port,
    url: addressOf(port, 'postgres'),
    version: Number(readFileSync(join(data, 'PG_VERSION'), 'utf8')),
    sql: await open('postgres'),
    async createDatabase() {
      const name = `test_${++databases}`;
      await server.sql.unsafe(`CREATE DATABASE ${name}`);
      return { name, url: addressOf(port, name), sql: await open(name) };
    },
    stop: () => endProcess(running, 'SIGINT'),
    kill: () => endProcess(running, 'SIGKILL'),
    async restart(changed = {}) {
      all = { ...all, ...changed };
      running = await startAgain(data, port, all);
    },
    async startStandby() {
      const copy = await ownedFolder();
      await copyRunningPostgres(
        { sql: server.sql, url: server.url, data },
        { data: join(copy.path, 'data'), owner: serverUser() },
      );
      return serve(copy, all);
    },
    async startCopy() {
      const copy = await ownedFolder();
      await server.stop();
      await runTool('cp', ['-a', data, join(copy.path, 'data')]);
      await rm(join(copy.path, 'data', 'postmaster.pid'), { force: true });
      await server.restart();
      return serve(copy, all);
    },
    async promote() {
      await server.sql`SELECT pg_promote()`;
    },
    async remove() {
      await Promise.all(clients.map((sql) => sql.end()));
      await endProcess(running, 'SIGQUIT');
      await folder.remove();
    },
  };
  return server;
}

function addressOf(port: number, database: string): string {
  return `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`;
}

/**
 * Returns the folder of a new server that others are copies of. `initdb` takes seconds, so it runs once per machine;
 * processes that make the folder at the same time keep the first one.
 */
function template(): Promise<string> {
  made ??= makeTemplate();
  return made;
}

let made: Promise<string> | null = null;

async function makeTemplate(): Promise<string> {
  const path = join(tmpdir(), `tidemark-postgres-${programId()}-${serverUser()?.uid ?? process.getuid?.()}`);
  if (await isThere(path)) return path;
  const draft = `${path}.${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await initialise(draft);
  try {
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!(await isThere(path))) throw error;
  }
  return path;
}

async function initialise(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  const password = `${path}.password`;
  await writeFile(password, PASSWORD);
  const owner = serverUser();
  if (owner !== null) await Promise.all([path, password].map((one) => chown(one, owner.uid, owner.gid)));
  // Small segments make copies cheap, and let a test lose a slot within megabytes.
  const size = ['--wal-segsize=1', '--no-sync', '--encoding=UTF8', '--locale=C'];
  const login = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${password}`];
  await runTool(join(dirname(serverPath()), 'initdb'), [...size, ...login, '-D', path]);
  await rm(password);
}

/** Retries with another port, because a free port may be taken before the server binds it. */
async function startAnywhere(data: string, settings: PostgresSettings) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return { port, child: await startAt(data, port, settings) };
    } catch (error) {
      if (attempt >= START_ATTEMPTS_MAX) throw error;
    }
  }
}

/** Processes of a server that was killed keep its memory for a moment, in which a new one refuses to start. */
async function startAgain(data: string, port: number, settings: PostgresSettings): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startAt(data, port, settings);
    } catch (error) {
      const isInUse = String(error).includes('is still in use') || String(error).includes('another server might');
      if (!isInUse || attempt >= RESTART_ATTEMPTS_MAX) throw error;
      await new Promise((resolve) => setTimeout(resolve, RESTART_PAUSE_MS));
    }
  }
}

function startAt(data: string, port: number, settings: PostgresSettings): Promise<ChildProcess> {
  const options = Object.entries({ ...settings, port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const child = spawn(serverPath(), ['-D', data, ...options], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...asServerUser(),
  });
  running.add(child);
  return new Promise((resolve, reject) => {
    let said = '';
    child.once('error', reject);
    child.once('exit', () => {
      running.delete(child);
      reject(new Error(`Postgres did not start:\n${said.slice(-2_000)}`));
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-10_000);
      if (READY.test(said)) resolve(child);
    });
  });
}

/** Servers to kill when this process exits. Their own processes notice it and end. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}

function runTool(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], ...asServerUser() });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2_000);
    });
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${command} failed:\n${said}`))));
  });
}

function asServerUser() {
  // Builds that are not the system's bring their libraries.
  const libraries = join(dirname(dirname(serverPath())), 'lib');
  const own = libraries.startsWith('/usr/') ? {} : { LD_LIBRARY_PATH: libraries };
  // The folder of the caller may be closed to that user.
  return { ...serverUser(), cwd: tmpdir(), env: { ...process.env, LC_ALL: 'C', ...own } };
}

/** The user that servers run as: Postgres refuses to run as root. Null: as the present one. */
export function serverUser(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  const line = ['postgres', 'nobody'].map((name) => users.find((user) => user.startsWith(`${name}:`))).find(Boolean);
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined || gid === undefined)
    throw new Error('there is neither a user postgres nor a user nobody here');
  return { uid: Number(uid), gid: Number(gid) };
}

/** Tells versions and builds apart, so that each has a template of its own. */
function programId(): string {
  return serverPath()
    .replaceAll(/[^a-z0-9]+/gi, '-')
    .replace(/^-/, '');
}

/** `initdb` is beside it; a link in another folder may not have it. */
function serverPath(): string {
  return realpathSync(findProgram({ names: ['postgres'], variable: 'TIDEMARK_POSTGRES' }));
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
