import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { Redis } from 'ioredis';
import { temporaryFolder } from './temporary-folder.ts';

/** A server of its own: no service, a free port on the loopback address, a folder that goes with it. */
export interface ValkeyServer {
  readonly port: number;
  readonly pid: number;
  /** `valkey://127.0.0.1:…` */
  readonly address: string;
  /** Sends a command on a connection of its own. */
  call(command: string, ...args: readonly (string | number)[]): Promise<unknown>;
  /** Ends the process as a power failure would; what it has written to its folder stays. */
  kill(): Promise<void>;
  /** Starts it again at the same port and in the same folder. */
  restart(): Promise<void>;
  /** Ends it for good and takes its folder away. */
  remove(): Promise<void>;
}

export interface ValkeyServerOptions {
  /** More settings, as on the command line but without dashes: `{ maxmemory: '10mb' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

const SERVERS = ['valkey-server', 'redis-server'];
const MORE_FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/opt/homebrew/bin'];
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
  remove(): Promise<void>;
}

const SLOTS = 16_384;
const PRIMARIES = 3;
const POLL_MS = 20;
const POLLS_MAX = 1_000;

export async function startValkeyCluster(settings: Settings = {}): Promise<ValkeyCluster> {
  const servers = await Promise.all(
    Array.from({ length: PRIMARIES }, async () => {
      const clusterPort = String(await freePort());
      return startValkey({
        settings: {
          ...settings,
          ...{ 'cluster-enabled': 'yes', 'cluster-node-timeout': '2000', 'cluster-port': clusterPort },
        },
      });
    }),
  );
  await joinAll(servers);
  return {
    address: `valkey+cluster://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    servers,
    remove: async () => {
      await Promise.all(servers.map((server) => server.remove()));
    },
  };
}

async function joinAll(servers: readonly ValkeyServer[]): Promise<void> {
  const share = Math.ceil(SLOTS / servers.length);
  for (const [index, server] of servers.entries()) {
    const last = Math.min((index + 1) * share, SLOTS) - 1;
    await server.call('CLUSTER', 'ADDSLOTSRANGE', index * share, last);
    await server.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
  }
  const [first, ...others] = servers;
  for (const other of others) {
    const [, busPort = 0] = await busPortOf(other);
    await first?.call('CLUSTER', 'MEET', '127.0.0.1', other.port, busPort);
  }
  await Promise.all(servers.map((server) => untilWhole(server, servers.length)));
}

async function busPortOf(server: ValkeyServer): Promise<readonly [number, number]> {
  const text = String(await server.call('CLUSTER', 'MYID'));
  const nodes = String(await server.call('CLUSTER', 'NODES'));
  const line = nodes.split('\n').find((candidate) => candidate.startsWith(text)) ?? '';
  return [server.port, Number(/@(\d+)/.exec(line)?.[1] ?? 0)];
}

/** Nodes tell each other by gossip, so there is nothing to wait for but their own word. */
async function untilWhole(server: ValkeyServer, nodes: number): Promise<void> {
  for (let poll = 0; poll < POLLS_MAX; poll++) {
    const info = String(await server.call('CLUSTER', 'INFO'));
    const isWhole = info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes}`);
    if (isWhole && String(await server.call('CLUSTER', 'NODES')).split('master').length - 1 === nodes) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error('the nodes of the cluster did not find each other');
}

type Settings = Readonly<Record<string, string>>;

/** A port that was free a moment ago may be taken by now. */
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
  const child = spawn(
    serverPath(),
    args.flatMap(([name, value]) => [`--${name}`, value]),
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
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
      if (said.includes('Ready to accept connections')) resolve(child);
    });
  });
}

/** Whatever ends this process takes the servers with it. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

function endProcess(child: ChildProcess): Promise<void> {
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

async function callOnce(port: number, command: string, args: readonly (string | number)[]): Promise<unknown> {
  const client = new Redis({ host: '127.0.0.1', port, lazyConnect: true, retryStrategy: () => null, protocol: 2 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return address.port;
}

/** `npm test` has installed one before; whoever runs tests another way is told what is missing. */
function serverPath(): string {
  const named = process.env.TIDEMARK_VALKEY_SERVER ?? '';
  if (named !== '') return named;
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''), ...MORE_FOLDERS];
  const found = SERVERS.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
  if (found === undefined) throw new Error(`there is no ${SERVERS.join(' or ')} here: run node scripts/valkey.mjs`);
  return found;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
