import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from './temporary-folder.ts';
import {
  callOnce,
  endProcess,
  freePort,
  startProcess,
  startValkey,
  until,
  type ValkeyLogin,
  type ValkeyServer,
} from './valkey-server.ts';

/** A primary with replicas, and a sentinel that promotes one of them when the primary is down. */
export interface ValkeySentinel {
  /** `valkey+sentinel://…` */
  readonly address: string;
  readonly primary: ValkeyServer;
  readonly replicas: readonly ValkeyServer[];
  /** Waits until the replicas have all earlier writes. */
  catchUp(): Promise<void>;
  /** Cuts the replicas off from the primary. They stay replicas and fall behind. */
  cutOff(): Promise<void>;
  /** Returns the port of the primary according to the sentinel. */
  primaryPort(): Promise<number>;
  /** Waits until this many connections are subscribed to failovers at the sentinel. */
  untilWatched(count: number): Promise<void>;
  /** Stops the sentinel; its configuration stays. */
  stopSentinel(): Promise<void>;
  startSentinel(): Promise<void>;
  /** Starts a server that was killed again, as a replica of the new primary. */
  rejoin(dead: ValkeyServer, primary: ValkeyServer): Promise<void>;
  remove(): Promise<void>;
}

const NAME = 'tide';
/** How long the primary may be silent: longer than a busy machine delays a healthy process. */
const DOWN_AFTER_MS = 2_000;
/** A failover that found no suitable replica is repeated after twice this time. */
const FAILOVER_TIMEOUT_MS = 2_000;
/** Replicas log in as a user of their own, which can be disabled. */
const REPLICA_LOGIN = { masteruser: 'replica', masterauth: 'known' };
const MARK = 'caught-up';

/** The permissions that the documentation lists for clients that only ask for the primary. */
const SEEKER_RIGHTS =
  'resetchannels &+switch-master -@all +sentinel|get-master-addr-by-name +sentinel|sentinels +subscribe';
/** The administrator of a sentinel with users. */
const KEEPER = { username: 'keeper', password: 'keeps' };

/** Returns the access rules of a sentinel: only this login, with the permissions of a client that asks for the primary. */
export async function startValkeySentinel(
  replicaCount: number,
  login: ValkeyLogin = {},
  downAfterMs: number = DOWN_AFTER_MS,
): Promise<ValkeySentinel> {
  const settings = { 'repl-diskless-sync-delay': '0', ...REPLICA_LOGIN };
  const servers = await Promise.all(Array.from({ length: replicaCount + 1 }, () => startValkey({ settings })));
  const { masteruser, masterauth } = REPLICA_LOGIN;
  const admitReplicas = (server: ValkeyServer) =>
    server.call('ACL', 'SETUSER', masteruser, 'on', `>${masterauth}`, '~*', '&*', '+@all');
  await Promise.all(servers.map(admitReplicas));
  const [primary, ...replicas] = servers;
  if (primary === undefined) throw new Error('there is no primary');
  await Promise.all(replicas.map((replica) => replica.call('REPLICAOF', '127.0.0.1', primary.port)));
  await until('the replicas have caught up', async () => {
    const info = String(await primary.call('INFO', 'replication'));
    return info.split('state=online').length - 1 === replicaCount;
  });
  const sentinel = await startSentinel(primary, replicaCount, { login, downAfterMs });
  let marks = 0;
  return {
    address: `valkey+sentinel://127.0.0.1:${sentinel.port}/${NAME}`,
    primary,
    replicas,
    async catchUp() {
      const mark = String(++marks);
      await primary.call('SET', MARK, mark);
      await until('the replicas have the mark', async () => {
        const seen = await Promise.all(replicas.map((replica) => replica.call('GET', MARK)));
        return seen.every((value) => value === mark);
      });
    },
    async cutOff() {
      await primary.call('ACL', 'SETUSER', masteruser, 'off');
      await primary.call('CLIENT', 'KILL', 'TYPE', 'replica');
    },
    primaryPort: sentinel.primaryPort,
    untilWatched: sentinel.untilWatched,
    stopSentinel: sentinel.stop,
    startSentinel: sentinel.start,
    async rejoin(dead, newPrimary) {
      await dead.restart();
      // The sentinel does the same, and then closes all connections.
      await until('the server is a replica', async () => {
        const joining = admitReplicas(dead).then(() => dead.call('REPLICAOF', '127.0.0.1', newPrimary.port));
        return joining.then(
          () => true,
          () => false,
        );
      });
    },
    async remove() {
      await sentinel.remove();
      await Promise.all([primary, ...replicas].map((server) => server.remove()));
    },
  };
}

/** Starts a sentinel with a folder of its own, because it rewrites its configuration file. */
async function startSentinel(
  primary: ValkeyServer,
  replicaCount: number,
  { login, downAfterMs }: { readonly login: ValkeyLogin; readonly downAfterMs: number },
) {
  const folder = await temporaryFolder();
  const port = await freePort();
  const file = join(folder.path, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder.path}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${primary.port} 1`,
    `sentinel down-after-milliseconds ${NAME} ${downAfterMs}`,
    `sentinel failover-timeout ${NAME} ${FAILOVER_TIMEOUT_MS}`,
    ...loginLines(login),
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const start = () => startProcess([file, '--sentinel'], '+monitor master');
  let child = await start();
  const call = (command: string, ...args: readonly string[]) =>
    callOnce(port, command, args, login.username === undefined ? login : KEEPER);
  const ask = (...args: readonly string[]) => call('SENTINEL', ...args);
  await until('the sentinel knows the replicas', async () => {
    const known = (await ask('replicas', NAME)) as readonly (readonly string[])[];
    return known.filter((fields) => fields[fields.indexOf('flags') + 1] === 'slave').length === replicaCount;
  });
  return {
    port,
    async primaryPort() {
      const [, now] = (await ask('get-master-addr-by-name', NAME)) as readonly string[];
      return Number(now);
    },
    untilWatched: (count: number) =>
      until(`${count} listen at the sentinel`, async () => {
        const list = String(await call('CLIENT', 'LIST', 'TYPE', 'pubsub')).trim();
        return (list === '' ? 0 : list.split('\n').length) === count;
      }),
    stop: () => endProcess(child),
    async start() {
      child = await start();
    },
    async remove() {
      await endProcess(child);
      await folder.remove();
    },
  };
}

function loginLines({ username, password }: ValkeyLogin): readonly string[] {
  if (password === undefined) return [];
  if (username === undefined) return [`requirepass ${password}`];
  return [
    'user default off',
    `user ${KEEPER.username} on >${KEEPER.password} allchannels allkeys +@all`,
    `user ${username} on >${password} ${SEEKER_RIGHTS}`,
  ];
}
