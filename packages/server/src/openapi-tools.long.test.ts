import { type ApiDocument, backendDescription, callsThatDoNotCompile, lintDocument } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BACKEND_CALLS } from './backend/backend-contract.ts';
import { NamedSchemas } from './http/named-schemas.ts';

let server: TestServer;
let document: ApiDocument;

beforeAll(async () => {
  server = await startTestServer();
  document = (await (await fetch(`${server.url}/openapi.json`)).json()) as ApiDocument;
});

afterAll(() => server.close());

it.each(['openapi.json', 'backend/openapi.json'])(
  '[REST-39] the description %s passes the strict rules of the linter',
  async (name) => {
    const described =
      name === 'openapi.json' ? document : (backendDescription(BACKEND_CALLS, new NamedSchemas()) as ApiDocument);
    // The specification names /sources/type/{partition_type}, and a concrete part of a path takes precedence over a parameter.
    const known = '`/rc/v1/sources/type/{partition_type}` and `/rc/v1/sources/{source_id}/receipts`';
    expect((await lintDocument(described)).filter((finding) => !finding.includes(known))).toEqual([]);
  },
);

/** Calls that a generated client must accept, and calls with one mistake each that it must refuse. */
const GOOD_CALLS = [
  `call('pushObjects', { path: { source_name: 'Product' }, body: { user_id: 'anna', objects: { '1': { name: 'Pump', tags: [1] } } } });`,
  `call('pushDeletes', { path: { source_name: 'Product' }, body: { objects: ['1', '2'] } });`,
  `call('pushFastUpdate', { path: { source_name: 'Product' }, body: { delete_data: {}, data: { '1': { price: 2 } } } });`,
  `call('documentsWriteOfServer', { path: { doc: 'notes' }, body: { data: 'a text', append: true } });`,
  `call('documentsWriteOfServer', { path: { doc: 'notes' }, body: { data: { '1': { a: null } } } });`,
  `call('sourcesDeclare', { body: { name: 'Product', partition_type: 'app', queue: null } });`,
  `call('sourcesListByType', { path: { partition_type: 'user' } });`,
  `call('usersCreate', { body: { attributes: { login: 'anna', password: 'secret', email: 'anna@example.org' } } });`,
  `call('usersPing', { body: { user_id: ['anna'], sources: 'Product', badge: 3 } });`,
  `call('usersList', { query: { limit: 10, after: 'anna' } });`,
  `call('tokensCreate', { body: { name: 'backend', scopes: ['push'], expires_at: null } });`,
  `call('devicePull', { body: { client_id: 'c', sources: { Product: { token: null }, Order: {} } } });`,
  `call('devicePull', { body: { client_id: 'c', sources: { Visit: { groups: { north: { token: null } } } } } });`,
  `call('groupsSet', { path: { user_id: 'anna' }, body: { groups: ['north'] } });`,
];
const BAD_CALLS = [
  `call('pushObjects', { path: { source_name: 'Product' }, body: { objects: 'x' } });`,
  `call('pushObjects', { path: { source_name: 'Product' }, body: { objects: ['1'] } });`,
  `call('pushObjects', { path: { source_name: 'Product' }, body: { objects: { '1': 'Pump' } } });`,
  `call('pushObjects', { path: { source_name: 'Product' }, body: { user_id: 'anna' } });`,
  `call('pushObjects', { path: { source_name: 'Product' }, body: { objects: {}, colour: 'red' } });`,
  `call('pushObjects', { path: {}, body: { objects: {} } });`,
  `call('pushDeletes', { path: { source_name: 'Product' }, body: { objects: { '1': {} } } });`,
  `call('pushFastUpdate', { path: { source_name: 'Product' }, body: { data: {} } });`,
  `call('documentsWriteOfServer', { path: { doc: 'notes' }, body: { data: 7 } });`,
  `call('sourcesDeclare', { body: { name: 'Product', partition_type: 'team' } });`,
  `call('sourcesDeclare', { body: { partition_type: 'app' } });`,
  `call('sourcesUpdate', { path: { source_id: 'Product' }, body: { data: { partition_type: 'app' } } });`,
  `call('sourcesListByType', { path: { partition_type: 'team' } });`,
  `call('usersCreate', { body: { attributes: { login: 'anna' } } });`,
  `call('usersPing', { body: { user_id: 7 } });`,
  `call('usersList', { query: { limit: 'ten' } });`,
  `call('tokensCreate', { body: { name: 'backend', scopes: ['everything'] } });`,
  `call('devicePull', { body: { client_id: 'c', sources: ['Product'] } });`,
  `call('devicePush', { body: { client_id: 'c', changes: [{ op_id: '1', source: 'Product', op: 'upsert', id: '1' }] } });`,
  `call('pushNothing', { path: { source_name: 'Product' }, body: {} });`,
];

it('[REST-40] types generated from the description accept correct calls and refuse each mistake', async () => {
  expect(await callsThatDoNotCompile(document, [...GOOD_CALLS, ...BAD_CALLS])).toEqual(BAD_CALLS);
});
