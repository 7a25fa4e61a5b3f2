import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { findProgram } from './find-program.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A Valkey server process on a free loopback port, with a temporary folder. */
export interface ValkeyServer {
  readonly port: number;
  readonly pid: number;
  /** `valkey://127.0.0.1:…` */
  readonly address: string;
  /** Sends a command on a new connection. */
  call(command: string, ...args: readonly (string | number)[]): Promise<unknown>;
  /** Kills the process; its folder stays. */
  kill(): Promise<void>;
  /** Starts it again with the same port and folder. */
  restart(): Promise<void>;
  /** Kills it and removes its folder. */
  remove(): Promise<void>;
}

export interface ValkeyServerOptions {
  /** More settings, as on the command line but without dashes: `{ maxmemory: '10mb' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

const START_ATTEMPTS_MAX = 5;
const DURABLE = { save: '', appendonly: 'yes', appendfsync: 'always' };

export async function startValkey({ settings = {} }: ValkeyServerOptions = {}): Promise<ValkeyServer> {
  const folder = await temporaryFolder();
  const all = { ...DURABLE, ...settings, dir: folder.path };
  const { port, child } = await startAnywhere(all);
  let running = child;
  const address = `valkey://127.0.0.1:${port}`;
  const kill = () => endProcess(running);
  return {
    port,
    get pid() {
      return pidOf(running);
    },
    address,
    call: (command, ...args) => callOnce(port, command, args),
    kill,
    restart: async () => {
      running = await startAt(port, all);
    },
    remove: async () => {
      await kill();
      await folder.remove();
    },
  };
}

/** Three primaries that share the slots. */
export interface ValkeyCluster {
  /** `valkey+cluster://…` */
  readonly address: string;
  readonly servers: readonly ValkeyServer[];
  /** Returns the primary that has the slot of a key, according to the first node. */
  ownerOf(key: string): Promise<ValkeyServer>;
  /** Adds a replica of a primary, and waits until it has caught up. */
  addReplica(primary: ValkeyServer): Promise<ValkeyServer>;
  remove(): Promise<void>;
}

const SLOTS = 16_384;
const PRIMARIES = 3;
const POLL_MS = 20;
const POLLS_MAX = 6_000;

export async function startValkeyCluster(settings: Settings = {}): Promise<ValkeyCluster> {
  const servers = await Promise.all(Array.from({ length: PRIMARIES }, () => startNode(settings)));
  const replicas: ValkeyServer[] = [];
  await joinAll(servers);
  return {
    address: `valkey+cluster://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    servers,
    ownerOf: (key) => ownerOf(servers, key),
    async addReplica(primary) {
      const replica = await startNode(settings);
      replicas.push(replica);
      await meet(primary, replica);
      await replicate([...servers, ...replicas], primary, replica);
      return replica;
    },
    remove: async () => {
      await Promise.all([...servers, ...replicas].map((server) => server.remove()));
    },
  };
}

async function startNode(settings: Settings): Promise<ValkeyServer> {
  const clusterPort = String(await freePort());
  const cluster = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '2000', 'cluster-port': clusterPort };
  return startValkey({ settings: { 'repl-diskless-sync-delay': '0', ...cluster, ...settings } });
}

async function ownerOf(servers: readonly ValkeyServer[], key: string): Promise<ValkeyServer> {
  const slot = Number(await servers[0]?.call('CLUSTER', 'KEYSLOT', key));
  const slots = (await servers[0]?.call('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
  const [, , node] = slots.find(([first, last]) => first <= slot && slot <= last) ?? [];
  const owner = servers.find(({ port }) => port === node?.[1]);
  if (owner === undefined) throw new Error(`nobody has slot ${slot}`);
  return owner;
}

async function replicate(all: readonly ValkeyServer[], primary: ValkeyServer, replica: ValkeyServer): Promise<void> {
  const id = String(await primary.call('CLUSTER', 'MYID'));
  await until('the replica knows its primary', async () => String(await replica.call('CLUSTER', 'NODES')).includes(id));
  await replica.call('CLUSTER', 'REPLICATE', id);
  await until('the replica has caught up', async () =>
    String(await primary.call('INFO', 'replication')).includes('state=online'),
  );
  const replicaId = String(await replica.call('CLUSTER', 'MYID'));
  const isKnown = new RegExp(`^${replicaId} .*slave ${id}`, 'm');
  await until('everybody knows the replica', async () => {
    const views = await Promise.all(all.map(async (server) => String(await server.call('CLUSTER', 'NODES'))));
    const infos = await Promise.all(all.map(async (server) => String(await server.call('CLUSTER', 'INFO'))));
    return views.every((view) => isKnown.test(view)) && infos.every((info) => info.includes('cluster_state:ok'));
  });
}

async function joinAll(servers: readonly ValkeyServer[]): Promise<void> {
  const share = Math.ceil(SLOTS / servers.length);
  for (const [index, server] of servers.entries()) {
    const last = Math.min((index + 1) * share, SLOTS) - 1;
    await server.call('CLUSTER', 'ADDSLOTSRANGE', index * share, last);
    await server.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
  }
  const [first, ...others] = servers;
  for (const other of others) if (first !== undefined) await meet(first, other);
  await Promise.all(servers.map((server) => untilWhole(server, servers.length)));
}

async function meet(known: ValkeyServer, other: ValkeyServer): Promise<void> {
  const nodes = String(await other.call('CLUSTER', 'NODES'));
  const busPort = /@(\d+)[^\n]* myself/.exec(nodes)?.[1] ?? 0;
  await known.call('CLUSTER', 'MEET', '127.0.0.1', other.port, busPort);
}

async function untilWhole(server: ValkeyServer, nodes: number): Promise<void> {
  await until('the nodes of the cluster know each other', async () => {
    const info = String(await server.call('CLUSTER', 'INFO'));
    const isWhole = info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes}`);
    return isWhole && String(await server.call('CLUSTER', 'NODES')).split('master').length - 1 === nodes;
  });
}

/** Polls until the condition holds: cluster nodes exchange their state in the background. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let poll = 0; poll < POLLS_MAX; poll++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`it did not become true that ${what}`);
}

type Settings = Readonly<Record<string, string>>;

/** Retries with another port, because a free port may be taken before the server binds it. */
async function startAnywhere(settings: Settings): Promise<{ readonly port: number; readonly child: ChildProcess }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return { port, child: await startAt(port, settings) };
    } catch (error) {
      if (attempt >= START_ATTEMPTS_MAX) throw error;
    }
  }
}

function startAt(port: number, settings: Settings): Promise<ChildProcess> {
  const args = Object.entries({ ...settings, port: String(port), bind: '127.0.0.1', daemonize: 'no' });
  return startProcess(
    args.flatMap(([name, value]) => [`--${name}`, value]),
    'Ready to accept connections',
  );
}

/** Starts the program and waits until its output contains `readyText`. */
export function startProcess(args: readonly string[], readyText: string): Promise<ChildProcess> {
  const child = spawn(serverPath(), args, { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  return new Promise((resolve, reject) => {
    let said = '';
    child.once('error', reject);
    child.once('exit', () => {
      running.delete(child);
      reject(new Error(`the server did not start:\n${said.slice(-2_000)}`));
    });
    child.stderr?.resume();
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-100_000);
      if (said.includes(readyText)) resolve(child);
    });
  });
}

/** Servers to kill when this process exits. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the server has no process');
  return child.pid;
}

/** The credentials of a server; without a username, the password of the default user. */
export interface ValkeyLogin {
  readonly username?: string;
  readonly password?: string;
}

export async function callOnce(
  port: number,
  command: string,
  args: readonly (string | number)[],
  login: ValkeyLogin = {},
): Promise<unknown> {
  const way = { host: '127.0.0.1', port, lazyConnect: true, retryStrategy: () => null, protocol: 2 as const };
  // Loaded here because worker processes load this kit at every start, and the client is slow to load.
  const { Redis } = await import('ioredis');
  const client = new Redis({ ...way, ...login });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return address.port;
}

function serverPath(): string {
  return findProgram({
    names: ['valkey-server', 'redis-server'],
    variable: 'TIDEMARK_VALKEY_SERVER',
  });
}
