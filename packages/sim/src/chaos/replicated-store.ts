import { setTimeout as sleep } from 'node:timers/promises';
import { type Rng, startValkeyCluster, startValkeySentinel, until, type ValkeyServer } from '@tidemark/testing/kit';

/** A store of several Valkey processes, where a replica takes over from a primary that dies. */
export interface ReplicatedStore {
  readonly address: string;
  /** Kills a primary, waits until its replica has taken over, and starts the dead process again as a replica. */
  failOver(rng: Rng, lasting: () => Promise<void>): Promise<void>;
  /** Moves a slot that holds data to another primary, while it is used. Null: the store has no slots. */
  readonly reshard: ((rng: Rng) => Promise<void>) | null;
  remove(): Promise<void>;
}

/** A primary and its only replica: whichever dies, the other one has every write that was confirmed. */
interface Pair {
  primary: ValkeyServer;
  replica: ValkeyServer;
}

/** How long a primary may be silent. On a busy machine nothing but a kill may be taken for a death. */
const SILENT_MS_MAX = 5_000;

/** How long a replica gets nothing before its primary is killed. */
const CUT_OFF_MS = 500;
const KEYS_PER_MOVE = 10;
const MOVE_MS_MAX = 5_000;

export const REPLICATED_ENGINES = [
  ...(['valkey-sentinel', 'valkey-cluster'] as const),
  // A failover loses the last acknowledged writes.
  ...(['valkey-sentinel-lossy', 'valkey-cluster-lossy'] as const),
] as const;
export type ReplicatedEngine = (typeof REPLICATED_ENGINES)[number];

export function isLossy(engine: string): boolean {
  return engine.endsWith('-lossy');
}

export async function openReplicatedStore(engine: ReplicatedEngine): Promise<ReplicatedStore> {
  const kill = isLossy(engine) ? killAhead : ({ primary }: Pair) => primary.kill();
  return engine.startsWith('valkey-sentinel') ? openWithSentinel(kill) : openAsCluster(kill);
}

/**
 * Kills a primary that has acknowledged writes which its replica does not have. The replica is stopped before its connection
 * is cut, so that it can neither read what was sent nor connect again.
 */
async function killAhead({ primary, replica }: Pair): Promise<void> {
  process.kill(replica.pid, 'SIGSTOP');
  try {
    await primary.call('CLIENT', 'KILL', 'TYPE', 'replica');
    await sleep(CUT_OFF_MS);
    await primary.kill();
  } finally {
    process.kill(replica.pid, 'SIGCONT');
  }
}

type Kill = (pair: Pair) => Promise<void>;

async function openWithSentinel(kill: Kill): Promise<ReplicatedStore> {
  const sentinel = await startValkeySentinel(1, {}, SILENT_MS_MAX);
  const [replica] = sentinel.replicas;
  if (replica === undefined) throw new Error('there is no replica');
  const pair = { primary: sentinel.primary, replica };
  return {
    address: sentinel.address,
    failOver: (_, lasting) =>
      failOver(pair, {
        ...{ kill, lasting },
        async rejoin(dead, primary) {
          await until(
            'the sentinel names the new primary',
            async () => (await sentinel.primaryPort()) === primary.port,
          );
          await sentinel.rejoin(dead, primary);
        },
      }),
    reshard: null,
    remove: sentinel.remove,
  };
}

async function openAsCluster(kill: Kill): Promise<ReplicatedStore> {
  const cluster = await startValkeyCluster({ 'cluster-node-timeout': String(SILENT_MS_MAX) });
  const pairs: Pair[] = [];
  for (const primary of cluster.servers) pairs.push({ primary, replica: await cluster.addReplica(primary) });
  return {
    address: cluster.address,
    // A node of a cluster remembers the others, and learns from them that its slots have moved.
    failOver: (rng, lasting) => failOver(rng.pick(pairs), { kill, lasting, rejoin: (dead) => dead.restart() }),
    reshard: (rng) => reshard(pairs, rng),
    remove: cluster.remove,
  };
}

interface FailOver {
  readonly kill: Kill;
  readonly lasting: () => Promise<void>;
  readonly rejoin: (dead: ValkeyServer, primary: ValkeyServer) => Promise<void>;
}

async function failOver(pair: Pair, { kill, lasting, rejoin }: FailOver): Promise<void> {
  const { primary: dead, replica: primary } = pair;
  if ((await roleOf(dead)) !== 'master') {
    throw new Error('a replica took over though no primary was killed: this machine is too busy for the run');
  }
  await kill(pair);
  await until('the replica has taken over', async () => (await roleOf(primary)) === 'master');
  await lasting();
  await rejoin(dead, primary);
  await until('the replica has caught up', async () =>
    String(await asked(primary.call('INFO', 'replication'))).includes('state=online'),
  );
  pair.primary = primary;
  pair.replica = dead;
}

/** Moves the slot of some key. Calls for its data are refused meanwhile, since the keys of a scope are on two nodes. */
async function reshard(pairs: readonly Pair[], rng: Rng): Promise<void> {
  const [from, to] = rng.shuffle(pairs).map(({ primary }) => primary);
  if (from === undefined || to === undefined) return;
  const key = await from.call('RANDOMKEY');
  if (key === null) return;
  const slot = Number(await from.call('CLUSTER', 'KEYSLOT', String(key)));
  const [fromId, toId] = [String(await from.call('CLUSTER', 'MYID')), String(await to.call('CLUSTER', 'MYID'))];
  await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
  await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
  for (;;) {
    const keys = (await from.call('CLUSTER', 'GETKEYSINSLOT', slot, KEYS_PER_MOVE)) as readonly string[];
    if (keys.length === 0) break;
    await from.call('MIGRATE', '127.0.0.1', to.port, '', 0, MOVE_MS_MAX, 'KEYS', ...keys);
  }
  await to.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
  for (const { primary } of pairs) await primary.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
}

async function roleOf(server: ValkeyServer): Promise<unknown> {
  const [role] = ((await asked(server.call('ROLE'))) ?? []) as readonly unknown[];
  return role;
}

/** A server that changes its role closes all connections; then the answer is null. */
function asked(answer: Promise<unknown>): Promise<unknown> {
  return answer.catch(() => null);
}
