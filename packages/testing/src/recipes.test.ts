import { readFile } from 'node:fs/promises';
import type { Device, Observable } from '@tidemark/client';
import { openTestServer } from '@tidemark/client-testing';
import { type Readable, readable } from 'svelte/store';
import { expect, it, onTestFinished } from 'vitest';
import { computed, effectScope, ref, type ShallowRef, shallowRef, watch } from 'vue';

interface Order {
  total: number;
}

async function openDevice(): Promise<Device> {
  const server = await openTestServer({ sources: [{ name: 'Order' }], users: ['ada'] });
  onTestFinished(() => server.close());
  await server.push('Order', { o1: { total: 5 }, o2: { total: 20 } }, { user: 'ada' });
  const device = await server.openDevice({ user: 'ada' });
  await device.sync();
  return device;
}

function useObservable<T>(of: () => Observable<T>): Readonly<ShallowRef<T>> {
  const value = shallowRef(of().getSnapshot());
  const follow = (observable: Observable<T>, _: unknown, onCleanup: (stop: () => void) => void) => {
    const show = () => {
      value.value = observable.getSnapshot();
    };
    onCleanup(observable.subscribe(show));
    show();
  };
  watch(of, follow, { immediate: true, flush: 'sync' });
  return value;
}

it('[RECIPE-1] the composable for Vue follows a query, changes it with a ref, and ends with its component', async () => {
  const device = await openDevice();
  const source = device.source<Order>('Order');
  const scope = effectScope();
  const shown = scope.run(() => {
    const minimum = ref(10);
    // biome-ignore format: the page has it on one line
    const orders = useObservable(() => device.source<Order>('Order').query({ where: { total: { gte: minimum.value } } }));
    const status = useObservable(() => device.status);
    const ids = computed(() => orders.value.map(({ id }) => id));
    return { minimum, orders, status, ids };
  });
  if (shown === undefined) throw new Error('the scope has ended');
  const { minimum, orders, status, ids } = shown;
  expect([ids.value, status.value.isOnline]).toEqual([['o2'], true]);
  const first = orders.value;
  await source.update('o1', { total: 6 });
  expect(orders.value).toBe(first);
  await source.update('o1', { total: 30 });
  expect(ids.value).toEqual(['o1', 'o2']);
  expect(orders.value[1]).toBe(first[0]);

  minimum.value = 25;
  expect(ids.value).toEqual(['o1']);
  expect(source.query({ where: { total: { gte: 10 } } }).isLive).toBe(false);
  device.goOffline();
  expect(status.value.isOnline).toBe(false);
  scope.stop();
  expect(source.query({ where: { total: { gte: 25 } } }).isLive).toBe(false);
});

function storeOf<T>(observable: Observable<T>): Readable<T> {
  return readable(observable.getSnapshot(), (set) => {
    const show = () => set(observable.getSnapshot());
    const stop = observable.subscribe(show);
    show();
    return stop;
  });
}

it('[RECIPE-2] the store for Svelte follows a query while it has subscribers', async () => {
  const device = await openDevice();
  const orders = storeOf(device.source<Order>('Order').query({ orderBy: { total: 'desc' } }));
  const status = storeOf(device.status);
  const source = device.source<Order>('Order');
  const query = source.query({ orderBy: { total: 'desc' } });
  expect(query.isLive).toBe(false);
  const seen: string[][] = [];
  const stop = orders.subscribe((list) => seen.push(list.map(({ id }) => id)));
  await source.update('o1', { total: 30 });
  expect([seen[0], seen.at(-1), query.isLive]).toEqual([['o2', 'o1'], ['o1', 'o2'], true]);
  stop();
  expect(query.isLive).toBe(false);

  // What has changed meanwhile shows when somebody subscribes again.
  await source.update('o2', { total: 40 });
  const again: string[][] = [];
  orders.subscribe((list) => again.push(list.map(({ id }) => id)))();
  expect(again.at(-1)).toEqual(['o2', 'o1']);
  const modes: boolean[] = [];
  const stopStatus = status.subscribe(({ isOnline }) => modes.push(isOnline));
  device.goOffline();
  expect([modes[0], modes.at(-1)]).toEqual([true, false]);
  stopStatus();
});

it('[RECIPE-1] every function and every script of the page about Vue and Svelte is run by a test', async () => {
  const text = await readFile(new URL('../../../docs/guides/vue-svelte.md', import.meta.url), 'utf8');
  const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'));
  const functions = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) =>
    block.replace(/^import .*\n|export /gm, ''),
  );
  const scripts = [...text.matchAll(/<script[^>]*>\n([\s\S]*?)<\/script>/g)].flatMap(([, block = '']) =>
    block.split('\n'),
  );
  expect([functions.length, scripts.length]).toEqual([2, 7]);
  for (const sample of [...functions, ...scripts]) expect(here).toContain(squeezed(sample));
});

function squeezed(text: string): string {
  return text.replace(/\s*\n\s*/g, '\n').trim();
}
