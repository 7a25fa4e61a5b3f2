import { type Dice, startValkeyCluster, startValkeySentinel, until, type ValkeyServer } from '@tidemark/testing/kit';

/** A store of several Valkey processes, where a replica takes over from a primary that dies. */
export interface ReplicatedStore {
  readonly address: string;
  /** Kills a primary, waits until its replica has taken over, and starts the dead process again as a replica. */
  failOver(dice: Dice, lasting: () => Promise<void>): Promise<void>;
  remove(): Promise<void>;
}

/** A primary and its only replica: whichever dies, the other one has every write that was confirmed. */
interface Pair {
  primary: ValkeyServer;
  replica: ValkeyServer;
}

/** How long a primary may be silent. On a busy machine nothing but a kill may be taken for a death. */
const SILENT_MS_MAX = 5_000;

export async function openReplicatedStore(engine: 'valkey-sentinel' | 'valkey-cluster'): Promise<ReplicatedStore> {
  return engine === 'valkey-sentinel' ? openWithSentinel() : openAsCluster();
}

async function openWithSentinel(): Promise<ReplicatedStore> {
  const sentinel = await startValkeySentinel(1, {}, SILENT_MS_MAX);
  const [replica] = sentinel.replicas;
  if (replica === undefined) throw new Error('there is no replica');
  const pair = { primary: sentinel.primary, replica };
  return {
    address: sentinel.address,
    failOver: (_, lasting) =>
      failOver(pair, lasting, async (dead, primary) => {
        await until('the sentinel names the new primary', async () => (await sentinel.primaryPort()) === primary.port);
        await sentinel.rejoin(dead, primary);
      }),
    remove: sentinel.remove,
  };
}

async function openAsCluster(): Promise<ReplicatedStore> {
  const cluster = await startValkeyCluster({ 'cluster-node-timeout': String(SILENT_MS_MAX) });
  const pairs: Pair[] = [];
  for (const primary of cluster.servers) pairs.push({ primary, replica: await cluster.addReplica(primary) });
  return {
    address: cluster.address,
    // A node of a cluster remembers the others, and learns from them that its slots have moved.
    failOver: (dice, lasting) => failOver(dice.pick(pairs), lasting, (dead) => dead.restart()),
    remove: cluster.remove,
  };
}

async function failOver(
  pair: Pair,
  lasting: () => Promise<void>,
  rejoin: (dead: ValkeyServer, primary: ValkeyServer) => Promise<void>,
): Promise<void> {
  const { primary: dead, replica: primary } = pair;
  if ((await roleOf(dead)) !== 'master') {
    throw new Error('a replica took over though no primary was killed: this machine is too busy for the run');
  }
  await dead.kill();
  await until('the replica has taken over', async () => (await roleOf(primary)) === 'master');
  await lasting();
  await rejoin(dead, primary);
  await until('the replica has caught up', async () =>
    String(await asked(primary.call('INFO', 'replication'))).includes('state=online'),
  );
  pair.primary = primary;
  pair.replica = dead;
}

async function roleOf(server: ValkeyServer): Promise<unknown> {
  const [role] = ((await asked(server.call('ROLE'))) ?? []) as readonly unknown[];
  return role;
}

/** A server that changes its role closes all connections; then the answer is null. */
function asked(answer: Promise<unknown>): Promise<unknown> {
  return answer.catch(() => null);
}
