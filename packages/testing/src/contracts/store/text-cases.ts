import assert from 'node:assert/strict';
import { put } from './change.ts';
import { committed, ORDERS, wholeJournal } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

/** Texts that decoders, parsers and compressors may change. */
const TEXTS: readonly string[] = [
  ...['', ' ', '\u0000', 'a\u0000b', '\ufeff', '\ufeff{}', '{}\r\n', '\n', '\u2028\u2029', 'null', '0', '1e999'],
  ...[
    '{"a":1,"a":2}',
    '{"__proto__":{}}',
    '"',
    '\\u0041',
    'e\u0301',
    'é',
    '\u{1f600}',
    '\ufffd',
    '\uffff',
    '\u{10ffff}',
  ],
  ...['\u007f\u0080\u00ff\u0100', '\u0001\u0002\u001f', '\u00c1\u0001', 'x'.repeat(70_000), '€'.repeat(70_000)],
];

const LARGE_UNITS = 5_000_000;
const NOTE = { scope: { kind: 'server' }, name: 'note' } as const;

/** Cases about texts, which must be returned unchanged. */
export const textCases: readonly StoreCase[] = [
  storeCase('[STORE-2] records are returned unchanged', async ({ store }) => {
    const changes = TEXTS.map((record, index) => ({ id: `${index}`, record, checksum: index }));
    const state = await committed(store, changes);
    assert.equal(state.size, TEXTS.length);
    const seqs = TEXTS.map((_, index) => index + 1);
    assert.deepEqual(await wholeJournal(store, ORDERS), {
      state,
      records: TEXTS,
      seqs,
      tombstones: [],
      upTo: state.head,
    });
    const objects = new Map(TEXTS.map((record, index) => [`${index}`, { seq: index + 1, record }]));
    assert.deepEqual(await store.readObjects(ORDERS, [...objects.keys()]), { state, objects });
  }),
  storeCase('[STORE-2] parts of documents are returned unchanged', async ({ store }) => {
    for (const type of ['text', 'objects'] as const) {
      const parts = new Map(TEXTS.map((text, index) => [`${index}`.padStart(3, '0'), text]));
      await store.writeDocument({ key: NOTE, type, replace: true, parts, guards: [] });
      const document = (await store.readDocument(NOTE)) ?? assert.fail();
      const units = TEXTS.join('').length;
      assert.deepEqual(document, { type, version: document.version, partCount: TEXTS.length, units, parts });
      assert.deepEqual([...document.parts.values()], TEXTS);
    }
  }),
  storeCase('[STORE-2] values of entries are returned unchanged', async ({ store }) => {
    const writes = TEXTS.map((value, index) => ({ kind: 'setting', key: [`${index}`], value }) as const);
    await store.writeEntries({ writes, guards: [] });
    for (const { kind, key, value } of writes) assert.equal((await store.readEntry({ kind, key }))?.value, value);
    const listed = await store.listEntries({ kind: 'setting', prefix: [], limit: 1_000 });
    assert.deepEqual(new Set(listed.map(({ value }) => value)), new Set(TEXTS));
  }),
  // Compared by identity: a difference of such texts would take longer to print than to find.
  storeCase('[STORE-2] five million units of text round-trip, as a record and as a part', async ({ store }) => {
    const large = `${'large é€'.repeat(LARGE_UNITS / 8)}\u{1f600}`;
    await committed(store, [put('before'), { id: 'large', record: large, checksum: 1 }, put('after')]);
    assert.ok((await store.readObjects(ORDERS, ['large'])).objects.get('large')?.record === large);
    assert.ok((await wholeJournal(store, ORDERS)).records[1] === large);
    const range = { after: 1, tombstonesAfter: 0, entriesMax: 100, unitsMax: 1_000 };
    assert.deepEqual((await store.readJournal(ORDERS, range)).seqs, [2]);
    const parts = new Map([
      ['0', large],
      ['1', 'small'],
    ]);
    await store.writeDocument({ key: NOTE, type: 'text', replace: true, parts, guards: [] });
    const document = (await store.readDocument(NOTE)) ?? assert.fail();
    assert.ok(document.parts.get('0') === large);
    assert.equal(document.units, large.length + 5);
  }),
];
