import assert from 'node:assert/strict';
import type { DocumentKey, DocumentScope, DocumentType, DocumentWrite, Store } from '@tidemark/core';
import { observeStore } from './observe-store.ts';
import { POPULATED_SCOPES, populateStore } from './populate-store.ts';
import { sortByBytes } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const NOTE: DocumentKey = { scope: { kind: 'user', source: 'Order', user: 'ann' }, name: 'note' };
const WRITTEN = { status: 'written' };
const CONFLICT = { status: 'conflict' };

/** Cases about documents. */
export const documentCases: readonly StoreCase[] = [
  storeCase('[STORE-32] there is no document until one is written', async ({ store }) => {
    assert.equal(await store.readDocument(NOTE), null);
    assert.equal(await store.readDocument(NOTE, ['0']), null);
    assert.deepEqual(await store.documentNames(NOTE.scope), []);
    assert.deepEqual(await write(store, 'text', { 0: 'hello' }), WRITTEN);
    assert.equal((await store.readDocument(NOTE))?.parts.get('0'), 'hello');
    assert.deepEqual(await store.documentNames(NOTE.scope), ['note']);
  }),
  storeCase('[STORE-32] a document is read as a whole, or only the requested parts', async ({ store }) => {
    await write(store, 'objects', { a: '{"x":1}', b: '{"y":22}', c: '{}' });
    const document = await store.readDocument(NOTE);
    const parts = new Map([
      ['a', '{"x":1}'],
      ['b', '{"y":22}'],
      ['c', '{}'],
    ]);
    const whole = { type: 'objects', version: document?.version, partCount: 3, units: 17, parts };
    assert.deepEqual(document, whole);
    const some = new Map([
      ['c', '{}'],
      ['a', '{"x":1}'],
    ]);
    assert.deepEqual(await store.readDocument(NOTE, ['c', 'unknown', 'a', 'a']), { ...whole, parts: some });
    assert.deepEqual(await store.readDocument(NOTE, []), { ...whole, parts: new Map() });
  }),
  storeCase('[STORE-33] the parts of a text are returned in the order of their keys', async ({ store }) => {
    const keys = ['b', '10', '1', '\u{1F600}', '\uFF5E', 'B', 'é', 'a', 'aa', 'a b', '0010'];
    await write(store, 'text', { ...Object.fromEntries(keys.slice(4).map((key) => [key, `<${key}>`])) });
    for (const key of keys.slice(0, 4)) await append(store, 'text', { [key]: `<${key}>` });
    const document = await store.readDocument(NOTE);
    assert.deepEqual([...(document?.parts.keys() ?? [])], sortByBytes(keys));
    assert.equal(
      [...(document?.parts.values() ?? [])].join(''),
      sortByBytes(keys)
        .map((key) => `<${key}>`)
        .join(''),
    );
  }),
  storeCase('[STORE-34] replacing a document leaves only the given parts', async ({ store }) => {
    await write(store, 'text', { 0: 'one', 1: 'two', 2: 'three' });
    await write(store, 'text', { 1: 'new' });
    await assertDocument(store, 'text', { 1: 'new' });
    await write(store, 'objects', { x: '{}' });
    await assertDocument(store, 'objects', { x: '{}' });
    await write(store, 'objects', {});
    await assertDocument(store, 'objects', {});
    assert.deepEqual(await store.documentNames(NOTE.scope), ['note']);
  }),
  storeCase('[STORE-34] adding parts keeps the others and replaces those with the same key', async ({ store }) => {
    await append(store, 'objects', { a: '{"x":1}' });
    await assertDocument(store, 'objects', { a: '{"x":1}' });
    await append(store, 'objects', { b: '{}', a: '{"x":1000}' });
    await assertDocument(store, 'objects', { a: '{"x":1000}', b: '{}' });
    await append(store, 'objects', {});
    await assertDocument(store, 'objects', { a: '{"x":1000}', b: '{}' });
    await append(store, 'objects', { a: '' });
    await assertDocument(store, 'objects', { a: '', b: '{}' });
  }),
  storeCase('[STORE-34] parts of one type are never added to a document of the other', async ({ store }) => {
    for (const [type, other] of [
      ['text', 'objects'],
      ['objects', 'text'],
    ] as const) {
      await write(store, type, { 0: '{}' });
      const before = await store.readDocument(NOTE);
      assert.deepEqual(await append(store, other, { 1: '{}' }), CONFLICT);
      assert.deepEqual(await store.readDocument(NOTE), before);
    }
  }),
  storeCase('[STORE-35] parts and UTF-16 units of text are counted, keys are not', async ({ store }) => {
    await write(store, 'text', { 'a rather long key': 'é😀', '0': '' });
    const counted = async () => {
      const { partCount, units } = (await store.readDocument(NOTE, ['0'])) ?? assert.fail();
      return [partCount, units];
    };
    assert.deepEqual(await counted(), [2, 3]);
    await append(store, 'text', { 1: '12345', 'a rather long key': 'x' });
    assert.deepEqual(await counted(), [3, 6]);
    await write(store, 'text', { 1: '123' });
    assert.deepEqual(await counted(), [1, 3]);
    await write(store, 'text', {});
    assert.deepEqual(await counted(), [0, 0]);
  }),
  storeCase('[STORE-36] every write changes the version of a document', async ({ store }) => {
    const versions: number[] = [];
    for (let round = 0; round < 6; round++) {
      await (round % 2 === 0 ? append : write)(store, 'text', round < 4 ? { 0: 'same' } : {});
      versions.push((await store.readDocument(NOTE))?.version ?? 0);
    }
    assert.equal(new Set(versions).size, 6);
    assert.ok(versions.every((version) => Number.isSafeInteger(version) && version > 0));
  }),
  storeCase(
    '[STORE-36] a write conflicts unless the document has the expected version, 0 for none',
    async ({ store }) => {
      assert.deepEqual(await write(store, 'text', { 0: 'a' }, { expect: 1 }), CONFLICT);
      assert.equal(await store.readDocument(NOTE), null);
      assert.deepEqual(await write(store, 'text', { 0: 'a' }, { expect: 0 }), WRITTEN);
      const first = (await store.readDocument(NOTE))?.version ?? 0;
      for (const expect of [0, first + 1])
        assert.deepEqual(await append(store, 'text', { 1: 'b' }, { expect }), CONFLICT);
      await assertDocument(store, 'text', { 0: 'a' });
      assert.deepEqual(await append(store, 'text', { 1: 'b' }, { expect: first }), WRITTEN);
      assert.deepEqual(await append(store, 'text', { 1: 'c' }, { expect: first }), CONFLICT);
      await assertDocument(store, 'text', { 0: 'a', 1: 'b' });
    },
  ),
  storeCase('[STORE-7] a conflict on a document changes nothing', async ({ store }) => {
    await populateStore(store);
    const before = await observeStore(store);
    const key = { scope: { kind: 'server' }, name: 'things' } as const;
    const parts = new Map([
      ['1', 'other'],
      ['3', 'new'],
    ]);
    for (const replace of [true, false]) {
      const result = await store.writeDocument({ key, type: 'objects', replace, parts, expect: 0, guards: [] });
      assert.deepEqual(result, CONFLICT);
    }
    assert.deepEqual(await observeStore(store), before);
  }),
  storeCase('[STORE-37] the names of a scope are sorted', async ({ store }) => {
    const names = ['b', 'a', 'B', 'aa', 'a b', '\u{1F600}', '\uFF5E', 'é', '~', '10', '9'];
    for (const name of names) await write(store, 'text', {}, { key: { ...NOTE, name } });
    assert.deepEqual(await store.documentNames(NOTE.scope), sortByBytes(names));
  }),
  storeCase('[STORE-37] documents of different scopes are separate', async ({ store }) => {
    for (const [index, scope] of POPULATED_SCOPES.entries()) {
      await write(store, 'text', { 0: JSON.stringify(scope) }, { key: { scope, name: 'common' } });
      await write(store, 'objects', {}, { key: { scope, name: `only ${index}` } });
    }
    for (const [index, scope] of POPULATED_SCOPES.entries()) {
      assert.deepEqual(await store.documentNames(scope), ['common', `only ${index}`]);
      const parts = new Map([['0', JSON.stringify(scope)]]);
      assert.deepEqual((await store.readDocument({ scope, name: 'common' }))?.parts, parts);
      assert.equal(await store.readDocument({ scope, name: `only ${index + 1}` }), null);
    }
    const elsewhere: DocumentScope = { kind: 'shared', source: 'c1' };
    assert.deepEqual(await store.documentNames(elsewhere), []);
  }),
];

type Parts = Readonly<Record<string, string>>;

function write(store: Store, type: DocumentType, parts: Parts, more: Partial<DocumentWrite> = {}) {
  return store.writeDocument({ key: NOTE, type, replace: true, parts: mapOf(parts), guards: [], ...more });
}

function append(store: Store, type: DocumentType, parts: Parts, more: Partial<DocumentWrite> = {}) {
  return write(store, type, parts, { replace: false, ...more });
}

async function assertDocument(store: Store, type: DocumentType, parts: Parts): Promise<void> {
  const document = (await store.readDocument(NOTE)) ?? assert.fail();
  const units = Object.values(parts).join('').length;
  const { version } = document;
  assert.deepEqual(document, { type, version, partCount: mapOf(parts).size, units, parts: mapOf(parts) });
}

function mapOf(parts: Parts): Map<string, string> {
  return new Map(Object.entries(parts));
}
