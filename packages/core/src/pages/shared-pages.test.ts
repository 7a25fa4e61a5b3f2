import type { Page } from '@tidemark/protocol';
import { HeldObjects, newTidemark, type TestTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { sharedPartition } from '../ports/owner.ts';
import { pageJson } from './render-page.ts';
import { tokenText } from './token.ts';

const PAGE = 10;
const SIZE = 3 * PAGE;

const many = (prefix: string) =>
  Object.fromEntries(Array.from({ length: SIZE }, (_, index) => [`${prefix}${index}`, { n: index }]));

/** A device that pulls the shared source `Product` page by page. */
async function newDevice({ tidemark }: TestTidemark) {
  const { client_id: client } = await tidemark.clients.register('ada', {});
  const held = new HeldObjects();
  let token: string | null = null;
  const pull = async (): Promise<Page> => {
    const sources = new Map([['Product', token]]);
    const { pages } = await tidemark.devices.pull({ user: 'ada', client }, { sources, objectsMax: PAGE });
    const page = pages[0]?.page;
    if (page === undefined || !('token' in page)) throw new Error('there is no page');
    token = page.token;
    const read = JSON.parse(pageJson(page.token, page.body)) as Page;
    held.apply(read);
    return read;
  };
  const pullAll = async () => {
    for (let count = 0; count < SIZE; count++) if (!(await pull()).more) return Object.fromEntries(held.objects);
    throw new Error('the device never catches up');
  };
  return { pull, pullAll };
}

describe('cached pages of a first sync', () => {
  it.each([
    ['first', 0],
    ['second', 1],
  ])(
    '[DEVICE-16] a source that is dropped and filled again while its cached %s page is checked has all its objects on all devices',
    async (_page, before) => {
      const test = await newTidemark();
      const { tidemark, store } = test;
      await tidemark.objects.push({ source: 'Product', objects: many('a') });
      await (await newDevice(test)).pullAll();
      const device = await newDevice(test);
      for (let count = 0; count < before; count++) await device.pull();
      // Two objects leave the page that the device gets next, so that it must be read again.
      const moved = [PAGE * before + 1, PAGE * before + 2].map((index) => [`a${index}`, { n: 'changed' }]);
      await tidemark.objects.push({ source: 'Product', objects: Object.fromEntries(moved) });
      const { countRecords } = store;
      store.countRecords = async (...call) => {
        store.countRecords = countRecords;
        const counted = await countRecords.apply(store, call);
        await tidemark.sources.drop('Product');
        await tidemark.sources.declare({ name: 'Product', partition_type: 'app' });
        await tidemark.objects.push({ source: 'Product', objects: many('b') });
        return counted;
      };
      expect(await device.pullAll()).toEqual(many('b'));
      expect(await (await newDevice(test)).pullAll()).toEqual(many('b'));
    },
  );

  it('[PAGE-17] a cached page tells the head at which it is sent, not the one at which it was read', async () => {
    const test = await newTidemark();
    const { tidemark, store } = test;
    await tidemark.objects.push({ source: 'Product', objects: many('a') });
    await (await newDevice(test)).pullAll();
    await tidemark.objects.push({ source: 'Product', objects: { b: { n: 0 } } });
    const { epoch, head } = await store.partition(sharedPartition('Product'));
    const { token } = await (await newDevice(test)).pull();
    expect(token).toBe(tokenText({ epoch, seq: PAGE, baseline: { kind: 'start', seq: head }, head }, 0));
  });
});
