import type { SourceSchema } from '@tidemark/protocol';
import { newTypescriptApp, type TypescriptApp } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import type { DescribedSource } from './described-source.ts';
import { typescriptText } from './typescript.ts';
import { zodText } from './zod.ts';

function sourceOf(name: string, schema: SourceSchema, more: Partial<DescribedSource> = {}): DescribedSource {
  return { name, schema, version: 1, steps: [], references: {}, ...more };
}

const sources: readonly DescribedSource[] = [
  sourceOf(
    'Order',
    {
      properties: {
        customer_id: { type: 'string', reference: 'Customer' },
        total: { type: 'number' },
        status: { enum: ['open', 'done'] },
        address: { type: 'object', properties: { city: { type: 'string' } } },
        photo: { format: 'file' },
      },
      required: ['customer_id', 'total'],
    },
    {
      version: 2,
      steps: [[{ step: 'rename', attribute: 'sum', to: 'total' }]],
      references: { customer_id: 'Customer' },
    },
  ),
  sourceOf('Customer', { properties: { name: { type: 'string' } }, required: ['name'] }),
];

/** An app with these files. */
async function appWith(options: object, files: Readonly<Record<string, string>>): Promise<TypescriptApp> {
  const app = await newTypescriptApp(options);
  onTestFinished(app.remove);
  app.write(files);
  return app;
}

const DEVICE = `
import { openDevice } from '@tidemark/client';
import { type Customer, type Order, type Sources, versions } from './tidemark.js';

export const device = await openDevice<Sources>({ url: 'https://sync.example.com', versions });
const orders = device.source('Order');
const order: Order = { customer_id: 'c1', total: 12, status: 'open', address: { city: 'Kiel' } };
export const made = await orders.create(order);
await orders.update(made.id, { status: undefined, total: 13 });
const rows = orders.query({ where: { 'address.city': 'Kiel' }, include: { customer: 'customer_id' } }).list();
export const customer: Customer | undefined = rows[0]?.included.customer?.attributes;
export const file = device.files.url(made.attributes.photo ?? null!);
await device.write((draft) => draft.update('Order', made.id, { total: 14 }));

// mistake: the name of a source
device.source('Ordr');
// mistake: the name of an attribute
await orders.create({ customer_id: 'c1', totl: 12 });
// mistake: the type of a value
await orders.update(made.id, { total: 'many' });
// mistake: a value that is not in the list
await device.write((draft) => draft.update('Order', made.id, { status: 'opn' }));
// mistake: an attribute that is required
await orders.create({ total: 12 });
// mistake: a path
orders.query({ where: { 'address.town': 'Kiel' } });
// mistake: a relation
orders.query({ include: { customer: 'client_id' } });
`;

const HOOKS = `
import {
  useCount,
  useDevice,
  useIsLoading,
  useMutation,
  useObject,
  usePages,
  useQuery,
  useSource,
  useSuspenseQuery,
} from '@tidemark/react';
import type { Customer, Order, Sources } from './tidemark.js';

declare module '@tidemark/react' {
  interface Register {
    sources: Sources;
  }
}

export function Orders() {
  const rows = useQuery('Order', { where: { status: 'open' }, include: { customer: 'customer_id' } });
  const plain: readonly { attributes: Order }[] = useQuery('Order', { orderBy: 'total' });
  const given = useQuery(useSource('Order'), { include: { customer: 'customer_id' } });
  const found: Customer | undefined = useObject('Customer', 'c1')?.attributes;
  const name: string | undefined = (rows[0] ?? given[0])?.included.customer?.attributes.name;
  const rename = useMutation((device, id: string) => device.source('Customer').update(id, { name: 'Ada' }));
  const pages: readonly { attributes: Order }[] = usePages('Order', { size: 10, orderBy: 'total' }).rows;
  const count = useCount('Order', { where: { status: 'open' } }) + Number(useIsLoading('Order'));
  const [first] = useSuspenseQuery('Order', { include: { customer: { source: 'Customer', via: 'customer_id' } } });
  const also: Customer | undefined = first?.included.customer?.attributes;
  // mistake: the name of a source
  useObject('Custmer', 'c1');
  // mistake: the name of an attribute
  usePages('Order', { size: 10, orderBy: 'totl' });
  // mistake: the type of a value
  useCount('Order', { where: { total: 'many' } });
  // mistake: a type besides the registered ones
  useQuery<Order>('Order');
  // mistake: the name of a source
  useQuery('Ordr');
  // mistake: the name of an attribute
  useQuery('Order', { where: { totl: 1 } });
  // mistake: a relation
  useQuery('Order', { include: { customer: 'client_id' } });
  // mistake: the type of a value
  useSource('Customer').update('c1', { name: 7 });
  // mistake: the name of a source
  useDevice().source('Custmer');
  return [plain, found, name, rename, pages, count, also];
}
`;

const COLLECTIONS = `
import { createCollection } from '@tanstack/db';
import { openDevice } from '@tidemark/client';
import { tidemarkCollectionOptions } from '@tidemark/tanstack-db';
import type { Sources } from './tidemark.js';

const device = await openDevice<Sources>({ url: 'https://sync.example.com' });
export const orders = createCollection(tidemarkCollectionOptions({ device, source: device.source('Order') }));
orders.insert({ id: 'o1', customer_id: 'c1', total: 12 });
orders.update('o1', (draft) => {
  draft.total += 1;
  // mistake: the name of an attribute
  draft.totl = 1;
});
// mistake: the type of a value
orders.insert({ id: 'o2', customer_id: 'c1', total: 'many' });
`;

const BACKEND = `
import { createHandler, TidemarkClient } from '@tidemark/backend';
import type { Order, Sources } from './tidemark.js';

const tidemark = new TidemarkClient<Sources>({ url: 'https://sync.example.com', token: 'tmk_1' });
await tidemark.push.objects('Order', { o1: { total: 12 } }, { user: 'ada' });
const { objects } = await tidemark.documents.objects({ source: 'Order', user: 'ada' });
export const first: Order | undefined = objects[0]?.attributes;
export const handler = createHandler<Sources>({
  secret: 'whsec_1',
  sources: {
    Order: {
      query: () => ({ o1: { customer_id: 'c1', total: 12 } }),
      create: ({ attributes }) => ({ id: attributes.customer_id }),
      update: ({ attributes, removed }) => void [attributes.total?.toFixed(2), removed],
    },
    Customer: {
      // mistake: the type of a value
      query: () => ({ c1: { name: 7 } }),
    },
  },
});
// mistake: the name of a source
await tidemark.push.objects('Ordr', {});
// mistake: the name of an attribute
await tidemark.push.objects('Order', { o1: { totl: 12 } });
// mistake: an attribute that is required
await tidemark.push.fastInsert('Order', { o1: { total: 12 } });
// mistake: the type of a value
await tidemark.push.partitions('Order', [{ user: 'ada', objects: { o1: { total: 'many' } } }]);
`;

const TESTS = `
import { openTestServer } from '@tidemark/client-testing';
import type { Order, Sources } from './tidemark.js';

const server = await openTestServer<Sources>({ sources: [{ name: 'Order' }, { name: 'Customer' }], users: ['ada'] });
await server.push('Order', { o1: { total: 12 } }, { user: 'ada' });
export const stored: Order | undefined = (await server.objects('Order', { user: 'ada' })).o1;
export const order = (await server.openDevice({ user: 'ada' })).source('Order').get('o1')?.attributes.total.toFixed(2);
// mistake: the name of a source
await server.push('Ordr', {});
// mistake: the type of a value
await server.push('Order', { o1: { total: 'many' } }, { user: 'ada' });
// mistake: the name of a source
await openTestServer<Sources>({ sources: [{ name: 'Ordr' }], users: [] });
`;

const FILES: Readonly<Record<string, string>> = {
  'device.ts': DEVICE,
  'hooks.ts': HOOKS,
  'collections.ts': COLLECTIONS,
  'backend.ts': BACKEND,
  'tests.ts': TESTS,
};

/** The lines behind those that announce a mistake: file(line). */
function mistakesIn(files: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(files).flatMap(([file, text]) =>
    text.split('\n').flatMap((line, at) => (line.includes('// mistake:') ? [`${file}(${at + 2})`] : [])),
  );
}

/** The files without the lines with mistakes. */
function corrected(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(files);
  return Object.fromEntries(entries.map(([file, text]) => [file, text.replace(/^ *\/\/ mistake:.*\n.*\n/gm, '')]));
}

const TYPES = { 'tidemark.ts': typescriptText(sources) };

it('[TYPES-6] an app outside of the repository compiles with its types, and each mistake in it is an error', async () => {
  const app = await appWith({ module: 'nodenext' }, { ...TYPES, ...corrected(FILES) });
  expect(app.compile().output).toBe('');
  app.write(FILES);
  expect(app.compile().places).toEqual([...mistakesIn(FILES)].sort());
});

it('[TYPES-6] an app that is built by a bundler with the strictest settings sees the same mistakes, and no others', async () => {
  const strict = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true };
  const bundler = { module: 'esnext', moduleResolution: 'bundler' };
  const app = await appWith({ ...bundler, ...strict }, { ...TYPES, ...FILES });
  expect(app.compile().places).toEqual([...mistakesIn(FILES)].sort());
});

it('[TYPES-7] the types of a file with schemas of Zod are those of the file with types', async () => {
  const files = { 'device.ts': DEVICE, 'backend.ts': BACKEND };
  const app = await appWith({ module: 'nodenext' }, { 'tidemark.ts': zodText(sources), ...files });
  expect(app.compile().places).toEqual([...mistakesIn(files)].sort());
});
