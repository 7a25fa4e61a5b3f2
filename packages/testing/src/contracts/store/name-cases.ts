import assert from 'node:assert/strict';
import {
  type DocumentScope,
  type EntryKind,
  groupPartition,
  type Owner,
  ownerText,
  type PartitionKey,
  SHARED,
  type Store,
  sharedPartition,
  userPartition,
} from '@tidemark/core';
import { IS_LONG } from '../../kit/is-long.ts';
import { AWKWARD_NAMES, JOINING_NAMES, LONG_IDS, LONG_NAMES } from './awkward-names.ts';
import { put, recordOf, remove } from './change.ts';
import { statRow, tidemark } from './populate-store.ts';
import { committed, ORDERS, sortByBytes, wholeJournal } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const NAMES = [...AWKWARD_NAMES, ...LONG_NAMES];
/** Their pairs are many. The first nine join to the same text with each of the usual separators. */
const JOINED = IS_LONG ? JOINING_NAMES : JOINING_NAMES.slice(0, 9);

/** Cases about names: different names never collide. */
export const nameCases: readonly StoreCase[] = [
  storeCase('[STORE-1] different sources, users and groups never share a partition', async ({ store }) => {
    const keys = JOINED.flatMap((source) => ownersOf(JOINED).map((owner) => ({ source, owner })));
    await assertOwnPartitions(store, keys);
  }),
  storeCase('[STORE-1] every legal name may be a source, a user or a group', async ({ store }) => {
    const keys = NAMES.flatMap((name) => [sharedPartition(name), userPartition('a', name), groupPartition('a', name)]);
    const distinct = new Map(keys.map((key) => [JSON.stringify(key), key]));
    await assertOwnPartitions(store, [...distinct.values()]);
  }),
  storeCase(
    '[STORE-1] a group is not the user of the same name, and is not erased with that user',
    async ({ store }) => {
      const groups = ['a', 'a:b', 'x'.repeat(255)].map((name) => groupPartition('a', name));
      const keys = [userPartition('a', 'a'), ...groups];
      await assertOwnPartitions(store, keys);
      await store.writeEntries({ writes: [], guards: [], erase: { users: ['a'] } });
      const left = await store.partitions({ limit: 10 });
      assert.deepEqual(new Set(left.map(tupleText)), new Set(groups.map(tupleText)));
    },
  ),
  storeCase('[STORE-1] every legal id may be the id of an object', async ({ store }) => {
    const ids = [...AWKWARD_NAMES, ...LONG_IDS];
    assert.equal(
      (
        await committed(
          store,
          ids.map((id) => put(id, id, 0)),
        )
      ).size,
      ids.length,
    );
    const { objects } = await store.readObjects(ORDERS, ids);
    assert.deepEqual(objects, new Map(ids.map((id, index) => [id, { seq: index + 1, record: recordOf(id, id) }])));
    await committed(
      store,
      ids.map((id, index) => remove(id, index + 1)),
    );
    const { records, tombstones } = await wholeJournal(store, ORDERS);
    assert.deepEqual({ records, tombstones }, { records: [], tombstones: ids });
  }),
  storeCase('[STORE-1] different scopes, names and parts never share a document', async ({ store }) => {
    const few = JOINING_NAMES.slice(0, IS_LONG ? 10 : 7);
    const scopes: readonly DocumentScope[] = [
      { kind: 'server' },
      ...few.map((source) => ({ kind: 'shared', source }) as const),
      ...few.flatMap((source) => few.map((user) => ({ kind: 'user', source, user }) as const)),
      ...few.flatMap((source) => few.map((client) => ({ kind: 'client', source, client }) as const)),
    ];
    const keys = scopes.flatMap((scope) => few.slice(0, 4).map((name) => ({ scope, name })));
    const write = { type: 'objects', replace: false, expect: 0, guards: [] } as const;
    await Promise.all(
      keys.map(async (key) => {
        const parts = new Map(few.map((part) => [part, JSON.stringify([key, part])]));
        assert.deepEqual(await store.writeDocument({ ...write, key, parts }), { status: 'written' });
      }),
    );
    for (const key of keys) {
      const parts = new Map(few.map((part) => [part, JSON.stringify([key, part])]));
      assert.deepEqual((await store.readDocument(key))?.parts, parts);
    }
    for (const scope of scopes) assert.deepEqual(await store.documentNames(scope), sortByBytes(few.slice(0, 4)));
  }),
  storeCase('[STORE-1] every legal name may be a document, and every legal id a part', async ({ store }) => {
    const scope = { kind: 'client', source: 'x'.repeat(255), client: 'y'.repeat(255) } as const;
    for (const name of NAMES) {
      const parts = new Map([[name, name]]);
      await store.writeDocument({ key: { scope, name }, type: 'text', replace: true, parts, expect: 0, guards: [] });
    }
    assert.deepEqual(await store.documentNames(scope), sortByBytes(NAMES));
    const key = { scope, name: 'x'.repeat(255) };
    const parts = new Map([...AWKWARD_NAMES, ...LONG_IDS].map((id) => [id, `<${id}>`]));
    await store.writeDocument({ key, type: 'objects', replace: true, parts, guards: [] });
    assert.deepEqual((await store.readDocument(key))?.parts, parts);
    assert.deepEqual((await store.readDocument(key, [...parts.keys()]))?.parts, parts);
    for (const name of NAMES.filter((other) => other !== key.name)) {
      assert.deepEqual((await store.readDocument({ scope, name }))?.parts, new Map([[name, name]]));
    }
  }),
  storeCase('[STORE-1] different keys and kinds never share an entry', async ({ store }) => {
    const pairs = JOINED.flatMap((login) => JOINED.map((other) => [login, other]));
    const refs = [
      ...pairs.flatMap((key) => (['user_client', 'user_token'] as const).map((kind) => ({ kind, key }))),
      ...NAMES.flatMap((name) => SINGLE_KINDS.map((kind) => ({ kind, key: [name] }))),
    ];
    const writes = refs.map((ref) => ({ ...ref, value: JSON.stringify(ref), expect: 0 }));
    assert.deepEqual(await store.writeEntries({ writes, guards: [] }), { status: 'written' });
    for (const ref of refs) assert.equal((await store.readEntry(ref))?.value, JSON.stringify(ref));
    for (const login of JOINED) {
      const listed = await store.listEntries({ kind: 'user_client', prefix: [login], limit: 1_000 });
      assert.deepEqual(
        listed.map(({ key }) => key),
        sortByBytes(JOINED).map((client) => [login, client]),
      );
    }
    assert.equal(await store.countEntries('user'), NAMES.length);
  }),
  storeCase('[STORE-1] different partitions and clients never share a tidemark', async ({ store }) => {
    const few = JOINING_NAMES.slice(0, 9);
    const keys = few.flatMap((source) => ownersOf(few).map((owner) => ({ source, owner })));
    const clients = IS_LONG ? few : few.slice(0, 4);
    for (const partition of keys) await committed(store, [put('1')], { partition });
    const epoch = (key: PartitionKey, client: string) => JSON.stringify([tupleText(key), client]);
    const mark = (key: PartitionKey, client: string) => ({ ...tidemark(client), epoch: epoch(key, client) });
    await Promise.all(keys.flatMap((key) => clients.map((client) => store.noteTidemark(key, mark(key, client), []))));
    for (const key of keys) {
      for (const client of clients) assert.deepEqual(await store.readTidemark(key, client), mark(key, client));
      assert.equal((await store.listTidemarks(key, { limit: 100 })).length, clients.length);
    }
  }),
  storeCase('[STORE-1] every legal name may be a client with a tidemark', async ({ store }) => {
    await committed(store, [put('1')]);
    for (const name of NAMES) await store.noteTidemark(ORDERS, { ...tidemark(name), epoch: name }, []);
    for (const name of NAMES) {
      assert.deepEqual(await store.readTidemark(ORDERS, name), { ...tidemark(name), epoch: name });
    }
    const listed = await store.listTidemarks(ORDERS, { limit: 1_000 });
    assert.deepEqual(new Set(listed.map(({ client }) => client)), new Set(NAMES));
  }),
  storeCase('[STORE-1] different metrics never share a row', async ({ store }) => {
    await store.addStats(NAMES.map((metric, index) => statRow(metric, 60, index)));
    assert.deepEqual(await store.statNames(), sortByBytes(NAMES));
    for (const [index, metric] of NAMES.entries()) {
      assert.deepEqual(await store.readStats(metric, 'newest', 10), [statRow(metric, 60, index)]);
    }
  }),
  storeCase('[STORE-1] erasing a name does not touch similar names', async ({ store }) => {
    const keys = JOINED.flatMap((name) => [userPartition(name, 'u'), userPartition('s', name)]);
    for (const partition of keys) await committed(store, [put('1')], { partition });
    const erase = { users: ['a', 'a:b'], sources: ['b', 'é'] };
    await store.writeEntries({ writes: [], guards: [], erase });
    const isErased = ({ source, owner }: PartitionKey) =>
      erase.users.includes(ownerText(owner) ?? '') || erase.sources.includes(source);
    const left = keys.filter((key) => !isErased(key));
    const listed = await store.partitions({ limit: 1_000 });
    assert.deepEqual(
      new Set(listed.map((key) => JSON.stringify(key))),
      new Set(left.map((key) => JSON.stringify(key))),
    );
  }),
];

const SINGLE_KINDS: readonly EntryKind[] = ['user', 'client', 'source', 'token', 'setting'];

async function assertOwnPartitions(store: Store, keys: readonly PartitionKey[]): Promise<void> {
  const changes = (key: PartitionKey) => [put('1', JSON.stringify(key), 0)];
  await Promise.all(keys.map((partition) => committed(store, changes(partition), { partition, expectHead: 0 })));
  for (const key of keys) {
    const objects = new Map([['1', { seq: 1, record: recordOf('1', JSON.stringify(key)) }]]);
    assert.deepEqual((await store.readObjects(key, ['1'])).objects, objects);
  }
  const listed = await store.partitions({ limit: 10_000 });
  assert.equal(listed.length, keys.length);
  assert.deepEqual(new Set(listed.map(tupleText)), new Set(keys.map(tupleText)));
}

function tupleText({ source, owner }: PartitionKey): string {
  return JSON.stringify([source, ownerText(owner)]);
}

function ownersOf(names: readonly string[]): readonly Owner[] {
  return [
    SHARED,
    ...names.flatMap((name): Owner[] => [
      { kind: 'user', login: name },
      { kind: 'group', name },
    ]),
  ];
}
