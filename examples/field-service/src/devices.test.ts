import { join } from 'node:path';
import { TidemarkClient } from '@tidemark/backend';
import { type Device, openDevice } from '@tidemark/client';
import { type ServerProcess, startServerProcess, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Backend, startBackend } from './backend.ts';
import type { PartUse } from './part-uses.ts';
import type { Part } from './price-list.ts';
import { setUpTidemark } from './set-up-tidemark.ts';
import type { WorkOrder } from './work-orders.ts';

// The whole way, everything over loopback: device SDK ↔ Tidemark in a process of its own ↔ this backend and its database.
const SECRET = 'a secret that both sides know';
const OFFICE_TOKEN = 'of-the-office';
const PASSWORD = 'of-the-crews';

let server: ServerProcess;
let folder: TemporaryFolder;
let backend: Backend;

beforeAll(async () => {
  server = await startServerProcess({ TIDEMARK_BACKEND_SECRET: SECRET });
  folder = await temporaryFolder();
  const { url, adminPassword } = server;
  const tidemark = await TidemarkClient.logIn({ url, login: 'admin', password: adminPassword });
  backend = await startBackend({
    databaseFile: join(folder.path, 'field-service.sqlite'),
    port: 0,
    secret: SECRET,
    officeToken: OFFICE_TOKEN,
    technicianPassword: PASSWORD,
    tidemark,
  });
  await setUpTidemark(tidemark, backend.url, PASSWORD);
  await backend.pusher.drain();
});

afterAll(async () => {
  await backend.close();
  await server.stop();
  await folder.remove();
});

interface Crew {
  readonly device: Device;
  readonly orders: ReturnType<typeof ordersOf>;
  readonly uses: ReturnType<typeof usesOf>;
  part(id: string): Part | undefined;
}

const ordersOf = (device: Device) => device.source<Partial<WorkOrder>>('WorkOrder');
const usesOf = (device: Device) => device.source<PartUse>('PartUse');

/** A device of the crew, which has everything. */
async function crew(login: string): Promise<Crew> {
  const device = await openDevice({ url: server.url, live: false });
  onTestFinished(() => device.close());
  await device.signIn({ login, password: PASSWORD });
  await device.sync();
  const parts = device.source<Part>('Part');
  return { device, orders: ordersOf(device), uses: usesOf(device), part: (id) => parts.get(id)?.attributes };
}

async function office(path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${OFFICE_TOKEN}` };
  const { status } = await fetch(`${backend.url}/office/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers,
  });
  expect(status).toBe(200);
}

describe('a crew with a device', () => {
  it('[EXAMPLE-6] logs in with the password the backend knows, and has its own work and the shared price list', async () => {
    const device = await openDevice({ url: server.url, live: false });
    onTestFinished(() => device.close());
    await expect(device.signIn({ login: 'crew-north', password: 'guessed' })).rejects.toMatchObject({
      code: 'invalid_credentials',
    });
    const [north, harbour] = [await crew('crew-north'), await crew('crew-harbour')];
    expect([north.orders.list().length, harbour.orders.list().length]).toEqual([3, 4]);
    expect([north.uses.list().length, harbour.uses.list().length]).toEqual([0, 2]);
    expect(north.part('P-1022')).toEqual(harbour.part('P-1022'));
    expect(north.device.source('Part').list().length).toBe(15);
  });

  it('[EXAMPLE-6] makes a work order and books parts on it before it has a number; then all have one, and the stock is less', async () => {
    const [north, valley] = [await crew('crew-north'), await crew('crew-valley')];
    const before = valley.part('P-1310')?.stock ?? 0;
    const temporary = await north.device.write((draft) => {
      const id = draft.create('WorkOrder', { title: 'Radiator cold upstairs' });
      draft.create('PartUse', { work_order_id: id, part_id: 'P-1310', quantity: 2 });
      return id;
    });
    await north.device.sync();
    await backend.pusher.drain();
    await Promise.all([north.device.sync(), valley.device.sync()]);
    const order = north.orders.list().find(({ attributes }) => attributes.title === 'Radiator cold upstairs');
    expect(order?.id).toMatch(/^[0-9]+$/);
    expect(order?.id).not.toBe(temporary);
    expect(order?.attributes).toMatchObject({ status: 'open', priority: 'normal' });
    expect(north.uses.list().map(({ attributes }) => attributes)).toEqual([
      { work_order_id: order?.id, part_id: 'P-1310', quantity: 2 },
    ]);
    expect(valley.part('P-1310')?.stock).toBe(before - 2);
    expect(north.device.problems.list()).toEqual([]);
  });

  it('[EXAMPLE-6] edits its work, and the office and its other devices have it', async () => {
    const [phone, tablet] = [await crew('crew-valley'), await crew('crew-valley')];
    const [order] = phone.orders.list();
    const id = order?.id ?? '';
    await phone.orders.update(id, { status: 'in_progress', hours: 1.5 });
    await phone.device.sync();
    await tablet.device.sync();
    expect(tablet.orders.get(id)?.attributes).toMatchObject({ status: 'in_progress', hours: 1.5 });
    await office('assignments', { id: Number(id), technician: 'crew-north' });
    await tablet.device.sync();
    expect(tablet.orders.get(id)).toBeUndefined();
    expect((await crew('crew-north')).orders.get(id)?.attributes).toMatchObject({ hours: 1.5 });
  });

  it('[EXAMPLE-6] is told what is a conflict and what is refused, and shows what is true again', async () => {
    const harbour = await crew('crew-harbour');
    const done = harbour.orders.list().find(({ attributes }) => attributes.status === 'done');
    await harbour.orders.update(done?.id ?? '', { notes: 'one more thing' });
    await harbour.uses.create({ work_order_id: done?.id ?? '', part_id: 'P-1411', quantity: 100 });
    await harbour.device.sync();
    const problems = harbour.device.problems.list().map(({ status, error }) => [status, error.detail]);
    expect(problems).toEqual([
      ['conflict', `work order ${done?.id} is done already`],
      ['rejected', 'only 4 of Fan motor 45 W are left'],
    ]);
    expect(harbour.orders.get(done?.id ?? '')?.attributes.notes).toBe('Next in twelve months.');
    expect(harbour.uses.list().length).toBe(2);
  });

  it('[EXAMPLE-6] sees a price at once that the office has changed', async () => {
    const [north, harbour] = [await crew('crew-north'), await crew('crew-harbour')];
    await office('prices', { part: 'P-1010', price_cents: 4_990 });
    await Promise.all([north.device.sync(), harbour.device.sync()]);
    expect([north.part('P-1010')?.price_cents, harbour.part('P-1010')?.price_cents]).toEqual([4_990, 4_990]);
  });
});

describe('the dispatcher with a device', () => {
  it('[EXAMPLE-8] sees the work of all crews, hands an order from one to the other, and both have what is theirs', async () => {
    const [dispatcher, north, valley] = [await crew('dispatch'), await crew('crew-north'), await crew('crew-valley')];
    expect(dispatcher.orders.list().length).toBeGreaterThan(north.orders.list().length + valley.orders.list().length);
    const id = north.orders.list()[0]?.id ?? '';
    await dispatcher.orders.update(id, { technician: 'crew-valley', priority: 'low' });
    const made = await dispatcher.orders.create({ title: 'Pump is noisy', technician: 'crew-north' });
    await dispatcher.device.sync();
    await backend.pusher.drain();
    await Promise.all([north.device.sync(), valley.device.sync()]);
    expect(north.orders.get(id)).toBeUndefined();
    expect(valley.orders.get(id)?.attributes).toMatchObject({ technician: 'crew-valley', priority: 'low' });
    const given = dispatcher.orders.get(made.id)?.id ?? '';
    expect(north.orders.get(given)?.attributes).toMatchObject({ title: 'Pump is noisy', status: 'open' });
    expect(dispatcher.device.problems.list()).toEqual([]);
  });

  it('[EXAMPLE-8] and a crew that change the same notes are in conflict, and the crew that resolves it has the last word', async () => {
    const [dispatcher, harbour] = [await crew('dispatch'), await crew('crew-harbour')];
    const open = harbour.orders.list().find(({ attributes }) => attributes.status === 'open');
    const id = open?.id ?? '';
    harbour.device.goOffline();
    await dispatcher.orders.update(id, { notes: 'Come before noon.' });
    await harbour.orders.update(id, { notes: 'Valve ordered.', hours: 2 });
    await dispatcher.device.sync();
    await backend.pusher.drain();
    harbour.device.goOnline();
    await harbour.device.sync();
    const [problem] = harbour.device.problems.list();
    expect(problem).toMatchObject({
      status: 'conflict',
      error: { code: 'object_changed' },
      attributes: { notes: 'Valve ordered.' },
    });
    expect(problem?.attributes).not.toHaveProperty('hours');
    await harbour.device.problems.resolve(problem?.opId ?? '', { notes: 'Come before noon. Valve ordered.' });
    await harbour.device.sync();
    await backend.pusher.drain();
    await dispatcher.device.sync();
    expect(dispatcher.orders.get(id)?.attributes).toMatchObject({
      notes: 'Come before noon. Valve ordered.',
      hours: 2,
    });
  });

  it('[EXAMPLE-8] may not do the work of a crew', async () => {
    const dispatcher = await crew('dispatch');
    const open = dispatcher.orders.list().find(({ attributes }) => attributes.status === 'open');
    await dispatcher.orders.update(open?.id ?? '', { status: 'done' });
    await dispatcher.orders.create({ title: 'For nobody', technician: 'crew-nowhere' });
    await dispatcher.device.sync();
    expect(dispatcher.device.problems.list().map(({ error }) => error.detail)).toEqual([
      'only the technician changes status',
      'there is no technician crew-nowhere',
    ]);
  });
});
