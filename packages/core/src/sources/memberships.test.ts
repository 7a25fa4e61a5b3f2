import { newTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { Adapter } from '../ports/adapter.ts';
import type { EntryBatch } from '../ports/store.ts';

const unused = async () => {
  throw new Error('nobody uploads here');
};
const UNUSED = { create: unused, update: unused, delete: unused };

async function setUp() {
  /** What the adapter names, after the `first` answers. */
  const teams = { of: 'north' as string | null, first: [] as string[] };
  const adapter: Adapter = {
    partition: async () => teams.first.shift() ?? teams.of,
    query: async () => ({ objects: {} }),
    ...UNUSED,
  };
  const { tidemark, store } = await newTidemark({ adapters: { find: (name) => (name === 'Visit' ? adapter : null) } });
  await tidemark.sources.declare({ name: 'Visit', adapter: 'Visit', poll_interval: -1 });
  const source = await tidemark.sources.view('Visit');
  const ask = () => tidemark.sources.memberships.owners(source, 'ada');
  /** The adapter names the partition just before the first batch of this kind is written. */
  const askBefore = (isMeant: (batch: EntryBatch) => boolean) => {
    const { writeEntries } = store;
    store.writeEntries = async (batch) => {
      if (isMeant(batch)) {
        store.writeEntries = writeEntries;
        await ask();
      }
      return writeEntries.call(store, batch);
    };
  };
  const left = async (name: string) => {
    const settings = await store.listEntries({ kind: 'setting', prefix: [], limit: 1_000 });
    return settings.filter(({ key }) => key.includes(name) && key[0] !== 'roster');
  };
  return { tidemark, teams, ask, askBefore, left };
}

describe('memberships that an adapter names', () => {
  it('[ADAPT-13] all partitions of a user before the present one are remembered, the latest first', async () => {
    const { teams, ask } = await setUp();
    for (const team of ['north', 'south', null, 'west']) {
      teams.of = team;
      await ask();
    }
    const { owners, earlier } = await ask();
    expect(owners).toEqual([{ kind: 'group', name: 'west' }]);
    expect(earlier).toEqual([
      { kind: 'user', login: 'ada' },
      { kind: 'group', name: 'south' },
      { kind: 'group', name: 'north' },
    ]);
  });

  it('[ADAPT-13] the partition to which a user has come back is not among those before', async () => {
    const { teams, ask } = await setUp();
    for (const team of ['north', 'south', 'north']) {
      teams.of = team;
      await ask();
    }
    expect(await ask()).toMatchObject({
      owners: [{ kind: 'group', name: 'north' }],
      earlier: [
        { kind: 'group', name: 'south' },
        { kind: 'user', login: 'ada' },
      ],
    });
  });

  it('[ADAPT-7] an adapter that has named another partition to another call meanwhile is asked again', async () => {
    const { teams, ask, askBefore } = await setUp();
    teams.first.push('north', 'south');
    teams.of = 'west';
    askBefore(({ writes }) => writes?.some(({ key }) => key.includes('north')) === true);
    expect((await ask()).owners).toEqual([{ kind: 'group', name: 'west' }]);
  });

  it('[ADAPT-12] one that is stored while its source is dropped goes with it', async () => {
    const { tidemark, askBefore, left } = await setUp();
    askBefore(({ erase }) => erase?.sources?.includes('Visit') === true);
    await tidemark.sources.drop('Visit');
    expect(await left('Visit')).toEqual([]);
  });

  it('[ADAPT-12] one that is stored while its user is deleted goes with the user', async () => {
    const { tidemark, askBefore, left } = await setUp();
    askBefore(({ erase }) => erase?.users?.includes('ada') === true);
    await tidemark.users.delete('ada');
    expect(await left('ada')).toEqual([]);
  });
});
