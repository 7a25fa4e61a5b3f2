import { Caller, type Library, openLibrary } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let server: TestServer;
let admin: Caller;
let library: Library;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  library = await openLibrary(server.folder);
  await admin.post('/rc/v1/users', { attributes: { login: 'anna', password: 'of anna', kept: 1 } });
  await admin.post('/rc/v1/sources', { name: 'Order' });
  await admin.post('/rc/v1/sources', { name: 'Product', partition_type: 'app' });
});

afterAll(async () => {
  admin.close();
  await library.close();
  await server.close();
});

async function push(body: unknown, operation = 'push_objects', source = 'Order') {
  const { status, code, body: answer } = await admin.post(`/app/v1/${source}/${operation}`, body);
  return code ?? (status === 200 ? (answer as { readonly changed: number }).changed : status);
}

/** Sends JSON that `JSON.stringify` would not produce. */
async function pushText(text: string) {
  const { status, code } = await admin.postText('/app/v1/Order/push_objects', text);
  return code ?? status;
}

describe('documents', () => {
  it('[HARD-15] document names that look like keys of the store are ordinary names', async () => {
    for (const name of ['user:admin:password', 'api_token:x', 'user%00admin', '..%2F..%2Ftidemark.json']) {
      const reply = await admin.get(`/rc/v1/store/${name}`);
      expect([name, reply.code]).toEqual([name, name.includes('%00') ? 'invalid_name' : 'doc_not_found']);
    }
    await admin.post('/rc/v1/store/user:admin', { data: 'x' });
    expect((await admin.get('/rc/v1/users/admin')).status).toBe(200);
  });

  it('[HARD-16] a star alone is refused as a document name where it has no meaning', async () => {
    const replies = [
      await admin.get('/rc/v1/store/*'),
      await admin.post('/rc/v1/store/*', { data: 'x' }),
      await admin.get('/rc/v1/users/*'),
      await admin.delete('/rc/v1/users/*'),
      await admin.get('/rc/v1/users/*/clients'),
      await admin.delete('/rc/v1/sources/*'),
      await admin.get('/rc/v1/clients/*'),
      await admin.get('/rc/v1/users/anna/sources/*/docnames'),
      await admin.get('/rc/v1/users/anna/sources/Order/docs/*'),
      await admin.post('/rc/v1/read_state/users/*/sources/Order', {}),
    ];
    expect(replies.map(({ status, code }) => code ?? status)).toEqual(replies.map(() => 'invalid_name'));
    expect((await admin.get('/rc/v1/users')).body).toEqual(['admin', 'anna']);
  });

  it('[HARD-16] stars, question marks and brackets inside a name have no special meaning', async () => {
    for (const name of ['a*b', '?', '[a]', 'a%3Fb']) {
      await admin.post(`/rc/v1/store/${encodeURIComponent(decodeURIComponent(name))}`, { data: name });
    }
    expect((await admin.get('/rc/v1/store/a*b')).body).toBe('a*b');
    for (const name of ['axb', 'aab', 'a', 'x'])
      expect((await admin.get(`/rc/v1/store/${name}`)).code).toBe('doc_not_found');
  });

  it.each([[7], [[]], [null], [true], [{ 1: 'x' }], [{ 1: [] }], [{ 1: null }]])(
    '[HARD-17] the content %j is refused',
    async (data) => {
      const reply = await admin.post('/rc/v1/store/content', { data });
      expect(reply).toMatchObject({ status: 400, code: 'invalid_request' });
      const isHash = typeof data === 'object' && data !== null && !Array.isArray(data);
      expect((reply.body as { errors: unknown }).errors).toMatchObject([{ pointer: isHash ? '/data/1' : '/data' }]);
    },
  );

  it('[HARD-18] appending to a document of another type changes nothing', async () => {
    await admin.post('/rc/v1/store/text', { data: 'text' });
    expect((await admin.post('/rc/v1/store/text', { data: { 1: { a: 1 } }, append: true })).code).toBe('type_conflict');
    expect((await admin.get('/rc/v1/store/text')).body).toBe('text');
    await admin.post('/rc/v1/store/hash', { data: { 1: { a: 1 } } });
    expect((await admin.post('/rc/v1/store/hash', { data: 'text', append: true })).code).toBe('type_conflict');
    expect((await admin.get('/rc/v1/store/hash')).body).toEqual({ 1: { a: 1 } });
  });
});

describe('users', () => {
  it.each([
    [undefined, 'invalid_request'],
    [7, 'invalid_request'],
    ['', 'invalid_name'],
    ['x'.repeat(1_000), 'invalid_name'],
    ['*', 'invalid_name'],
    ['__shared__', 'invalid_name'],
    ['a\u0000b', 'invalid_name'],
    ['a\u0085b', 'invalid_name'],
    ['\ud800', 'invalid_name'],
  ])('[HARD-19] the login %j is refused', async (login, code) => {
    expect((await admin.post('/rc/v1/users', { attributes: { login, password: 'x' } })).code).toBe(code);
  });

  it.each(['admin', 'roles', 'hashed_password', 'token', 'Admin', 'is_admin', 'salt', 'Password'])(
    '[HARD-20] [HARD-21] the attribute %s cannot be set by callers',
    async (name) => {
      const attributes = { login: 'mallory', password: 'x', harmless: 1, [name]: true };
      expect((await admin.post('/rc/v1/users', { attributes })).code).toBe('reserved_attribute');
      expect((await admin.get('/rc/v1/users/mallory')).code).toBe('user_not_found');
      expect((await admin.put('/rc/v1/users/anna', { attributes: { kept: 2, [name]: true } })).code).toBe(
        'reserved_attribute',
      );
      expect(((await admin.get('/rc/v1/users/anna')).body as { attributes: unknown }).attributes).toEqual({ kept: 1 });
    },
  );

  it('[HARD-22] the login __proto__ is refused', async () => {
    expect((await admin.post('/rc/v1/users', { attributes: { login: '__proto__', password: 'x' } })).code).toBe(
      'invalid_name',
    );
    expect((await admin.get('/rc/v1/users/__proto__')).code).toBe('invalid_name');
    const text = '{"attributes":{"login":"eve","password":"x","__proto__":{"admin":true}}}';
    expect((await admin.postText('/rc/v1/users', text)).code).toBe('forbidden_key');
  });

  it('[HARD-24] the last administrator cannot be deleted', async () => {
    expect(await admin.delete('/rc/v1/users/admin')).toMatchObject({ status: 409, code: 'last_admin' });
    expect((await admin.get('/rc/v1/users/admin')).status).toBe(200);
  });

  it('[HARD-25] an unknown device gets 404, and only administrators see push addresses', async () => {
    expect(await admin.get('/rc/v1/clients/unknown')).toMatchObject({ status: 404, code: 'client_not_found' });
    await library.tidemark.clients.register('anna', { client_id: 'phone', device_pin: 'pin of the phone' });
    const { token } = (await admin.post('/rc/v1/tokens', { name: 'r', scopes: ['read'] })).body as { token: string };
    const reply = await admin.get('/rc/v1/clients/phone', { 'x-sync-api-token': token });
    expect(reply.body).toMatchObject({ client_id: 'phone', device_pin: '***' });
    expect(reply.text).not.toContain('pin of the phone');
  });
});

describe('sources', () => {
  it.each([
    ['10', 'invalid_request'],
    [1.5, 'invalid_value'],
    [-1, 'invalid_value'],
    [1e12, 'invalid_value'],
    [null, null],
    [0, null],
  ])(
    '[HARD-26] [HARD-27] the refresh time %j is handled alike by every method and spelling',
    async (refresh_time, code) => {
      for (const word of ['read_state', 'readstate']) {
        const path = `/rc/v1/${word}/users/anna/sources/Order`;
        expect((await admin.post(path, { refresh_time })).code).toBe(code);
        expect((await admin.put(path, { refresh_time })).code).toBe(code);
      }
    },
  );

  it.each(['foo', 'APP', '__proto__', 'constructor', 'app%20', '*'])(
    '[HARD-28] the partition type %s is refused',
    async (type) => {
      expect(await admin.get(`/rc/v1/sources/type/${type}`)).toMatchObject({ status: 422, code: 'invalid_value' });
    },
  );

  it.each([[-2], ['x'], [2 ** 53], [1.5], [null], [1e300]])(
    '[HARD-29] the poll interval %j is refused',
    async (value) => {
      expect((await admin.put('/rc/v1/sources/Order', { data: { poll_interval: value } })).code).toBe('invalid_value');
      expect((await admin.get('/rc/v1/sources/Order')).body).toMatchObject({ poll_interval: -1 });
    },
  );
});

describe('pushes', () => {
  it('[HARD-30] pushes to a source that does not exist or has an invalid name are refused', async () => {
    const objects = { user_id: 'anna', objects: {} };
    expect(await push(objects, 'push_objects', 'None')).toBe('source_not_found');
    // The dots are sent unencoded: nothing on the way may treat them as a folder.
    expect(await push(objects, 'push_objects', '..')).toBe('invalid_name');
    expect(await push(objects, 'push_objects', '*')).toBe('invalid_name');
    expect(await push(objects, 'push_objects', 'x'.repeat(300))).toBe('invalid_name');
  });

  it('[HARD-31] pushes for a user who does not exist or has an invalid login are refused', async () => {
    expect(await push({ user_id: 'nobody', objects: {} })).toBe('user_not_found');
    expect(await push({ objects: {} })).toBe('invalid_request');
    expect(await push({ user_id: ['anna'], objects: {} })).toBe('invalid_request');
    expect(await push({ user_id: '*', objects: {} })).toBe('invalid_name');
    expect(await push({ user_id: '*', objects: {} }, 'push_objects', 'Product')).toBe('invalid_name');
  });

  it('[HARD-32] a push whose objects are not objects is refused', async () => {
    for (const objects of [null, [], ['1'], 'x', 7])
      expect(await push({ user_id: 'anna', objects })).toBe('invalid_request');
    for (const objects of [null, {}, { 1: {} }, 'x', [7], [null]]) {
      expect(await push({ user_id: 'anna', objects }, 'push_deletes')).toBe('invalid_request');
    }
  });

  it('[HARD-33] a pushed object without attributes adds nothing', async () => {
    expect(await push({ user_id: 'anna', objects: { empty: {} } })).toBe(0);
    expect((await admin.get('/rc/v1/users/anna/sources/Order/docs/md')).body).not.toHaveProperty('empty');
  });

  it.each([
    '{"user_id":"anna","objects":{"__proto__":{"a":1}}}',
    '{"user_id":"anna","objects":{"1":{"__proto__":1}}}',
    '{"user_id":"anna","objects":{"1":{"a":{"b":[{"__proto__":{}}]}}}}',
    '{"user_id":"anna","objects":{"1":{"a":{"\\u005f_proto__":1}}}}',
  ])('[HARD-34] a push with %s is refused', async (text) => {
    expect(await pushText(text)).toBe('forbidden_key');
    expect(Object.prototype).not.toHaveProperty('a');
  });

  it('[HARD-35] a push of the largest allowed number of objects is accepted, and one more is refused', async () => {
    const objects = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [index, {}]));
    expect(await push({ user_id: 'anna', objects })).toBe(0);
    expect(await push({ user_id: 'anna', objects: { ...objects, more: {} } })).toBe('limit_exceeded');
  });

  it('[HARD-36] pushes with reordered attributes or a wrong previous state leave consistent data', async () => {
    await push({ user_id: 'anna', objects: { f: { a: 1, b: { x: 1, y: 2 }, c: 3 } } }, 'fast_insert');
    expect(await push({ user_id: 'anna', data: { f: { c: 3, b: { y: 2, x: 1 } } } }, 'fast_delete')).toBe(1);
    expect(
      await push(
        { user_id: 'anna', delete_data: { f: { a: 'never' }, g: { z: 1 } }, data: { g: { z: 2 } } },
        'fast_update',
      ),
    ).toBe(1);
    expect(await push({ user_id: 'anna', data: { f: { a: 'never' }, absent: { a: 1 } } }, 'fast_delete')).toBe(0);
    const md = (await admin.get('/rc/v1/users/anna/sources/Order/docs/md')).body;
    expect(md).toEqual({ f: { a: 1 }, g: { z: 2 } });
    expect((await library.tidemark.objects.partition({ source: 'Order', user_id: 'anna' })).size).toBe(2);
    expect(await library.verify()).toEqual([]);
  });

  it.each([
    ['a number beyond 2^53', '{"user_id":"anna","objects":{"1":{"a":9007199254740993}}}', 'unsafe_number'],
    ['a number without end', '{"user_id":"anna","objects":{"1":{"a":1e400}}}', 'unsafe_number'],
    ['half a character', '{"user_id":"anna","objects":{"1":{"a":"\\ud800"}}}', 'invalid_value'],
    ['half a character in an id', '{"user_id":"anna","objects":{"\\udfff":{"a":1}}}', 'invalid_name'],
    ['the same field twice', '{"user_id":"bob","objects":{},"user_id":"anna"}', 'invalid_json'],
    [
      'the same field twice, spelt differently',
      '{"user_id":"bob","objects":{},"user\\u005fid":"anna"}',
      'invalid_json',
    ],
  ])('[HARD-34] pushes with %s are refused', async (_what, text, code) => {
    expect(await pushText(text)).toBe(code);
  });
});

describe('statistics', () => {
  it('[HARD-37] a pattern with exponential cost is refused', async () => {
    const names = (pattern: string) => admin.get(`/rc/v1/system/stats?names=${encodeURIComponent(pattern)}`);
    expect(await names('*a*a*a*a*a*a*a*a*a*b')).toMatchObject({ status: 422, code: 'invalid_value' });
    expect((await names('*a'.repeat(8))).status).toBe(200);
    expect((await names('x'.repeat(513))).code).toBe('invalid_value');
  });

  it('[HARD-38] invalid time bounds are refused, and reversed bounds match nothing', async () => {
    await push({ objects: { 1: { a: 1 } } }, 'push_objects', 'Product');
    const read = (bounds: string) => admin.get(`/rc/v1/system/stats?metric=sources:push_objects:Product&${bounds}`);
    expect((await read('start=abc')).code).toBe('invalid_request');
    expect((await read('finish=1e9')).code).toBe('invalid_request');
    expect((await read('finish=999999999999999999')).code).toBe('invalid_request');
    expect((await read('finish=1000000000')).body).toHaveLength(1);
    expect((await read('start=5&finish=2')).body).toEqual([]);
  });

  it('[HARD-39] a statistics query without a metric is refused', async () => {
    for (const query of ['', '?', '?start=0&finish=1']) {
      expect(await admin.get(`/rc/v1/system/stats${query}`)).toMatchObject({ status: 400, code: 'invalid_request' });
    }
  });

  it('[HARD-40] a metric name cannot address other entries of the store', async () => {
    for (const metric of ['../user:x', '__proto__', 'user', 'x'.repeat(2_000), '%00', '*']) {
      const reply = await admin.get(`/rc/v1/system/stats?metric=${metric}`);
      expect([reply.status, reply.code]).toEqual([404, 'metric_not_found']);
    }
  });

  it('[HARD-40] requests of strangers create no metrics', async () => {
    const keys = async () => (await admin.get('/rc/v1/system/stats?names=*')).body as readonly string[];
    await admin.get('/rc/v1/users/a');
    const before = await keys();
    for (let index = 0; index < 50; index++) {
      await admin.get(`/rc/v1/users/stranger-${index}`);
      await admin.get(`/nowhere/${index}`);
      await push({ objects: {} }, 'push_objects', `None-${index}`);
      await admin.send({ method: 'PATCH', path: '/rc/v1/users', headers: {}, body: null });
    }
    expect((await keys()).filter((key) => !before.includes(key))).toEqual([]);
  });
});
