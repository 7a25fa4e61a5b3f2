import { type Clock, type Jobs, type Store, sharedPartition, Tidemark } from '@tidemark/core';
import type { Page } from '@tidemark/protocol';
import { pullPage, seededRandom, settableClock, weakPasswords } from '@tidemark/testing/kit';
import { SILENT_LOG } from '../model/core-parts.ts';
import type { ObjectsGiven } from '../model/write.ts';

export type StoreWithJobs = Store & { jobs(parts: { readonly clock: Clock }): Jobs };

/** What must be known besides the stored data to continue from it. */
export interface GoldenFacts {
  readonly client: string;
  /** The token of the device in the source Product. */
  readonly token: string;
}

const PRODUCTS = {
  1: { name: 'Compass', price: 12.5 },
  2: { name: 'Seil, 10 m ⛰', tags: ['rope', null] },
  4: { name: 'Map' },
};
const ORDERS = { a: { items: [{ id: '1', count: 2 }], note: '' } };
const VISITS = { v: { customer: 'Miller' } };
const DOCUMENT = 'a text of the app';
const PASSWORD = 'long enough';
const QUEUE = 'golden';

/** Writes something of every kind into an empty store. */
export async function fillStore(store: StoreWithJobs): Promise<GoldenFacts> {
  const tidemark = tidemarkOn(store);
  await tidemark.sources.declare({ name: 'Product', partition_type: 'app' });
  await tidemark.sources.declare({ name: 'Order', partition_type: 'user' });
  await tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
  await tidemark.users.create({ attributes: { login: 'ada', password: PASSWORD } });
  await tidemark.groups.add('ada', ['north']);
  const { client_id: client } = await tidemark.clients.register('ada', {});
  await tidemark.objects.push({ source: 'Product', objects: { ...PRODUCTS, 3: { name: 'gone' } } });
  await tidemark.objects.pushDeletes({ source: 'Product', objects: ['3'] });
  await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: ORDERS });
  await tidemark.objects.push({ source: 'Visit', group: 'north', objects: VISITS });
  await tidemark.documents.write({ kind: 'server' }, 'motd', { data: DOCUMENT });
  await store.jobs({ clock: settableClock() }).enqueue(QUEUE, { kind: 'golden', payload: '1', attemptsMax: 3 });
  const { token } = await pull(tidemark, client, null);
  await pull(tidemark, client, token);
  return { client, token };
}

/** Reads everything that `fillStore` wrote, and writes more. Returns what it found, to be compared with `EXPECTED`. */
export async function useStore(store: StoreWithJobs, { client, token }: GoldenFacts) {
  const tidemark = tidemarkOn(store);
  const objects = async (call: Parameters<Tidemark['objects']['read']>[0]) =>
    Object.fromEntries(await tidemark.objects.read(call)) as ObjectsGiven;
  const found = {
    products: await objects({ source: 'Product' }),
    orders: await objects({ source: 'Order', user_id: 'ada' }),
    visits: await objects({ source: 'Visit', group: 'north' }),
    groups: (await tidemark.groups.of('ada')).groups,
    isPasswordRight: (await tidemark.users.verifyPassword('ada', PASSWORD)) !== null,
    document: await tidemark.documents.read({ kind: 'server' }, 'motd'),
    jobs: (await store.jobs({ clock: settableClock() }).leaseMany(QUEUE, 1_000, 10)).map(({ payload }) => payload),
    isTidemarkKept: (await store.readTidemark(sharedPartition('Product'), client)) !== null,
    news: changesIn(await pull(tidemark, client, token)),
  };
  await tidemark.objects.push({ source: 'Product', objects: { 1: { price: 13 } } });
  const findings: unknown[] = [];
  for await (const finding of tidemark.verify()) findings.push(finding);
  return { ...found, newsAfterPush: changesIn(await pull(tidemark, client, token)), findings };
}

export const EXPECTED: Awaited<ReturnType<typeof useStore>> = {
  products: PRODUCTS,
  orders: ORDERS,
  visits: VISITS,
  groups: ['north'],
  isPasswordRight: true,
  document: { type: 'text', text: DOCUMENT },
  jobs: ['1'],
  isTidemarkKept: true,
  news: {},
  newsAfterPush: { patch: { 1: { price: 13 } } },
  findings: [],
};

function tidemarkOn(store: Store): Tidemark {
  const random = seededRandom(1);
  return new Tidemark({ store, clock: settableClock(), random, passwords: weakPasswords(random), log: SILENT_LOG });
}

async function pull(tidemark: Tidemark, client: string, token: string | null): Promise<Page> {
  const { json, noted } = await pullPage(tidemark, { user: 'ada', client }, { source: 'Product', token });
  await noted;
  return JSON.parse(json) as Page;
}

function changesIn({ token: _, more: __, size: ___, checksum: ____, ...changes }: Page) {
  return changes;
}
