import assert from 'node:assert/strict';
import { Rng, seededRandom } from '@tidemark/client-testing';
import type { Entry, EntryKind, EntryRef, EntryWrite, Store } from '@tidemark/core';
import { observeStore } from './observe-store.ts';
import { POPULATED_ENTRIES, populateStore } from './populate-store.ts';
import { assertPaging, sortByBytes } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const ANN: EntryRef = { kind: 'user', key: ['ann'] };
const BOB: EntryRef = { kind: 'user', key: ['bob'] };
const WRITTEN = { status: 'written' };
const CONFLICT = { status: 'conflict' };

/** Cases about entries. */
export const entryCases: readonly StoreCase[] = [
  storeCase('[STORE-38] an entry is readable until it is removed', async ({ store }) => {
    assert.equal(await store.readEntry(ANN), null);
    assert.deepEqual(await write(store, { ...ANN, value: 'one' }), WRITTEN);
    const { version } = (await store.readEntry(ANN)) ?? assert.fail();
    assert.ok(Number.isSafeInteger(version) && version > 0);
    assert.deepEqual(await store.readEntry(ANN), { key: ['ann'], value: 'one', version });
    await write(store, { ...ANN, value: '' });
    assert.equal((await store.readEntry(ANN))?.value, '');
    assert.deepEqual(await write(store, { ...ANN, value: null }), WRITTEN);
    assert.equal(await store.readEntry(ANN), null);
    assert.deepEqual(await write(store, { ...ANN, value: null }), WRITTEN);
  }),
  storeCase('[STORE-38] entries of different kinds are separate', async ({ store }) => {
    await populateStore(store);
    for (const ref of POPULATED_ENTRIES) {
      assert.equal((await store.readEntry(ref))?.value, JSON.stringify(ref));
      await write(store, { ...ref, value: null });
      assert.equal(await store.readEntry(ref), null);
    }
  }),
  storeCase('[STORE-39] no two writes to a key give the same version, even across deletions', async ({ store }) => {
    const versions: number[] = [];
    for (let round = 0; round < 10; round++) {
      await write(store, { ...ANN, value: 'same' });
      versions.push((await store.readEntry(ANN))?.version ?? 0);
      if (round % 2 === 0) await write(store, { ...ANN, value: null });
      if (round % 3 === 0) await write(store, { ...BOB, value: 'v' }, { ...BOB, key: ['carl'], value: null });
    }
    assert.equal(new Set(versions).size, 10);
  }),
  storeCase('[STORE-39] a reset does not make versions repeat', async ({ store }) => {
    const versions: number[] = [];
    for (let round = 0; round < 6; round++) {
      await write(store, { ...ANN, value: 'v' }, { ...BOB, value: 'v' });
      versions.push((await store.readEntry(ANN))?.version ?? 0);
      await store.reset(round % 2 === 0 ? [] : [BOB]);
    }
    assert.equal(new Set(versions).size, 6);
  }),
  storeCase('[STORE-40] a write conflicts unless the entry has the expected version, 0 for none', async ({ store }) => {
    assert.deepEqual(await write(store, { ...ANN, value: 'a', expect: 1 }), CONFLICT);
    assert.equal(await store.readEntry(ANN), null);
    assert.deepEqual(await write(store, { ...ANN, value: 'a', expect: 0 }), WRITTEN);
    const entry = (await store.readEntry(ANN)) ?? assert.fail();
    for (const expect of [0, entry.version + 1]) {
      assert.deepEqual(await write(store, { ...ANN, value: 'b', expect }), CONFLICT);
      assert.deepEqual(await write(store, { ...ANN, value: null, expect }), CONFLICT);
    }
    assert.deepEqual(await store.readEntry(ANN), entry);
    assert.deepEqual(await write(store, { ...ANN, value: 'b', expect: entry.version }), WRITTEN);
    assert.deepEqual(await write(store, { ...ANN, value: 'c', expect: entry.version }), CONFLICT);
    const { version } = (await store.readEntry(ANN)) ?? assert.fail();
    assert.deepEqual(await write(store, { ...ANN, value: null, expect: version }), WRITTEN);
    assert.deepEqual(await write(store, { ...ANN, value: 'd', expect: version }), CONFLICT);
    assert.deepEqual(await write(store, { ...ANN, value: null, expect: 0 }), WRITTEN);
  }),
  storeCase(
    '[STORE-41] a list of more entries than one command of an engine takes has each with its value',
    async ({ store }) => {
      const names = Array.from({ length: 2_500 }, (_, index) => String(index).padStart(4, '0'));
      await write(store, ...names.map((name) => ({ kind: 'setting', key: [name], value: `v${name}` }) as const));
      const listed = await list(store, 'setting', []);
      assert.deepEqual(
        listed.map(({ key, value }) => [key, value]),
        names.map((name) => [[name], `v${name}`]),
      );
    },
  ),
  storeCase('[STORE-41] entries are ordered by key, part by part, in the order of their bytes', async ({ store }) => {
    const names = ['a', 'A', 'a b', 'ab', 'é', 'z', '\u{1F600}', '\uFF5E', '10', '9', '~', 'a\u00e9', 'a~'];
    const keys = names.flatMap((login) => names.map((client) => [login, client]));
    await write(store, ...shuffled(keys).map((key) => ({ kind: 'user_client', key, value: 'v' }) as const));
    const sorted = sortByBytes(names);
    const expected = sorted.flatMap((login) => sorted.map((client) => [login, client]));
    assert.deepEqual(keysOf(await list(store, 'user_client', [])), expected);
    for (const login of names) {
      const mine = sorted.map((client) => [login, client]);
      assert.deepEqual(keysOf(await list(store, 'user_client', [login])), mine);
    }
  }),
  storeCase('[STORE-41] a prefix of keys consists of whole parts', async ({ store }) => {
    const keys = [
      ['ann', 'c1'],
      ['ann', 'c10'],
      ['anna', 'c1'],
      ['an', 'nc1'],
      ['ann c1', 'x'],
    ];
    await write(store, ...keys.map((key) => ({ kind: 'user_client', key, value: key.join() }) as const));
    await write(store, { kind: 'user_token', key: ['ann', 'c1'], value: 'token' });
    assert.deepEqual(keysOf(await list(store, 'user_client', ['ann'])), [
      ['ann', 'c1'],
      ['ann', 'c10'],
    ]);
    assert.deepEqual(keysOf(await list(store, 'user_client', ['ann', 'c1'])), [['ann', 'c1']]);
    assert.deepEqual(keysOf(await list(store, 'user_client', ['a'])), []);
    assert.deepEqual(keysOf(await list(store, 'user_token', ['ann'])), [['ann', 'c1']]);
    assert.deepEqual(keysOf(await list(store, 'user', [])), []);
  }),
  storeCase('[STORE-41] pages of entries of any size give the whole listing', async ({ store }) => {
    const logins = ['a', 'a b', 'ab', 'b'];
    const keys = logins.flatMap((login) => ['1', '10', '2', '\u{1F600}', '\uFF5E'].map((client) => [login, client]));
    await write(store, ...shuffled(keys).map((key) => ({ kind: 'user_client', key, value: key.join() }) as const));
    for (const prefix of [[], ['a'], ['a b']]) {
      const all = await list(store, 'user_client', prefix);
      assert.equal(all.length, prefix.length === 0 ? keys.length : 5);
      await assertPaging(all, (last, limit) => {
        const from = last === undefined ? {} : { after: last.key };
        return store.listEntries({ kind: 'user_client', prefix, limit, ...from });
      });
    }
  }),
  storeCase('[STORE-41] a listing of entries continues after one that is deleted by now', async ({ store }) => {
    const refs = ['a', 'b', 'c', 'd'].map((login) => ({ kind: 'user', key: [login] }) as const);
    await write(store, ...refs.map((ref) => ({ ...ref, value: 'v' })));
    await write(store, { kind: 'user', key: ['b'], value: null });
    const rest = await store.listEntries({ kind: 'user', prefix: [], after: ['b'], limit: 10 });
    assert.deepEqual(keysOf(rest), [['c'], ['d']]);
  }),
  storeCase('[STORE-41] a listing returns each entry as a read does', async ({ store }) => {
    await populateStore(store);
    for (const entry of await list(store, 'user', [])) {
      assert.deepEqual(entry, await store.readEntry({ kind: 'user', key: entry.key }));
    }
  }),
  storeCase('[STORE-42] entries are counted by kind', async ({ store }) => {
    assert.equal(await store.countEntries('user'), 0);
    await write(store, { ...ANN, value: 'v' }, { ...BOB, value: 'v' }, { kind: 'client', key: ['ann'], value: 'v' });
    await write(store, { ...ANN, value: 'w' });
    assert.deepEqual([await store.countEntries('user'), await store.countEntries('client')], [2, 1]);
    await write(store, { ...ANN, value: null }, { kind: 'user', key: ['nobody'], value: null });
    assert.deepEqual([await store.countEntries('user'), await store.countEntries('client')], [1, 1]);
    await store.reset([]);
    assert.deepEqual([await store.countEntries('user'), await store.countEntries('client')], [0, 0]);
  }),
  storeCase('[STORE-42] entries are counted by kind and by a prefix of whole parts', async ({ store }) => {
    const keys = [
      ['ann', 'c1'],
      ['ann', 'c10'],
      ['anna', 'c1'],
      ['an', 'nc1'],
      ['ann c1', 'x'],
    ];
    await write(store, ...keys.map((key) => ({ kind: 'user_client', key, value: 'v' }) as const));
    await write(store, { kind: 'user_token', key: ['ann', 't'], value: 'v' });
    const count = (...prefix: string[]) => store.countEntries('user_client', prefix);
    assert.deepEqual([await count(), await count('ann'), await count('ann', 'c1'), await count('a')], [5, 2, 1, 0]);
    await write(store, { kind: 'user_client', key: ['ann', 'c1'], value: null });
    assert.equal(await count('ann'), 1);
  }),
  storeCase('[STORE-43] a batch of entries is written completely or not at all', async ({ store }) => {
    await populateStore(store);
    const before = await observeStore(store);
    const fine = Array.from({ length: 30 }, (_, number) => ({ kind: 'user', key: [`${number}`], value: 'v' }) as const);
    const removal = { ...ANN, value: null };
    const bad = { kind: 'client', key: ['c1'], value: 'v', expect: 0 } as const;
    for (const writes of [
      [...fine, removal, bad],
      [bad, removal, ...fine],
      [removal, bad, ...fine],
    ]) {
      const batch = { writes, guards: [], erase: { users: ['ann'], clients: ['c2'], sources: ['Part'] } };
      assert.deepEqual(await store.writeEntries(batch), CONFLICT);
    }
    assert.deepEqual(await observeStore(store), before);
    assert.deepEqual(await write(store, ...fine, removal), WRITTEN);
    assert.equal(await store.countEntries('user'), 33);
  }),
  storeCase('[STORE-43] a batch without writes changes no entry', async ({ store }) => {
    await populateStore(store);
    const before = await observeStore(store);
    assert.deepEqual(await store.writeEntries({ writes: [], guards: [] }), WRITTEN);
    assert.deepEqual(await store.writeEntries({ writes: [], guards: [], erase: {} }), WRITTEN);
    assert.deepEqual(await observeStore(store), before);
  }),
];

function write(store: Store, ...writes: readonly EntryWrite[]) {
  return store.writeEntries({ writes, guards: [] });
}

function list(store: Store, kind: EntryKind, prefix: readonly string[]): Promise<readonly Entry[]> {
  return store.listEntries({ kind, prefix, limit: 1_000_000 });
}

function keysOf(entries: readonly Entry[]): (readonly string[])[] {
  return entries.map(({ key }) => key);
}

function shuffled<T>(items: readonly T[]): T[] {
  return new Rng(seededRandom(41)).shuffle(items);
}
