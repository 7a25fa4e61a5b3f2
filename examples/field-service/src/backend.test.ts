import { createHmac, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { TidemarkClient } from '@tidemark/backend';
import { type ServerProcess, startServerProcess, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Backend, startBackend } from './backend.ts';
import { setUpTidemark } from './set-up-tidemark.ts';

const SECRET = 'a secret that both sides know';
const OFFICE_TOKEN = 'of-the-office';
const PASSWORD = 'of-the-crews';

let server: ServerProcess;
let tidemark: TidemarkClient;
let folder: TemporaryFolder;
let backend: Backend;

beforeAll(async () => {
  server = await startServerProcess();
  tidemark = await TidemarkClient.logIn(credentials());
});

function credentials() {
  return { url: server.url, login: 'admin', password: server.adminPassword };
}

afterAll(() => server.stop());

async function start(client: TidemarkClient = tidemark, partsMin = 0): Promise<void> {
  backend = await startBackend({
    partsMin,
    databaseFile: join(folder.path, 'field-service.sqlite'),
    port: 0,
    secret: SECRET,
    officeToken: OFFICE_TOKEN,
    technicianPassword: PASSWORD,
    tidemark: client,
  });
}

beforeEach(async () => {
  folder = await temporaryFolder();
  await start();
  await setUpTidemark(tidemark, backend.url, PASSWORD);
  await backend.pusher.drain();
});

afterEach(async () => {
  await backend.close();
  for (const { name } of await tidemark.sources.list()) await tidemark.sources.drop(name);
  await folder.remove();
});

/** A call as Tidemark makes it. */
async function call(name: string, body: object) {
  const text = JSON.stringify(body);
  const [id, timestamp] = [randomUUID(), String(Math.floor(Date.now() / 1_000))];
  const signature = createHmac('sha256', SECRET).update(`${id}.${timestamp}.${text}`).digest('base64');
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
  const response = await fetch(`${backend.url}/tidemark/${name}`, { method: 'POST', body: text, headers });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function officeSays(path: string, body: object, token = OFFICE_TOKEN) {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${backend.url}/office/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers,
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const md = (source: string, user: string) => tidemark.documents.read({ source, user }, 'md') as Promise<Objects>;
const priceList = () => tidemark.documents.read({ source: 'Part', shared: true }, 'md') as Promise<Objects>;
const queried = async (source: string, user_id: string | null) =>
  (await call('query', { source, user_id, partition: user_id })).body as Objects;

type Objects = Record<string, Record<string, unknown>>;

const use = (op_id: string, quantity: number, part_id = 'P-1010') => ({
  source: 'PartUse',
  user_id: 'crew-north',
  op_id,
  id: `tmp-${op_id}`,
  attributes: { work_order_id: '1', part_id, quantity },
});
const change = (op_id: string, id: string, attributes: object) => ({
  source: 'WorkOrder',
  user_id: 'crew-north',
  op_id,
  id,
  attributes,
});

describe('what Tidemark has', () => {
  it('[EXAMPLE-1] is what the backend answers to a query, for every crew and for the price list', async () => {
    for (const crew of ['crew-north', 'crew-harbour', 'crew-valley']) {
      for (const source of ['WorkOrder', 'PartUse'])
        expect(await md(source, crew)).toEqual(await queried(source, crew));
    }
    expect(Object.keys(await md('WorkOrder', 'crew-harbour'))).toEqual(['4', '5', '6', '7']);
    expect(Object.keys(await priceList()).length).toBe(15);
    expect(await priceList()).toEqual(await queried('Part', null));
  });

  it('[EXAMPLE-2] follows the office: new work orders, other crews, other prices', async () => {
    const order = { technician: 'crew-north', customer: 'Harlow Cold Store', title: 'Check door heater' };
    expect(await officeSays('work-orders', order)).toEqual({ status: 200, body: { id: 11, told: true } });
    expect(await md('WorkOrder', 'crew-north')).toMatchObject({ 11: { title: 'Check door heater', status: 'open' } });

    const part = (await md('PartUse', 'crew-harbour'))['1'];
    await officeSays('assignments', { id: 4, technician: 'crew-valley' });
    expect(Object.keys(await md('WorkOrder', 'crew-harbour'))).toEqual(['5', '6', '7']);
    expect(Object.keys(await md('PartUse', 'crew-harbour'))).toEqual(['2']);
    expect(await md('WorkOrder', 'crew-valley')).toMatchObject({ 4: { title: 'Cold room 3 does not reach -18 °C' } });
    expect(await md('PartUse', 'crew-valley')).toEqual({ 1: part });

    await officeSays('prices', { part: 'P-1010', price_cents: 4_990 });
    expect((await priceList())['P-1010']).toMatchObject({ price_cents: 4_990 });
  });

  it('[EXAMPLE-2] is told later when it cannot be told now', async () => {
    await backend.close();
    const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    await start(new TidemarkClient({ url: 'http://127.0.0.1:9', retry: { attemptsMax: 1 } }));
    const answer = await officeSays('prices', { part: 'P-1022', price_cents: 1 });
    expect(answer.body).toEqual({ part: 'P-1022', price_cents: 1, told: false });
    said.mockRestore();
    await backend.close();
    await start();
    expect((await priceList())['P-1022']).toMatchObject({ price_cents: 31_900 });
    expect(await backend.pusher.drain()).toBe(true);
    expect((await priceList())['P-1022']).toMatchObject({ price_cents: 1 });
  });

  it('[EXAMPLE-2] is told once', async () => {
    let pushes = 0;
    const fetch = (url: string, init: RequestInit) => {
      if (url.includes('/app/v1/')) pushes++;
      return globalThis.fetch(url, init);
    };
    await backend.close();
    await start(await TidemarkClient.logIn({ ...credentials(), platform: { fetch } }));
    await backend.pusher.drain();
    expect(pushes).toBeGreaterThan(0);
    const before = pushes;
    await backend.pusher.drain();
    await officeSays('prices', { part: 'P-1022', price_cents: 1 });
    expect(pushes).toBe(before + 1);
  });

  it('[EXAMPLE-4] the office needs its token, and what it says must make sense', async () => {
    expect((await officeSays('prices', { part: 'P-1010', price_cents: 1 }, 'wrong')).status).toBe(401);
    expect(await officeSays('prices', { part: 'P-0', price_cents: 1 })).toMatchObject({ status: 400 });
    expect(await officeSays('assignments', { id: 1, technician: 'nobody' })).toMatchObject({ status: 400 });
    expect((await officeSays('elsewhere', {})).status).toBe(404);
  });
});

describe('what devices change', () => {
  it('[EXAMPLE-3] happens once, also when it is asked for again after a restart', async () => {
    const first = await call('create', use('op-1', 2));
    expect(first).toEqual({ status: 200, body: { id: '3' } });
    expect(await call('create', use('op-1', 2))).toEqual(first);
    await backend.close();
    await start();
    expect(await call('create', use('op-1', 2))).toEqual(first);
    expect(Object.keys(await queried('PartUse', 'crew-north'))).toEqual(['3']);
    expect((await queried('Part', null))['P-1010']).toMatchObject({ stock: 12 });
  });

  it('[EXAMPLE-2] and concerns everybody reaches everybody', async () => {
    await call('create', use('op-1', 2));
    await backend.pusher.drain();
    expect((await priceList())['P-1010']).toMatchObject({ stock: 12 });
    await call('delete', { ...use('op-2', 0), id: '3' });
    await backend.pusher.drain();
    expect((await priceList())['P-1010']).toMatchObject({ stock: 14 });
  });

  it('[EXAMPLE-3] work orders are made, worked on and taken back', async () => {
    const made = await call('create', change('a', 'tmp', { title: ' Leak under the sink ', hours: 0.5 }));
    expect(made).toEqual({ status: 200, body: { id: '11' } });
    expect((await call('update', change('b', '11', { notes: 'Tightened.' }))).status).toBe(200);
    expect((await queried('WorkOrder', 'crew-north'))['11']).toMatchObject({
      title: 'Leak under the sink',
      notes: 'Tightened.',
      hours: 0.5,
      status: 'open',
    });
    expect((await call('delete', change('c', '11', {}))).status).toBe(200);
    expect((await queried('WorkOrder', 'crew-north'))['11']).toBeUndefined();
  });

  it('[EXAMPLE-4] against the rules is refused with a reason, and nothing has changed', async () => {
    const refusals: readonly [string, string, object, number, string][] = [
      ['more than there is', 'create', use('x', 15), 422, 'only 14 of Pump seal kit 32 mm are left'],
      ['a part that is none', 'create', use('x', 1, 'P-0'), 422, 'there is no part P-0'],
      ['half a part', 'create', use('x', 0.5), 422, 'quantity must be a whole number from 1'],
      ['no title', 'create', change('x', 'tmp', { title: ' ' }), 422, 'a work order needs a title'],
      [
        "what is the office's",
        'update',
        change('x', '1', { priority: 'low' }),
        422,
        'only the office changes priority',
      ],
      [
        'a status that is none',
        'update',
        change('x', '1', { status: 'lost' }),
        422,
        'status must be open, in_progress, done',
      ],
      ["somebody else's", 'update', change('x', '4', { notes: 'x' }), 409, 'work order 4 is no longer yours'],
      [
        'planned by the office',
        'delete',
        change('x', '1', {}),
        422,
        'the office planned this work order, so only it deletes it',
      ],
      [
        'the price list',
        'update',
        { ...change('x', 'P-1010', {}), source: 'Part' },
        422,
        'Part takes no update from devices',
      ],
    ];
    const before = [await queried('WorkOrder', 'crew-north'), await queried('Part', null)];
    for (const [what, name, body, status, detail] of refusals) {
      const answer = await call(name, { ...body, op_id: what });
      expect({ what, answer }).toMatchObject({ what, answer: { status, body: { detail } } });
    }
    expect([await queried('WorkOrder', 'crew-north'), await queried('Part', null)]).toEqual(before);
  });

  it('[EXAMPLE-4] what is done stays done', async () => {
    expect((await call('update', change('a', '1', { status: 'done' }))).status).toBe(200);
    expect(await call('update', change('b', '1', { status: 'open' }))).toMatchObject({
      status: 409,
      body: { detail: 'work order 1 is done already' },
    });
  });
});

it('[EXAMPLE-4] crews log in with their password', async () => {
  const login = (name: string, password: string) => call('authenticate', { login: name, password });
  expect(await login('crew-north', PASSWORD)).toEqual({ status: 200, body: { user_id: 'crew-north' } });
  expect((await login('crew-north', 'wrong')).status).toBe(401);
  expect((await login('nobody', PASSWORD)).status).toBe(401);
});

it('[EXAMPLE-2] the price list is made as long as somebody wants to see it', async () => {
  const parts = Object.keys(await priceList()).length;
  await backend.close();
  await start(tidemark, parts + 1_500);
  await backend.pusher.drain();
  expect(Object.keys(await priceList()).length).toBe(parts + 1_500);
});

it('[EXAMPLE-2] the price list is searched by name', async () => {
  const found = await call('search', { source: 'Part', user_id: 'crew-north', params: { text: 'pipe' } });
  expect(Object.keys(found.body)).toEqual(['P-1603', 'P-1610']);
});
