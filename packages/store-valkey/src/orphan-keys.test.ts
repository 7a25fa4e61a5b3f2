import { sharedPartition, userPartition } from '@tidemark/core';
import { startValkey, startValkeyCluster, type ValkeyCluster, type ValkeyServer } from '@tidemark/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openValkeyStore } from './open-store.ts';

const PATIENCE_MS = 300_000;
const reader = (record: string) => ({ id: record, checksum: 1 });

describe.each(['one node', 'a cluster'])('orphan keys on %s', (where) => {
  let servers: ValkeyServer | ValkeyCluster;
  let stores = 0;

  beforeAll(async () => {
    const settings = { appendonly: 'no' };
    servers = where === 'one node' ? await startValkey({ settings }) : await startValkeyCluster(settings);
  });

  afterAll(() => servers.remove());

  async function open(prefix: string) {
    const store = await openValkeyStore({ address: servers.address, prefix, answerMs: PATIENCE_MS });
    onTestFinished(() => store.close());
    return store;
  }

  /** Writes a key behind the store's back. */
  async function put(key: string): Promise<void> {
    await ('ownerOf' in servers ? await servers.ownerOf(key) : servers).call('SET', key, '1');
  }

  async function openWithData() {
    const prefix = `[${++stores}]*:`;
    const store = await open(prefix);
    const partition = userPartition('A:{b}', 'é*');
    const writes = [{ kind: 'link', key: 'k', text: 't', endsAtMs: 9e12 }] as const;
    const changes = [{ id: '1', record: '1', checksum: 1 }];
    await store.commit({ partition, changes, guards: [], notes: { client: 'c', writes, nowMs: 1 } });
    await store.commit({ partition, changes: [{ id: '1', record: null, checksum: 0 }], guards: [] });
    await store.commit({ partition, changes, guards: [] });
    const scope = { kind: 'client', source: 'A', client: 'c' } as const;
    const parts = new Map([['0', 'text']]);
    await store.writeDocument({ key: { scope, name: 'doc' }, type: 'text', replace: true, parts, guards: [] });
    await store.addStats([{ metric: 'm', atS: 60, count: 1, sum: 1, min: 1, max: 1 }]);
    await store
      .jobs({ clock: { nowMs: () => 1 } })
      .enqueue('q', { kind: 'k', payload: '', attemptsMax: 1, order: 'x' });
    await store.writeEntries({ writes: [], guards: [], erase: { clients: ['gone'], users: ['gone'] } });
    return { prefix, store };
  }

  async function details(store: Awaited<ReturnType<typeof open>>): Promise<string[]> {
    const found: string[] = [];
    for await (const { problem, detail } of store.verify(reader)) found.push(`${problem}: ${detail}`);
    return found.sort();
  }

  it('[VALKEY-20] verify reports no key that belongs to the store or to another prefix', async () => {
    const { prefix, store } = await openWithData();
    await (await open(`${prefix}more:`)).commit({
      ...{ partition: sharedPartition('A'), guards: [] },
      changes: [{ id: '1', record: '1', checksum: 1 }],
    });
    expect(await details(store)).toEqual([]);
  });

  it('[VALKEY-20] verify names keys under the prefix that belong to nothing', async () => {
    const { prefix, store } = await openWithData();
    const orphans = [
      'free',
      '{registry}:old',
      '{user:ghost:A}:records',
      '{jobs:lost}:ready',
      '{shared:A}:what',
      '{x%}:state',
    ];
    const lost = `${prefix}{client:c:A}:parts:lost`;
    for (const key of [...orphans.map((name) => prefix + name), lost]) await put(key);
    expect(await details(store)).toEqual(
      [...orphans.map((name) => prefix + name), lost]
        .map((key) => `orphan: the key ${JSON.stringify(key)} belongs to nothing`)
        .sort(),
    );
  });

  it('[VALKEY-20] verify names the first hundred orphan keys and counts the others', async () => {
    const { prefix, store } = await openWithData();
    for (let index = 0; index < 103; index++) await put(`${prefix}${index}`);
    const found = await details(store);
    expect(found.length).toBe(101);
    expect(found).toContain('orphan: 3 more keys belong to nothing');
  });
});
