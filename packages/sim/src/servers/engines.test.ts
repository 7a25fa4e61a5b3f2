import { pageJson, type Store, Tidemark, type TidemarkParts } from '@tidemark/core';
import { CLIENTS_PER_USER_MAX, type Page, Refusal } from '@tidemark/protocol';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { openValkeyStore } from '@tidemark/store-valkey';
import {
  collectingLog,
  IS_LONG,
  seededRandom,
  settableClock,
  startValkey,
  temporaryFolder,
  weakPasswords,
} from '@tidemark/testing/kit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { replaced } from '../faults/replaced.ts';

const AT_ONCE = 500;

/** Opens the stores of two servers that share their data. */
const ENGINES: Readonly<Record<string, () => Promise<readonly [Store, Store]>>> = {
  async embedded() {
    const folder = await temporaryFolder();
    const store = await openEmbeddedStore({ folder: folder.path });
    onTestFinished(async () => {
      await store.close();
      await folder.remove();
    });
    return [store, store];
  },
  async valkey() {
    const server = await startValkey({ settings: { appendonly: 'no' } });
    // The machine may be busy, and the time of a reply is not what is tested here.
    const open = () => openValkeyStore({ address: server.address, answerMs: 300_000 });
    const stores = [await open(), await open()] as const;
    onTestFinished(async () => {
      await Promise.all(stores.map((store) => store.close()));
      await server.remove();
    });
    return stores;
  },
};

function serverOn(store: Store, ports: Partial<TidemarkParts> = {}): Tidemark {
  const random = seededRandom(1);
  return new Tidemark({
    ...ports,
    store,
    clock: settableClock(),
    random,
    passwords: weakPasswords(random),
    log: collectingLog(),
  });
}

/** Registers all devices, `atOnce` at a time and at the servers in turn. Returns the codes of refusals. */
async function registerAll(servers: readonly Tidemark[], ids: readonly string[], atOnce: number): Promise<string[]> {
  const refusals: string[] = [];
  const left = ids.entries();
  const worker = async () => {
    for (const [index, client_id] of left) {
      const server = servers[index % servers.length];
      await server?.clients.register('ada', { client_id }).catch((error: unknown) => {
        refusals.push(error instanceof Refusal ? error.code : String(error));
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return refusals;
}

/** Pulls the orders of the device, waits until that is recorded, and returns its new token. */
async function pullOrders(server: Tidemark, token: string | null): Promise<string> {
  const device = { user: 'ada', client: 'c1' };
  const { pages, noted } = await server.devices.pull(device, { sources: new Map([['Order', token]]) });
  await noted;
  const page = pages[0]?.page;
  if (page === undefined || 'error' in page) throw new Error('the source has no page');
  return (JSON.parse(pageJson(page.token, page.body)) as Page).token;
}

describe.each(Object.keys(ENGINES))('two servers on one %s store', (engine) => {
  it('[EXPLAIN-5] a device that synchronised an empty source at one server is behind at the other after the first change', async () => {
    const [first, second] = ((await ENGINES[engine]?.()) ?? []).map((store) => serverOn(store));
    if (first === undefined || second === undefined) throw new Error('two servers are needed');
    await first.users.create({ attributes: { login: 'ada', password: 'long enough' } });
    await first.sources.declare({ name: 'Order', partition_type: 'user' });
    for (const client_id of ['c1', 'never']) await first.clients.register('ada', { client_id });
    const receipt = () => second.receipts.read({ source: 'Order', user_id: 'ada' });
    const token = await pullOrders(first, null);
    expect(await receipt()).toMatchObject({ devices: 2, delivered: 1, behind: 0, never_synced: 1 });
    await first.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { a: 1 }, 2: { a: 1 } } });
    expect(await second.delivery.explain('c1', 'Order', '1')).toMatchObject({ verdict: 'pending' });
    expect(await second.delivery.explain('never', 'Order', '1')).toMatchObject({ verdict: 'never_synced' });
    expect(await receipt()).toMatchObject({
      ...{ delivered: 0, behind: 1, never_synced: 1 },
      behind_devices: [{ client_id: 'c1', acknowledged: 0, missing: 2 }],
    });
    await pullOrders(first, await pullOrders(first, token));
    expect(await receipt()).toMatchObject({ delivered: 1, behind: 0, never_synced: 1 });
  });

  it('[MANY-24] a refresh that the store interrupted is repeated at once by its server, and the other one then has what it brought', async () => {
    const [own, other] = (await ENGINES[engine]?.()) ?? [];
    if (own === undefined || other === undefined) throw new Error('two stores are needed');
    let isAway = false;
    let queries = 0;
    const writeEntries: Store['writeEntries'] = (batch) =>
      isAway ? Promise.reject(new Refusal('store_unavailable', 'away')) : own.writeEntries(batch);
    const query = async () => {
      queries++;
      isAway = queries === 1;
      return { objects: { 1: { n: queries } } };
    };
    const adapter = { query, create: async () => '1', update: async () => undefined, delete: async () => undefined };
    const ports = (id: string) => ({ adapters: { find: () => adapter }, server: { id, isGone: () => false } });
    const first = serverOn(replaced(own, { writeEntries }), ports('first'));
    const second = serverOn(other, ports('second'));
    await first.sources.declare({ name: 'Stock', partition_type: 'app', adapter: 'backend', poll_interval: 0 });
    const stock = { source: 'Stock' };
    await expect(first.refresher.ensureFresh(stock)).rejects.toMatchObject({ code: 'store_unavailable' });
    isAway = false;
    expect(await first.refresher.ensureFresh(stock)).toBeNull();
    expect([Object.fromEntries(await second.objects.read(stock)), queries]).toEqual([{ 1: { n: 2 } }, 2]);
  });
});

const BOTH = ['valkey', 'embedded'] as const;

it.each(IS_LONG ? BOTH : BOTH.slice(0, 1))(
  '[CLIENT-9] two servers on one %s store refuse the device after the last one allowed, whichever server registered the others',
  async (engine) => {
    const servers = ((await ENGINES[engine]?.()) ?? []).map((store) => serverOn(store));
    const [first] = servers;
    await first?.users.create({ attributes: { login: 'ada', password: 'long enough' } });
    const ids = Array.from({ length: CLIENTS_PER_USER_MAX + AT_ONCE }, (_, index) => `d${index}`);
    expect(await registerAll(servers, ids.slice(0, CLIENTS_PER_USER_MAX), AT_ONCE)).toEqual([]);
    const refusals = await registerAll(servers, ids.slice(CLIENTS_PER_USER_MAX), AT_ONCE);
    expect(refusals).toEqual(new Array(AT_ONCE).fill('limit_exceeded'));
    expect(await first?.clients.listOf('ada')).toHaveLength(CLIENTS_PER_USER_MAX);
  },
);
