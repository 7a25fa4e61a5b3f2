import { type MovableStore, moveStore, type Piece, sharedPartition, userPartition } from '@tidemark/core';
import {
  movingContract,
  newTidemark,
  openMemoryStore,
  seededRandom,
  startValkey,
  startValkeyCluster,
  type ValkeyServer,
} from '@tidemark/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { splitEpochs } from './import.ts';
import { openValkeyStore, type ValkeyStore } from './open-store.ts';
import type { Opening } from './opening.ts';

/** The machine may be busy with other tests, and the time of a reply is not what is tested here. */
const PATIENCE_MS = 300_000;
const TARGET: Opening = { as: 'target', isCleaned: false };
let stores = 0;

describe.each(['one node', 'a cluster'])('on %s', (where) => {
  const prefixes = new Map<MovableStore, string>();
  let servers: { readonly address: string; remove(): Promise<void> };

  beforeAll(async () => {
    const settings = { appendonly: 'no' };
    servers = where === 'one node' ? await startValkey({ settings }) : await startValkeyCluster(settings);
  });

  afterAll(() => servers.remove());

  async function open(opening: Opening, prefix = `${where} ${++stores}:`): Promise<ValkeyStore> {
    const store = await openValkeyStore({ address: servers.address, prefix, answerMs: PATIENCE_MS, opening });
    prefixes.set(store, prefix);
    return store;
  }

  movingContract('the Valkey store', {
    open: () => open({ as: 'server' }),
    openTarget: () => open(TARGET),
    serve: (closed) => open({ as: 'server' }, prefixes.get(closed) ?? ''),
    jobs: (store, clock) => (store as ValkeyStore).jobs({ clock }),
  });
});

describe('a prefix', () => {
  let server: ValkeyServer;

  beforeAll(async () => {
    server = await startValkey({ settings: { appendonly: 'no' } });
  });

  afterAll(() => server.remove());

  async function open(prefix: string, opening: Opening = { as: 'server' }): Promise<ValkeyStore> {
    const store = await openValkeyStore({ address: server.address, prefix, answerMs: PATIENCE_MS, opening });
    onTestFinished(() => store.close());
    return store;
  }

  it.each<Opening>([{ as: 'server' }, { as: 'source', isMovedAllowed: false }, TARGET])(
    '[VALKEY-31] a store of the first trial format is refused and left untouched, opened as $as',
    async (opening) => {
      const prefix = `trial ${opening.as}:`;
      const client = new Redis(server.address.replace('valkey:', 'redis:'));
      onTestFinished(() => client.disconnect());
      await client.hset(`${prefix}{registry}:facts`, { epoch: 'e', format: '1' });
      await expect(open(prefix, opening)).rejects.toThrow(/format 1.*format 2.*another prefix/);
      expect(await client.keys(`${prefix}*`)).toEqual([`${prefix}{registry}:facts`]);
    },
  );

  const partition = sharedPartition('Order');
  const mark = { client: 'a\0b', epoch: 'e', seq: 1, base: 1, start: null, seenAtMs: 1 };
  const note = { kind: 'outcome', key: 'op', text: '{}' } as const;
  const scope = { kind: 'client', source: 'Order', client: 'a\0b' } as const;

  it.each<Piece>([
    { what: 'entry', key: ['client', 'a\0b'], value: '{}', version: 1 },
    { what: 'tidemark', partition, mark },
    { what: 'note', partition, client: 'a\0b', note, endsAtMs: null },
    { what: 'document', key: { scope, name: 'd' }, type: 'text', version: 1, partCount: 0, units: 0 },
  ])(
    '[VALKEY-15] an import refuses the $what of a client whose id has a zero character, and writes nothing',
    async (piece) => {
      const prefix = `zero in ${piece.what}:`;
      const store = await open(prefix, TARGET);
      await store.beginImport({ epoch: 'e', lastVersion: 7 });
      const client = new Redis(server.address.replace('valkey:', 'redis:'));
      onTestFinished(() => client.disconnect());
      const before = await client.keys(`${prefix}*`);
      await expect(store.import([piece])).rejects.toThrow(
        'the name "a\\u0000b" is not well-formed Unicode without zero characters',
      );
      expect(await client.keys(`${prefix}*`)).toEqual(before);
    },
  );

  it('[MIGRATE-4] a prefix with a broken-off migration is emptied only with --clean, and then completely', async () => {
    const store = await open('cleaned:', TARGET);
    await store.beginImport({ epoch: 'e', lastVersion: 7 });
    await store.import([
      { what: 'entry', key: ['user', 'ann'], value: '{}', version: 3 },
      {
        what: 'note',
        partition: userPartition('A', 'ann'),
        client: 'c',
        note: { kind: 'link', key: 'k', text: 't' },
        endsAtMs: 9,
      },
      { what: 'stat', row: { metric: 'm', atS: 60, count: 1, sum: 1, min: 1, max: 1 } },
      { what: 'queue', queue: 'q', isPaused: true },
    ]);
    await expect(open('cleaned:', TARGET)).rejects.toThrow(/broken off; add --clean/);
    const again = await open('cleaned:', { as: 'target', isCleaned: true });
    for await (const portion of again.export((record) => ({ id: record, checksum: 0 }))) expect(portion).toEqual([]);
    const left = (await server.call('KEYS', 'cleaned:*')) as string[];
    expect(left.filter((key) => !key.endsWith(':fence')).sort()).toEqual([
      'cleaned:{jobs:q}:queue',
      'cleaned:{registry}:meta',
      'cleaned:{registry}:queues',
    ]);
  });

  it('[MIGRATE-4] a prefix in use cannot be a target, and an empty one cannot be a source', async () => {
    await open('used:');
    for (const isCleaned of [true, false]) {
      await expect(open('used:', { as: 'target', isCleaned })).rejects.toThrow(/is not empty/);
    }
    await expect(open('nothing:', { as: 'source', isMovedAllowed: true })).rejects.toThrow(/holds no data/);
    expect(await server.call('KEYS', 'nothing:*')).toEqual([]);
  });

  it('[MIGRATE-4] a prefix that was moved refuses writes of servers that still have it open', async () => {
    const store = await open('left:');
    const partition = sharedPartition('A');
    const commit = () => store.commit({ partition, changes: [{ id: '1', record: 'x', checksum: 1 }], guards: [] });
    await commit();
    await store.setMigrationState({ state: 'moved', to: 'elsewhere' });
    await expect(commit()).rejects.toMatchObject({ code: 'store_unavailable' });
    const writes = [{ kind: 'user', key: ['ann'], value: '{}' }] as const;
    await expect(store.writeEntries({ writes, guards: [] })).rejects.toMatchObject({ code: 'store_unavailable' });
    expect((await store.partition(partition)).head).toBe(1);
  });

  it('[MIGRATE-4] a prefix that was being moved can be a source again but not a target', async () => {
    await (await open('moving:')).setMigrationState({ state: 'moving', to: 'a folder' });
    await expect(open('moving:')).rejects.toThrow(/was being moved to a folder; .*--release/);
    await expect(open('moving:', { as: 'target', isCleaned: true })).rejects.toThrow(/is itself being moved/);
    await open('moving:', { as: 'source', isMovedAllowed: false });
  });

  it('[MIGRATE-8] a migration names an object that was changed in the target meanwhile', async () => {
    const source = openMemoryStore({ random: seededRandom(3) });
    const { tidemark } = await newTidemark({ store: source });
    await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { a: { n: 1 }, b: { n: 2 } } });
    const setMigrationState = source.setMigrationState.bind(source);
    // Between the copy and the comparison.
    source.setMigrationState = async (state) => {
      if (state?.state === 'moving') {
        const key = 'spoiled:{user:ada:Order}:records';
        const record = String(await server.call('HGET', key, 'b'));
        await server.call('HSET', key, 'b', record.replace('2', '7'));
      }
      await setMigrationState(state);
    };
    const report = await moveStore({ from: source, to: await open('spoiled:', TARGET), toName: 'there' });
    expect(report).toMatchObject({ status: 'differs' });
    const told = report.status === 'differs' ? report.differences.map(({ detail }) => detail) : [];
    expect(told).toContain('object "b" at 2 differs in record');
    expect(await source.migrationState()).toBeNull();
    await expect(open('spoiled:')).rejects.toThrow(/broken off/);
  });

  it('[MIGRATE-6] a store tells how many others have the same prefix open', async () => {
    const one = await open('shared:');
    expect(await one.others()).toBe(0);
    const other = await open('shared:');
    await open('another:');
    expect([await one.others(), await other.others()]).toEqual([1, 1]);
  });

  it('[MIGRATE-3] an import keeps the epochs of a partition from any engine', () => {
    const split = (epoch: string, ...earlier: readonly (readonly [string, number])[]) =>
      splitEpochs('E', { epoch, earlier: earlier.map(([older, upTo]) => ({ epoch: older, upTo })) });
    expect(split('Eword')).toEqual({ id: 'word', replicationId: '', earlier: '' });
    expect(split('Ewordab', ['Eword', 7])).toEqual({ id: 'word', replicationId: 'ab', earlier: ':7' });
    expect(split('Eword-1abc', ['Eword-1xyz', 9], ['Eword-1', 4])).toEqual({
      ...{ id: 'word-1', replicationId: 'abc', earlier: 'xyz:9,:4' },
    });
    expect(() => split('other')).toThrow(/does not begin/);
  });
});
