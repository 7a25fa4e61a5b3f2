import { TidemarkClient } from '@tidemark/backend';
import { PARTITIONS_PER_PUSH_MAX, type PartitionsReport } from '@tidemark/protocol';
import { Caller } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let server: TestServer;
let admin: Caller;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/users', { attributes: { login: 'anna', password: 'of anna' } });
  await admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'group' });
  await admin.post('/rc/v1/sources', { name: 'Note' });
});

afterAll(async () => {
  admin.close();
  await server.close();
});

const push = (partitions: unknown, more: object = {}, source = 'Order') =>
  admin.post(`/app/v1/${source}/push_partitions`, { partitions, ...more });
const objectsOf = async (group: string) => (await admin.get(`/rc/v1/groups/${group}/sources/Order/docs/md`)).body;

describe('a push to several users or groups', () => {
  it('[PG-347] each user or group is written in a commit of its own, with an answer for each; a repetition changes nothing', async () => {
    const partitions = [
      { group: 'north', objects: { 1: { a: 1 }, 2: { a: 2 } } },
      { group: 'south', objects: { 3: { a: 3 } } },
    ];
    const written = { source: 'Order', changed: 3, unchanged: 0 };
    expect((await push(partitions)).body).toEqual({
      ...written,
      partitions: [
        { changed: 2, unchanged: 0, seq: 2 },
        { changed: 1, unchanged: 0, seq: 1 },
      ],
    });
    expect((await push(partitions)).body).toMatchObject({ changed: 0, unchanged: 3 });
    await push([{ group: 'north', objects: { 1: { b: 1 } }, deletes: ['2'] }], { whole: true });
    expect([await objectsOf('north'), await objectsOf('south')]).toEqual([{ 1: { b: 1 } }, { 3: { a: 3 } }]);
  });

  it('[PG-347] one that is wrong is refused alone, and the others are written', async () => {
    const { body } = await push(
      [
        { user_id: 'anna', objects: { 1: { a: 1 } } },
        { user_id: 'nobody', objects: { 1: { a: 1 } } },
        { user_id: '', objects: {} },
        { objects: {} },
      ],
      {},
      'Note',
    );
    const outcomes = (body as PartitionsReport).partitions.map(({ changed, seq, code }) => [changed, seq, code]);
    expect(outcomes).toEqual([
      [1, 1, undefined],
      [0, null, 'user_not_found'],
      [0, null, 'invalid_name'],
      [0, null, 'invalid_request'],
    ]);
  });

  it('[PG-347] the push is refused as a whole when a group stands twice, there are too many, or there is no such source', async () => {
    const twice = await push([
      { group: 'east', objects: { 1: { a: 1 } } },
      { group: 'east', objects: {} },
    ]);
    const many = Array.from({ length: PARTITIONS_PER_PUSH_MAX + 1 }, (_, n) => ({ group: `g${n}`, objects: {} }));
    const replies = [twice, await push(many), await push([{ group: 'a', objects: {} }], {}, 'None'), await push({})];
    expect(replies.map(({ code }) => code)).toEqual([
      'invalid_value',
      'limit_exceeded',
      'source_not_found',
      'invalid_request',
    ]);
    expect(await objectsOf('east')).toEqual({});
  });

  it('[PG-347] the push is refused when an id stands twice, of which the parser would keep one unnoticed', async () => {
    const path = '/app/v1/Order/push_partitions';
    const text = (objects: string) =>
      `{"partitions":[{"group":"east","objects":{"0":{}}},{"group":"west",${objects}}]}`;
    const codeOf = async (objects: string) => (await admin.postText(path, text(objects))).code;
    expect(await codeOf('"objects":{"1":{"a":1},"1":{"b":1}}')).toBe('duplicate_id');
    expect(await codeOf('"objects":{"1":{"a":1}},"objects":{}')).toBe('duplicate_id');
    expect((await admin.postText(path, text('"objects":{"1":{"a":1,"b":{"c":[{"d":1}]}}}'))).status).toBe(200);
  });

  it('[PG-347] the SDK for backends makes such a push of objects in any form', async () => {
    const client = new TidemarkClient({ url: server.url, token: server.token });
    const { changed, partitions } = await client.push.partitions(
      'Order',
      [
        { group: 'a "b"', objects: new Map([['1', { text: 'x' }]]), deletes: ['2'] },
        { group: 'c', objects: { 1: { text: 'y' } } },
      ],
      { whole: true },
    );
    expect([changed, partitions.map(({ seq }) => seq)]).toEqual([2, [1, 1]]);
    const refused = client.push.partitions('Order', [{ group: 'd', objects: { 1: { n: Number.NaN } } }]);
    await expect(refused).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});
