import { setImmediate } from 'node:timers/promises';
import { partitionName, userPartition } from '@tidemark/core';
import { openValkeyStore, type ValkeyStore } from '@tidemark/store-valkey';
import { IS_LONG, Rng, seededRandom, until } from '@tidemark/testing/kit';
import { expect, it, onTestFinished } from 'vitest';
import { openReplicatedStore } from './replicated-store.ts';

const NAMES = ['first', 'second', 'third'];

/** The failures of a cluster are tested in the package of the store every day. */
const ENGINES = IS_LONG ? (['valkey-sentinel', 'valkey-cluster'] as const) : (['valkey-sentinel'] as const);

it.each(ENGINES)('[CHAOS-4] on %s every acknowledged write is there after each of two failovers', async (engine) => {
  const replicated = await openReplicatedStore(engine);
  onTestFinished(replicated.remove);
  const rng = new Rng(seededRandom(1));
  const write = async (name: string): Promise<number> => {
    const store = await openValkeyStore({ address: replicated.address, confirmReplicas: 1 });
    try {
      await store.writeEntries({ writes: [{ kind: 'user', key: [name], value: name }], guards: [] });
      return await store.countEntries('user');
    } finally {
      await store.close();
    }
  };
  const counts: number[] = [];
  for (const name of NAMES) {
    if (counts.length > 0) await replicated.failOver(rng, async () => undefined);
    // Writes are refused for a moment after a failover, until the replica confirms again.
    await until('a write is acknowledged', async () => {
      const count = await write(name).catch(() => null);
      if (count !== null) counts.push(count);
      return count !== null;
    });
  }
  expect(counts).toEqual([1, 2, 3]);
});

/** Failovers after which at least one must have lost a write: on a slow machine none may be acknowledged just before one. */
const FAILOVERS_MAX = 5;

it('[CHAOS-5] a failover of the lossy store loses writes that were acknowledged just before it', async () => {
  const replicated = await openReplicatedStore('valkey-sentinel-lossy');
  onTestFinished(replicated.remove);
  const store = await openValkeyStore({ address: replicated.address });
  onTestFinished(() => store.close());
  const acknowledged: string[] = [];
  let lost: readonly string[] = [];
  for (let count = 0; count < FAILOVERS_MAX && lost.length === 0; count++) {
    let isOver = false;
    const failover = replicated
      .failOver(new Rng(seededRandom(1)), async () => undefined)
      .finally(() => {
        isOver = true;
      });
    while (!isOver) {
      const name = `${acknowledged.length}`;
      const write = store.writeEntries({ writes: [{ kind: 'user', key: [name], value: name }], guards: [] });
      if (await write.catch(() => null)) acknowledged.push(name);
      // Refusals without a connection come at once, and must not keep the events of the failover waiting.
      await setImmediate();
    }
    await failover;
    lost = await missing(store, acknowledged);
  }
  expect(lost.length).toBeGreaterThan(0);
});

it('[CHAOS-6] a cluster whose slots are moved while it is used has every acknowledged write', async () => {
  const replicated = await openReplicatedStore('valkey-cluster');
  onTestFinished(replicated.remove);
  const store = await openValkeyStore({ address: replicated.address });
  onTestFinished(() => store.close());
  const partitions = Array.from({ length: 20 }, (_, count) => userPartition('Order', `user ${count}`));
  const heads = new Map<string, number>();
  let isOver = false;
  const rng = new Rng(seededRandom(1));
  const moves = (async () => {
    for (let count = 0; count < MOVES; count++) await replicated.reshard?.(rng);
    isOver = true;
  })();
  for (let round = 1; !isOver || round === 1; round++) {
    for (const partition of partitions) {
      const changes = [{ id: `${round}`, record: `${round}`, checksum: 1 }];
      const result = await store.commit({ partition, changes, guards: [] }).catch(() => null);
      if (result?.status === 'committed') heads.set(partitionName(partition), result.state.head);
      await setImmediate();
    }
  }
  await moves;
  await until('all partitions are served', () =>
    Promise.all(partitions.map((one) => store.partition(one))).then(...SERVED),
  );
  const found = await Promise.all(
    partitions.map(async (one) => [partitionName(one), (await store.partition(one)).head] as const),
  );
  // A commit without an answer may have happened.
  expect(found.filter(([user, head]) => head < (heads.get(user) ?? 0))).toEqual([]);
  expect(heads.size).toBe(partitions.length);
});

const MOVES = IS_LONG ? 3 : 1;
const SERVED = [() => true, () => false] as const;

async function missing(store: ValkeyStore, names: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  await until('the store serves', () => store.epoch().then(...SERVED));
  for (const name of names) if (await store.readEntry({ kind: 'user', key: [name] })) found.add(name);
  return names.filter((name) => !found.has(name));
}
