import { newTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { sharedPartition } from '../ports/owner.ts';
import type { Store } from '../ports/store.ts';
import { readObjects } from './read-objects.ts';

const SHARED = sharedPartition('Product');

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`o${index}`, { n: index }]));

/** More objects than one slice of the journal holds. */
async function largeDocument() {
  const test = await newTidemark();
  await test.tidemark.objects.push({ source: 'Product', objects: many(2_500) });
  return test;
}

/** Something happens once, after the first slice was read. */
function afterFirstSlice(store: Store, happen: () => Promise<unknown>): Store {
  let slices = 0;
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name !== 'readJournal') return member.bind(target);
      return async (...args: Parameters<Store['readJournal']>) => {
        const slice = await target.readJournal(...args);
        if (++slices === 1) await happen();
        return slice;
      };
    },
  });
}

describe('a reader of a document larger than one slice', () => {
  it('[TRIM-5] a reader starts over when tombstones it has not read are trimmed between two slices', async () => {
    const { tidemark, store } = await largeDocument();
    const read = await readObjects(
      afterFirstSlice(store, async () => {
        await tidemark.objects.pushDeletes({ source: 'Product', objects: ['o1', 'o2'] });
        await tidemark.objects.push({ source: 'Product', objects: { new: { n: 1 } } });
        const { head } = await store.partition(SHARED);
        expect((await store.trim(SHARED, head)).floor).toBe(head);
      }),
      SHARED,
    );
    expect([read.objects.has('o1'), read.objects.has('o2'), read.objects.size]).toEqual([false, false, 2_499]);
    expect(read.state.size).toBe(2_499);
  });

  it('[TRIM-5] a reader starts over when the partition gets a new epoch between two slices', async () => {
    const { tidemark, store } = await largeDocument();
    const read = await readObjects(
      afterFirstSlice(store, async () => {
        await tidemark.sources.drop('Product');
        await tidemark.sources.declare({ name: 'Product', partition_type: 'app' });
        await tidemark.objects.push({ source: 'Product', objects: { new: { n: 1 } } });
      }),
      SHARED,
    );
    expect([...read.objects.keys()]).toEqual(['new']);
  });

  it('[TRIM-5] a reader reads a document to its end when tombstones were trimmed before it began', async () => {
    const { tidemark, store } = await largeDocument();
    await tidemark.objects.pushDeletes({ source: 'Product', objects: ['o1'] });
    const { head } = await store.partition(SHARED);
    expect((await store.trim(SHARED, head)).floor).toBe(head);
    expect((await readObjects(store, SHARED)).objects.size).toBe(2_499);
  });

  it('[TRIM-5] a reader goes on when tombstones it has read are trimmed', async () => {
    const { tidemark, store } = await largeDocument();
    let slices = 0;
    const counting = new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          if (name === 'readJournal') slices++;
          return Reflect.apply(member, target, args) as unknown;
        };
      },
    });
    const read = await readObjects(
      afterFirstSlice(counting, async () => {
        await tidemark.objects.push({ source: 'Product', objects: { new: { n: 1 } } });
        await store.trim(SHARED, 500);
      }),
      SHARED,
    );
    expect([read.objects.size, slices]).toEqual([2_501, 3]);
  });
});
