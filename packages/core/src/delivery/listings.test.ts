import { DETAILS_EXAMINED_MAX, DETAILS_READS_MAX, type Page } from '@tidemark/protocol';
import { newTidemark, refusalOf, type TestTidemark } from '@tidemark/testing';
import { beforeEach, expect, it } from 'vitest';
import { pageJson } from '../pages/render-page.ts';
import type { ClientListCall } from './client-list.ts';
import type { UserListCall } from './user-list.ts';

const DAY_MS = 86_400_000;

let test: TestTidemark;
let online: Set<string>;

beforeEach(async () => {
  test = await newTidemark();
  online = new Set();
});

const findListening = async (clients: readonly string[]) => new Set(clients.filter((client) => online.has(client)));
const devices = (call: Partial<ClientListCall> = {}) => test.tidemark.listings.clients.page({ findListening, ...call });
const users = (call: Partial<UserListCall> = {}) => test.tidemark.listings.users.page({ findListening, ...call });
const ids = async (call: Partial<ClientListCall> = {}) =>
  (await devices(call)).clients.map(({ client_id }) => client_id);
const logins = async (call: Partial<UserListCall> = {}) => (await users(call)).users.map(({ login }) => login);
const register = (user: string, client_id: string, attributes: object = {}) =>
  test.tidemark.clients.register(user, { client_id, ...attributes });
const isoNow = () => new Date(test.clock.nowMs()).toISOString();
const push = (objects: object, user_id = 'ada') => test.tidemark.objects.push({ source: 'Order', user_id, objects });

async function catchUp(client: string, user = 'ada'): Promise<void> {
  const device = { user, client };
  const answer = await test.tidemark.devices.pull(device, { sources: new Map([['Order', null]]), objectsMax: 100 });
  await answer.noted;
  const page = answer.pages[0]?.page;
  if (page === undefined || 'error' in page) throw new Error('the source has a page');
  const { token } = JSON.parse(pageJson(page.token, page.body)) as Page;
  await test.tidemark.devices.acknowledge(device, new Map([['Order', token]]));
}

it('[DEVICE-20] devices are listed by user and id, page by page, also when the last one of a page was deleted', async () => {
  for (const [user, id] of [
    ['bob', 'b1'],
    ['ada', 'z9'],
    ['ada', 'a1'],
  ] as const) {
    await register(user, id, id === 'a1' ? { device_name: 'Till', device_app_id: 'Field' } : {});
  }
  const first = await devices({ limit: 2 });
  expect(first.clients[0]).toEqual({
    ...{ client_id: 'a1', user_id: 'ada', label: null, device_name: 'Till', device_platform: null },
    ...{ device_system: null, device_app_id: 'Field', device_app_version: null, schema_versions: null },
    ...{ created_at: isoNow(), last_contact: isoNow(), online: false, behind: null, wipe: 'none' },
  });
  expect({ ...first, clients: first.clients.map(({ client_id }) => client_id) }).toEqual({
    ...{ clients: ['a1', 'z9'], total: 3, examined: 2, next: 'ada/z9' },
  });
  await test.tidemark.clients.delete('ada', 'z9');
  const second = await devices({ limit: 2, after: 'ada/z9' });
  expect(second).toMatchObject({ clients: [{ client_id: 'b1' }], total: 2, examined: 1, next: null });
  expect(await ids({ limit: 1, after: 'ada/z9' })).toEqual(['b1']);
});

it('[DEVICE-20] a place that no page has named, or that is of another user, is refused', async () => {
  await register('ada', 'a1');
  await register('bob', 'b1');
  for (const after of ['ada', 'a/b/c', '%', '%00/a1', `${'a'.repeat(3_000)}/a1`, '/']) {
    expect([after, await refusalOf(devices({ after }))]).toEqual([after, 'invalid_request']);
  }
  expect(await refusalOf(devices({ user_id: 'bob', after: 'ada/a0' }))).toBe('invalid_request');
  expect(await ids({ user_id: 'bob', after: 'bob/a0' })).toEqual(['b1']);
});

it('[DEVICE-21] a device is behind by the changes that it has not acknowledged, in sources that it follows', async () => {
  await register('ada', 'a1');
  await register('ada', 'a2');
  await push({ 1: { a: 1 }, 2: { a: 1 } });
  await catchUp('a1');
  await catchUp('a2');
  expect((await devices()).clients.map(({ behind }) => behind)).toEqual([0, 0]);
  await push({ 1: { a: 2 }, 3: { a: 1 } });
  await push({ 1: { a: 3 } });
  await catchUp('a2');
  expect((await devices()).clients.map(({ behind }) => behind)).toEqual([3, 0]);
  expect(await ids({ behind: true })).toEqual(['a1']);
  await test.tidemark.devices.restart({ user: 'ada', client: 'a1' });
  expect((await devices({ behind: true })).clients.map(({ behind }) => behind)).toEqual([3]);
  await test.tidemark.clients.wipes.order('a1', 'admin');
  expect((await devices()).clients[0]).toMatchObject({ wipe: 'ordered', behind: 3 });
  await test.tidemark.clients.wipes.confirm('ada', 'a1', 0);
  expect((await devices()).clients[0]).toMatchObject({ wipe: 'confirmed', behind: 0 });
});

it('[DEVICE-28] of a device that never pulled nothing is known to be missing, and its last contact is its first sign-in', async () => {
  await register('ada', 'a1');
  await push({ 1: { a: 1 } });
  const signedIn = isoNow();
  test.clock.advance(DAY_MS);
  expect((await devices()).clients[0]).toMatchObject({ behind: null, last_contact: signedIn });
  expect(await ids({ behind: true })).toEqual([]);
  expect((await users()).users.map(({ behind, last_seen }) => [behind, last_seen])).toEqual([
    [null, signedIn],
    [null, null],
  ]);
  await register('ada', 'a2');
  await catchUp('a2');
  await push({ 1: { a: 2 } });
  expect((await devices()).clients.map(({ behind }) => behind)).toEqual([null, 1]);
  expect((await users()).users[0]).toMatchObject({ behind: 1, last_seen: isoNow() });
  await test.tidemark.clients.wipes.order('a1', 'admin');
  await test.tidemark.clients.wipes.confirm('ada', 'a1', 0);
  expect((await devices()).clients[0]).toMatchObject({ wipe: 'confirmed', behind: 0 });
});

it('[DEVICE-21] devices of several users are behind by the changes of their own user', async () => {
  await register('ada', 'a1');
  await register('bob', 'b1');
  for (const [user, client] of [
    ['ada', 'a1'],
    ['bob', 'b1'],
  ] as const) {
    await push({ 1: { a: 1 } }, user);
    await catchUp(client, user);
  }
  await push({ 1: { a: 2 }, 2: { a: 1 } }, 'bob');
  expect((await devices()).clients.map(({ behind }) => behind)).toEqual([0, 2]);
  await push({ 1: { a: 2 } });
  expect((await devices()).clients.map(({ behind }) => behind)).toEqual([1, 2]);
});

it('[DEVICE-22] devices are found by their texts, by their app, and by when they were seen', async () => {
  await register('ada', 'a1', { device_system: 'Firefox 128 on Linux', device_app_version: '2.9' });
  await register('ada', 'a2', { device_app_version: '2.10' });
  await register('bob', 'b1');
  await test.tidemark.clients.setLabel('b1', 'Van 7');
  expect(await ids({ text: ' fireFOX ' })).toEqual(['a1']);
  expect(await ids({ text: 'van' })).toEqual(['b1']);
  expect(await ids({ text: 'ADA' })).toEqual(['a1', 'a2']);
  expect(await ids({ app_version_below: '2.10' })).toEqual(['a1']);
  expect(await ids({ user_id: 'bob' })).toEqual(['b1']);
  online.add('a2');
  expect([await ids({ online: true }), await ids({ online: false })]).toEqual([['a2'], ['a1', 'b1']]);
  test.clock.advance(7 * DAY_MS - 1);
  expect(await ids({ not_seen_days: 7 })).toEqual([]);
  test.clock.advance(1);
  await catchUp('a1');
  expect(await ids({ not_seen_days: 7 })).toEqual(['b1']);
  expect(await ids({ text: 'x'.repeat(200) })).toEqual([]);
  for (const call of [{ text: 'x'.repeat(201) }, { app_version_below: 'old' }, { limit: 0 }, { limit: 1_001 }]) {
    expect(await refusalOf(devices(call))).toBe('invalid_value');
  }
  for (const after of ['a1', 'a/b/c', '%/x']) {
    expect(await refusalOf(devices({ after }))).toBe('invalid_request');
  }
});

it('[DEVICE-22] a page looks at a bounded number of devices, and the pages after it get to the end', async () => {
  for (let index = 0; index < DETAILS_EXAMINED_MAX + 5; index++) {
    await register('ada', `d${String(index).padStart(4, '0')}`);
  }
  const first = await devices({ text: 'd1004' });
  expect(first).toEqual({ clients: [], total: 1_005, examined: DETAILS_EXAMINED_MAX, next: 'ada/d0999' });
  const second = await devices({ text: 'd1004', after: first.next ?? '' });
  expect(second).toMatchObject({ clients: [{ client_id: 'd1004' }], examined: 5, next: null });
});

it('[DEVICE-22] a page reads a bounded number of positions', async () => {
  const groups = Array.from({ length: 800 }, (_, index) => `g${index}`);
  await test.tidemark.sources.declare({ name: 'Task', partition_type: 'group' });
  await test.tidemark.groups.set('ada', groups);
  for (let index = 0; index < 10; index++) {
    await register('ada', `d${index}`);
    await test.tidemark.clients.noteSync(`d${index}`, test.clock.nowMs());
  }
  let reads = 0;
  const { readTidemark } = test.store;
  test.store.readTidemark = (...args) => {
    reads++;
    return readTidemark.apply(test.store, args);
  };
  const first = await devices();
  expect(first.next).toBe('ada/d6');
  expect(reads).toBeLessThanOrEqual(DETAILS_READS_MAX + groups.length);
  expect(await ids({ after: first.next ?? '' })).toEqual(['d7', 'd8', 'd9']);
});

it('[USER-40] users are listed with their devices, groups, last contact and how far they are behind', async () => {
  await test.tidemark.groups.set('ada', ['north', 'south']);
  await register('ada', 'a1');
  await register('ada', 'a2');
  online.add('a2');
  await push({ 1: { a: 1 } });
  await catchUp('a1');
  await push({ 1: { a: 2 } });
  const { users: rows, ...page } = await users();
  const at = isoNow();
  expect(rows[0]).toEqual({
    ...{ login: 'ada', admin: false, created_at: at, last_seen: at, devices: 2, online: 1 },
    ...{ groups: ['north', 'south'], behind: 1 },
  });
  expect({ names: rows.map(({ login }) => login), ...page }).toEqual({
    ...{ names: ['ada', 'bob'], total: 2, examined: 2, next: null },
  });
  expect(await users({ limit: 1 })).toMatchObject({ users: [{ login: 'ada' }], next: 'ada' });
  expect(await logins({ after: 'ada' })).toEqual(['bob']);
});

it('[USER-40] the last contact of a user is that of the device that was seen last', async () => {
  for (const id of ['a1', 'a2', 'a3']) await register('ada', id);
  await push({ 1: { a: 1 } });
  for (const id of ['a1', 'a3', 'a2']) {
    test.clock.advance(DAY_MS);
    await catchUp(id);
  }
  expect((await users()).users[0]?.last_seen).toBe(isoNow());
});

it('[USER-40] users are found by login, group and attribute, and by what their devices do', async () => {
  await test.tidemark.users.update('bob', { attributes: { email: 'Bob@Example.org' } });
  await test.tidemark.groups.set('ada', ['north']);
  await register('ada', 'a1');
  await push({ 1: { a: 1 } });
  await catchUp('a1');
  await push({ 1: { a: 2 } });
  expect(await logins({ text: 'example.ORG' })).toEqual(['bob']);
  expect(await logins({ text: 'nort' })).toEqual(['ada']);
  expect(await logins({ group: 'north' })).toEqual(['ada']);
  expect(await logins({ behind: true })).toEqual(['ada']);
  expect([await logins({ has_devices: true }), await logins({ has_devices: false })]).toEqual([['ada'], ['bob']]);
  expect(await logins({ created_days: 1 })).toEqual(['ada', 'bob']);
  // Nobody can have been away for longer than there is a user.
  expect(await logins({ not_seen_days: 7 })).toEqual([]);
  test.clock.advance(8 * DAY_MS);
  expect(await logins({ created_days: 1 })).toEqual([]);
  expect(await logins({ not_seen_days: 7 })).toEqual(['ada', 'bob']);
  online.add('a1');
  expect(await logins({ not_seen_days: 7 })).toEqual(['bob']);
});
