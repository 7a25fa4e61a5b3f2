import { openValkeyStore } from '@tidemark/store-valkey';
import { Dice, seededRandom, until } from '@tidemark/testing/kit';
import { expect, it, onTestFinished } from 'vitest';
import { openReplicatedStore } from './replicated-store.ts';

const NAMES = ['first', 'second', 'third'];

it.each(['valkey-sentinel', 'valkey-cluster'] as const)(
  '[CHAOS-4] on %s every acknowledged write is there after each of two failovers',
  async (engine) => {
    const replicated = await openReplicatedStore(engine);
    onTestFinished(replicated.remove);
    const dice = new Dice(seededRandom(1));
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
      if (counts.length > 0) await replicated.failOver(dice, async () => undefined);
      // Writes are refused for a moment after a failover, until the replica confirms again.
      await until('a write is acknowledged', async () => {
        const count = await write(name).catch(() => null);
        if (count !== null) counts.push(count);
        return count !== null;
      });
    }
    expect(counts).toEqual([1, 2, 3]);
  },
);
