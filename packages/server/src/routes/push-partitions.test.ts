import { TidemarkClient } from '@tidemark/backend';
import { PARTITIONS_PER_PUSH_MAX, type PartitionsReport } from '@tidemark/protocol';
import { Caller, newTidemark, openMemoryStore, seededRandom } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Call } from '../http/route.ts';
import { pushPartitions } from './push-partitions.ts';

let server: TestServer;
let admin: Caller;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/users', { attributes: { login: 'anna', password: 'of anna' } });
  await admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'group' });
  await admin.post('/rc/v1/sources', { name: 'Note' });
  await admin.post('/rc/v1/sources', { name: 'Price', partition_type: 'app' });
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
    const none = ['a', 'b'].map((group) => ({ group, objects: {} }));
    const replies = [twice, await push(many), await push(none, {}, 'None'), await push({})];
    expect(replies.map(({ code }) => code)).toEqual([
      'invalid_value',
      'limit_exceeded',
      'source_not_found',
      'invalid_request',
    ]);
    expect(await objectsOf('east')).toEqual({});
  });

  it('[PG-347] the push is refused as a whole when a group stands twice for different users, or the shared part does', async () => {
    const [one, other] = [{ objects: { 1: { a: 1 } } }, { objects: { 1: { a: 2 } } }];
    const group = { group: 'west' };
    const ofGroup = await push([
      { ...group, ...one, user_id: 'anna' },
      { ...group, ...other },
    ]);
    const shared = await push([{ ...one, user_id: 'anna' }, other], {}, 'Price');
    const users = await push(
      [
        { ...one, user_id: 'anna' },
        { ...other, user_id: 'anna' },
      ],
      {},
      'Note',
    );
    expect([ofGroup.code, shared.code, users.code]).toEqual(['invalid_value', 'invalid_value', 'invalid_value']);
    expect(await objectsOf('west')).toEqual({});
    expect((await push([one], {}, 'Price')).body).toMatchObject({ changed: 1 });
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

/** A Tidemark with a source of groups, whose commits of one group wait until the test lets them, and of one fail. */
async function slowTidemark() {
  const store = openMemoryStore({ random: seededRandom(1) });
  const commit = store.commit.bind(store);
  const gate = { reached: () => {}, open: () => {} };
  const isReached = new Promise<void>((resolve) => {
    gate.reached = resolve;
  });
  const isOpen = new Promise<void>((resolve) => {
    gate.open = resolve;
  });
  store.commit = async (request) => {
    const { owner } = request.partition;
    if (owner.kind === 'group' && owner.name === 'broken') throw new Error('the disk is full');
    if (owner.kind === 'group' && owner.name === 'slow') {
      gate.reached();
      await isOpen;
    }
    return commit(request);
  };
  const { tidemark } = await newTidemark({ store });
  await tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
  return { tidemark, isReached, open: () => gate.open() };
}

describe('the writes of a push to several users or groups', () => {
  const given = (tidemark: object, partitions: readonly object[], hasHungUp = () => false) =>
    ({ context: { tidemark }, params: { source_name: 'Visit' }, body: { partitions }, hasHungUp }) as unknown as Call<
      never,
      never,
      never
    >;

  it('[PG-349] a push that fails is answered when all its writes have ended, so that none overwrites what is pushed next', async () => {
    const { tidemark, isReached, open } = await slowTidemark();
    const events: string[] = [];
    const partitions = ['slow', 'broken'].map((group) => ({ group, objects: { 1: { a: 1 } } }));
    const answered = pushPartitions.handle(given(tidemark, partitions)).catch((error: Error) => {
      events.push(error.message);
    });
    await isReached;
    // Everything that does not wait for the slow group has been done.
    await new Promise((resolve) => setImmediate(resolve));
    events.push('the slow group is written');
    open();
    await answered;
    expect(events).toEqual(['the slow group is written', 'the disk is full']);
  });

  it('[PG-349] a push whose caller has hung up begins no more writes, because the caller repeats it', async () => {
    const { tidemark, open } = await slowTidemark();
    open();
    const groups = Array.from({ length: 250 }, (_, n) => `g${n}`);
    const partitions = groups.map((group) => ({ group, objects: { 1: { a: 1 } } }));
    let asked = 0;
    const hasHungUp = () => {
      asked++;
      return asked > 2;
    };
    await expect(pushPartitions.handle(given(tidemark, partitions, hasHungUp))).rejects.toThrow('hung up');
    const written = await Promise.all(
      groups.map(async (group) => (await tidemark.objects.read({ source: 'Visit', group })).size),
    );
    expect(written.reduce((sum, size) => sum + size, 0)).toBe(200);
  });
});
