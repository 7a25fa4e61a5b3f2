import { AUDIT_CHANGES_MAX, AUDIT_VALUE_UNITS_MAX, type AuditFact } from '@tidemark/protocol';
import { Caller, makeUser } from '@tidemark/testing';
import { ADMIN_PASSWORD, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

let server: TestServer;
let backend: Caller;
let person: Caller;
let ofConsole: Record<string, string>;

beforeAll(async () => {
  server = await startTestServer();
  backend = new Caller(server.url, server.token);
  person = new Caller(server.url, null);
  const login = { login: 'admin', password: ADMIN_PASSWORD };
  const { headers } = await person.post('/rc/v1/session', login, { 'x-tidemark-console': '1' });
  const [cookie = ''] = headers['set-cookie']?.[0]?.split(';') ?? [];
  ofConsole = { 'x-tidemark-console': '1', cookie };
  await backend.post('/rc/v1/sources', { name: 'Product', partition_type: 'app' });
  await backend.post('/rc/v1/sources', { name: 'Order' });
  await makeUser(server, 'anna');
});

afterAll(async () => {
  backend.close();
  person.close();
  await server.close();
});

async function facts(query: string): Promise<readonly AuditFact[]> {
  const { body } = await backend.get(`/rc/v1/audit/search?${query}`);
  return (body as { readonly facts: readonly AuditFact[] }).facts;
}

it('[AUDIT-20] a change in the console is audited with user, source, object and the values before and after', async () => {
  const target = { user_id: 'anna' };
  await person.post('/app/v1/Order/push_objects', { ...target, objects: { 7: { n: 1, note: 'a' } } }, ofConsole);
  const states = { delete_data: { 7: { note: 'a' } }, data: { 7: { n: 2 } } };
  await person.post('/app/v1/Order/fast_update', { ...target, ...states }, ofConsole);
  await person.post('/app/v1/Order/push_deletes', { ...target, objects: ['7'] }, ofConsole);
  const subject = { user_id: 'anna', source: 'Order', object_id: '7' };
  const common = { actor: 'admin', result: 'ok', subject, objects_changed: 1, are_changes_cut: false };
  const change = (attribute: string, old: string | null, now: string | null) => ({
    ...{ object_id: '7', attribute, old, new: now },
  });
  expect(await facts('about=Order&action=objects.')).toMatchObject([
    { ...common, action: 'objects.delete', changes: [change('n', '2', null)] },
    { ...common, action: 'objects.change', changes: [change('n', '1', '2'), change('note', '"a"', null)] },
    { ...common, action: 'objects.change', changes: [change('n', null, '1'), change('note', null, '"a"')] },
  ]);
});

it('[AUDIT-20] pushes with a token, and changes that change nothing, are not in the audit trail', async () => {
  await backend.post('/app/v1/Product/push_objects', { objects: { 1: { n: 1 } } });
  await backend.post('/app/v1/Product/fast_insert', { objects: { 2: { n: 1 } } }, ofConsole);
  await person.post('/app/v1/Product/push_objects', { objects: { 1: { n: 1 } } }, ofConsole);
  expect(await facts('about=Product&action=objects.')).toEqual([]);
  await person.post('/app/v1/Product/fast_insert', { objects: { 2: { n: 3 } } }, ofConsole);
  const changes = [{ object_id: '2', attribute: 'n', old: '1', new: '3' }];
  expect(await facts('about=Product&action=objects.')).toMatchObject([{ objects_changed: 1, changes }]);
});

it('[AUDIT-23] the audit trail cuts long values, hides secrets, and lists AUDIT_CHANGES_MAX changes', async () => {
  const long = 'x'.repeat(AUDIT_VALUE_UNITS_MAX);
  await person.post('/app/v1/Product/push_objects', { objects: { long: { api_key: 'k1', long } } }, ofConsole);
  const [cut] = await facts('about=long');
  expect(cut?.changes).toEqual([
    { object_id: 'long', attribute: 'api_key', old: null, new: '"(hidden)"' },
    { object_id: 'long', attribute: 'long', old: null, new: `"${long.slice(1)}…` },
  ]);
  await person.post('/app/v1/Product/push_deletes', { objects: ['long'] }, ofConsole);
  const [deleted] = await facts('about=long');
  expect(deleted?.changes).toEqual([
    { object_id: 'long', attribute: 'api_key', old: '"(hidden)"', new: null },
    { object_id: 'long', attribute: 'long', old: `"${long.slice(1)}…`, new: null },
  ]);
  const wide = Object.fromEntries(Array.from({ length: AUDIT_CHANGES_MAX + 1 }, (_, n) => [`a${n}`, n]));
  await person.post('/app/v1/Product/push_objects', { objects: { wide } }, ofConsole);
  const [widened] = await facts('about=wide');
  expect([widened?.objects_changed, widened?.changes.length, widened?.are_changes_cut]).toEqual([
    ...[1, AUDIT_CHANGES_MAX, true],
  ]);
  const objects = Object.fromEntries(Array.from({ length: AUDIT_CHANGES_MAX + 1 }, (_, id) => [`i${id}`, { n: id }]));
  await person.post('/app/v1/Product/push_objects', { objects }, ofConsole);
  const [many] = await facts('action=objects.change&limit=1');
  expect([many?.objects_changed, many?.changes.length, many?.are_changes_cut]).toEqual([
    AUDIT_CHANGES_MAX + 1,
    AUDIT_CHANGES_MAX,
    true,
  ]);
});

it('[AUDIT-23] the audit trail hides secrets also inside values', async () => {
  const mail = {
    hosts: [{ name: 'a', Password: 'never to be seen' }],
    auth: { token: { value: 'nor this' } },
    port: 25,
  };
  await person.post('/app/v1/Product/push_objects', { objects: { nested: { mail } } }, ofConsole);
  const [fact] = await facts('about=nested');
  const hidden = { hosts: [{ name: 'a', Password: '(hidden)' }], auth: { token: '(hidden)' }, port: 25 };
  expect(fact?.changes.map(({ attribute, new: now }) => [attribute, JSON.parse(now ?? '')])).toEqual([
    ['mail', hidden],
  ]);
});

it('[AUDIT-24] an entry names the user, device, source, group or token that it is about, never a password', async () => {
  await backend.post('/rc/v1/users', { attributes: { login: 'bob', password: 'never to be seen' } });
  await backend.put('/rc/v1/users/bob/groups', { groups: ['north', 'south'] });
  await backend.post('/rc/v1/sources', { name: 'Part' });
  await backend.post('/rc/v1/tokens', { name: 'nightly', scopes: ['push'] });
  await person.post('/sync/v1/login', { login: 'bob', password: 'never to be seen' });
  const seen = await facts('limit=5');
  expect(seen.map(({ action, subject }) => [action, subject])).toEqual([
    ['device.login', { user_id: 'bob', client_id: expect.any(String) }],
    ['token.create', { user_id: 'admin', name: 'nightly' }],
    ['source.declare', { source: 'Part' }],
    ['user.groups', { user_id: 'bob', group: 'north, south' }],
    ['user.create', { user_id: 'bob' }],
  ]);
  expect(JSON.stringify(seen)).not.toContain('never to be seen');
});
