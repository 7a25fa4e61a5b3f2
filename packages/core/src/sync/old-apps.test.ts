import { DEVICE_VERSIONS_UNITS_MAX, type SourceSchema } from '@tidemark/protocol';
import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { sharedPartition } from '../ports/owner.ts';

const FIRST: SourceSchema = { properties: { title: { type: 'string' } } };
const SECOND: SourceSchema = { ...FIRST, title: 'Product' };
const TOO_OLD = {
  code: 'app_too_old',
  detail:
    'the app was built with version 1 of the schema of "Product", and the oldest that is served is 2: update the app',
};

async function scene(versions: Readonly<Record<string, number>> | null) {
  const { tidemark, clock, store } = await newTidemark();
  const { schemas } = tidemark.sources;
  await tidemark.objects.push({ source: 'Product', objects: { p: { title: 'P' } } });
  await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { o: { title: 'O' } } });
  await schemas.set('Product', { schema: FIRST });
  await schemas.set('Product', { schema: SECOND, oldest_version: 2 });
  const client = (await tidemark.clients.register('ada', { schema_versions: versions })).client_id;
  const device = { user: 'ada', client };
  const pull = async () => {
    const sources = new Map([
      ['Product', null],
      ['Order', null],
    ]);
    const { pages } = await tidemark.devices.pull(device, { sources });
    return Object.fromEntries(pages.map(({ source, page }) => [source, 'error' in page ? page.error : 'a page']));
  };
  return { tidemark, clock, store, schemas, device, pull };
}

const upload = (source: string) =>
  ({ op_id: `to ${source}`, source, op: 'create', id: 'n', attributes: { title: 'N' } }) as const;

describe('an app that is older than a source serves', () => {
  it('[SCHEMA-19] its pull gets an error for that source, and the pages of others', async () => {
    const { pull, schemas } = await scene({ Product: 1, Order: 1 });
    expect(await pull()).toEqual({ Product: TOO_OLD, Order: 'a page' });
    await schemas.set('Product', { oldest_version: 1 });
    expect(await pull()).toEqual({ Product: 'a page', Order: 'a page' });
  });

  it('[SCHEMA-19] after its update the app gets the page', async () => {
    const { tidemark, pull, device } = await scene({ Product: 1 });
    expect(await pull()).toEqual({ Product: TOO_OLD, Order: 'a page' });
    await tidemark.clients.update('ada', device.client, { schema_versions: { Product: 2 } });
    expect(await pull()).toEqual({ Product: 'a page', Order: 'a page' });
  });

  it.each([[null], [{}], [{ Product: 2 }]])('[SCHEMA-19] an app that says %j is not refused', async (versions) => {
    const { pull } = await scene(versions);
    expect(await pull()).toEqual({ Product: 'a page', Order: 'a page' });
  });

  it('[SCHEMA-19] its uploads to that source are refused and not remembered, and others are applied', async () => {
    const { tidemark, device } = await scene({ Product: 1 });
    const push = () => tidemark.devices.push(device, { changes: [upload('Product'), upload('Order')] });
    expect(await push()).toMatchObject([{ status: 'rejected', error: TOO_OLD }, { status: 'applied' }]);
    await tidemark.clients.update('ada', device.client, { schema_versions: { Product: 2 } });
    expect(await push()).toMatchObject([{ status: 'applied' }, { status: 'applied' }]);
  });

  it('[SCHEMA-19] its snapshot is refused, and no event carries a page of the source', async () => {
    const { tidemark, device, schemas } = await scene({ Product: 1 });
    const snapshot = () => tidemark.devices.snapshot(device, { source: 'Product', token: null });
    expect(await refusalOf(snapshot())).toBe('app_too_old');
    const { epoch } = await tidemark.objects.partition({ source: 'Product' });
    const page = () => tidemark.devices.livePage(sharedPartition('Product'), { epoch, after: 0, upTo: 1 });
    expect(await page()).toBeNull();
    await schemas.set('Product', { oldest_version: 1 });
    expect(await page()).not.toBeNull();
  });
});

describe('the versions of schemas that a device says', () => {
  it('[SCHEMA-18] the device and the list of devices show them', async () => {
    const { tidemark, device } = await scene({ Product: 1 });
    expect(await tidemark.clients.get(device.client)).toMatchObject({ schema_versions: { Product: 1 } });
    const list = await tidemark.listings.clients.page({ findListening: async () => new Set() });
    expect(list.clients).toMatchObject([{ schema_versions: { Product: 1 } }]);
  });

  it('[SCHEMA-10] a comparison and a refusal count the devices of the last 30 days by their version', async () => {
    const { tidemark, clock, schemas } = await scene({ Product: 1 });
    const breaking = { schema: { properties: {} } };
    for (const versions of [{ Product: 1 }, { Product: 2 }, { Order: 1 }, null]) {
      await tidemark.clients.register('bob', { schema_versions: versions });
    }
    expect(await schemas.diff('Product', breaking)).toMatchObject({
      ...{ kind: 'breaking', devices: { '1': 2, '2': 1 }, devices_without_version: 2 },
    });
    await expect(schemas.set('Product', breaking)).rejects.toThrow(
      'devices of the last 30 days: 2 with version 1, 1 with version 2, 2 that have not said their version',
    );
    clock.advance(30 * 86_400_000);
    await tidemark.clients.register('bob', { schema_versions: { Product: 2 } });
    expect(await schemas.diff('Product', breaking)).toMatchObject({ devices: { '2': 1 }, devices_without_version: 0 });
  });

  it('[SCHEMA-10] a device that is to be erased does not count', async () => {
    const { tidemark, device, schemas } = await scene({ Product: 1 });
    await tidemark.clients.wipes.order(device.client, 'root');
    const { devices, devices_without_version } = await schemas.diff('Product', { schema: { properties: {} } });
    expect({ devices, devices_without_version }).toEqual({ devices: {}, devices_without_version: 0 });
  });

  it.each([
    ['a list', ['Order'], 'invalid_request'],
    ['a version that is a text', { Order: '1' }, 'invalid_value'],
    ['version 0', { Order: 0 }, 'invalid_value'],
    ['a name that no source can have', { '*': 1 }, 'invalid_name'],
  ])('[SCHEMA-18] %s as the versions is refused', async (_what, versions, code) => {
    const { tidemark } = await newTidemark();
    expect(await refusalOf(tidemark.clients.register('ada', { schema_versions: versions }))).toBe(code);
  });

  it('[SCHEMA-18] an app may name as many sources as fit, and not a character more', async () => {
    const { tidemark } = await newTidemark();
    const many = Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`source number ${at}`, 1]));
    const left = DEVICE_VERSIONS_UNITS_MAX - JSON.stringify(many).length;
    const fill = Array.from({ length: Math.floor((left - 10) / 200) }, (_, at) => [`${at}`.padEnd(195, 'x'), 1]);
    const filled = { ...many, ...Object.fromEntries(fill) };
    const rest = DEVICE_VERSIONS_UNITS_MAX - JSON.stringify({ ...filled, '': 1 }).length;
    const whole = (length: number) => ({ ...filled, ['y'.repeat(length)]: 1 });
    const register = (length: number) => tidemark.clients.register('ada', { schema_versions: whole(length) });
    expect((await register(rest)).schema_versions).toEqual(whole(rest));
    expect(await refusalOf(register(rest + 1))).toBe('invalid_value');
  });
});
