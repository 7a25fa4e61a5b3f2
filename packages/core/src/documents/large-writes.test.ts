import { newTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { sharedPartition } from '../ports/owner.ts';
import type { DocumentScope } from '../ports/store.ts';

type Objects = Record<string, Record<string, unknown>>;

const server: DocumentScope = { kind: 'server' };
const unknown = { source: 'Nothing' };
const product = { source: 'Product' };

const many = (text: string): Objects =>
  Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`object ${index}`, { text, index }]));
const wide = (text: string): Objects =>
  Object.fromEntries(
    Array.from({ length: 5 }, (_, object) => [
      `object ${object}`,
      Object.fromEntries(Array.from({ length: 8_000 }, (_, index) => [`attribute ${index}`, text])),
    ]),
  );

/** A Tidemark that tells how often everybody else had a turn. */
async function pacedTidemark() {
  let turns = 0;
  const pace = {
    turn: async () => {
      turns++;
    },
  };
  const { tidemark } = await newTidemark({ pace });
  const turnsDuring = async (work: Promise<unknown>) => {
    const before = turns;
    await work.catch(() => undefined);
    return turns - before;
  };
  return { tidemark, turnsDuring };
}

describe.each([
  ['many objects', many],
  ['a few large objects', wide],
])('a write of %s', (_what, objects) => {
  it('[WRITE-18] admission of a large write yields to other work', async () => {
    const { tidemark, turnsDuring } = await pacedTidemark();
    expect(await turnsDuring(tidemark.objects.push({ ...unknown, objects: objects('x') }))).toBeGreaterThanOrEqual(5);
  });

  it('[WRITE-18] computing the difference of a large write yields to other work, for every operation', async () => {
    const { tidemark, turnsDuring } = await pacedTidemark();
    const admission = await turnsDuring(tidemark.objects.push({ ...unknown, objects: objects('x') }));
    const turns = {
      push_objects: await turnsDuring(tidemark.objects.push({ ...product, objects: objects('x') })),
      fast_insert: await turnsDuring(tidemark.objects.fastInsert({ ...product, objects: objects('y') })),
      replace: await turnsDuring(tidemark.objects.replace({ ...product, objects: objects('z'), since: null })),
      set: await turnsDuring(tidemark.documents.write(server, 'd', { data: objects('x') })),
      append: await turnsDuring(tidemark.documents.write(server, 'd', { data: objects('y'), append: true })),
    };
    const few = Object.entries(turns).filter(([, count]) => count < admission + 2);
    expect(few).toEqual([]);
  });
});

it('[WRITE-18] a push of large objects that are stored already yields to other work', async () => {
  const { tidemark, turnsDuring } = await pacedTidemark();
  const objects = Object.fromEntries(['1', '2', '3', '4'].map((id) => [id, { lists: Array(90_000).fill([]) }]));
  const admission = await turnsDuring(tidemark.objects.push({ ...unknown, objects }));
  await tidemark.objects.push({ ...product, objects });
  expect(await turnsDuring(tidemark.objects.push({ ...product, objects }))).toBeGreaterThanOrEqual(admission + 4);
});

describe('appending many objects', () => {
  it('[DOC-2] an append of many objects merges all of them, although the document is read in parts', async () => {
    const { tidemark } = await newTidemark();
    const objects = Object.fromEntries(Array.from({ length: 2_500 }, (_, index) => [`o${index}`, { a: index }]));
    await tidemark.documents.write(server, 'd', { data: objects });
    const changed = Object.fromEntries(Object.keys(objects).map((id) => [id, { b: id }]));
    const report = await tidemark.documents.write(server, 'd', { data: { ...changed, fresh: { b: 1 } }, append: true });
    expect(report).toEqual({ doc: 'd', type: 'objects', size: 2_501 });
    const view = await tidemark.documents.read(server, 'd');
    if (view.type !== 'objects') throw new Error('not objects');
    expect([view.objects.get('o0'), view.objects.get('o2499'), view.objects.get('fresh')]).toEqual([
      '{"a":0,"b":"o0"}',
      '{"a":2499,"b":"o2499"}',
      '{"b":1}',
    ]);
  });

  it('[DOC-2] an append starts again when another write happens between the parts', async () => {
    const { tidemark, store } = await newTidemark();
    const objects = Object.fromEntries(Array.from({ length: 2_500 }, (_, index) => [`o${index}`, { a: index }]));
    await tidemark.documents.write(server, 'd', { data: objects });
    const readDocument = store.readDocument.bind(store);
    let reads = 0;
    store.readDocument = async (key, parts) => {
      if (++reads === 2) await tidemark.documents.write(server, 'd', { data: { o0: { c: 1 }, o2499: { c: 1 } } });
      return readDocument(key, parts);
    };
    const changed = Object.fromEntries(Object.keys(objects).map((id) => [id, { b: 1 }]));
    await tidemark.documents.write(server, 'd', { data: changed, append: true });
    const view = await tidemark.documents.read(server, 'd');
    if (view.type !== 'objects') throw new Error('not objects');
    expect([view.objects.get('o0'), view.objects.get('o1'), view.objects.get('o2499')]).toEqual([
      '{"c":1,"b":1}',
      '{"b":1}',
      '{"c":1,"b":1}',
    ]);
  });
});

describe('a write that is looked up in several reads', () => {
  const part = (from: number, count: number, of = 'o'): Objects =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${of}${from + index}`, { n: 1 }]));

  it('[WRITE-19] a replacement notices that the partition was deleted and created again with the same head', async () => {
    const { tidemark, store } = await newTidemark();
    const whole = part(0, 2_000);
    await tidemark.objects.push({ ...product, objects: whole });
    const readObjects = store.readObjects.bind(store);
    let reads = 0;
    Object.assign(store, {
      readObjects: async (...args: Parameters<typeof readObjects>) => {
        const read = await readObjects(...args);
        if (++reads !== 1) return read;
        // The same head again, and only half of the objects.
        await tidemark.sources.drop('Product');
        await tidemark.sources.declare({ name: 'Product', partition_type: 'app' });
        await tidemark.objects.fastInsert({ ...product, objects: { ...part(0, 1_000, 'x'), ...part(1_000, 1_000) } });
        expect((await store.partition(sharedPartition('Product'))).head).toBe(read.state.head);
        return read;
      },
    });
    expect(await tidemark.objects.push({ ...product, objects: whole })).toMatchObject({ changed: 1_000 });
    const ids = new Set((await tidemark.objects.read(product)).keys());
    expect(Object.keys(whole).filter((id) => !ids.has(id))).toEqual([]);
  });
});
