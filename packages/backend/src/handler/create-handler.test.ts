import { createHmac, randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Attributes, ObjectEntry } from '../push/objects.ts';
import { createHandler, type HandlerOptions } from './create-handler.ts';
import { inProcessOperations, inProcessReplays, type StoredAnswer } from './memory.ts';
import { SignatureError } from './signature-alarm.ts';
import { sourceHandlers } from './source-handlers.ts';
import { Conflict, Rejected } from './verdicts.ts';

const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes, ok').toString('base64')}`;
const NOW_MS = 1_900_000_000_000;

let nowMs: number;
/** What the handlers were asked to do. */
let asked: unknown[];
let reported: unknown[];

beforeEach(() => {
  [nowMs, asked, reported] = [NOW_MS, [], []];
});

interface Signing {
  readonly id?: string;
  readonly timestampS?: number;
  readonly secret?: string;
}

function signatureOf(text: string, { id = '', timestampS = 0, secret = SECRET }: Signing): string {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.${text}`).digest('base64')}`;
}

/** A call as Tidemark makes it. */
function call(name: string, body: unknown, signing: Signing = {}, headers: Record<string, string> = {}): Request {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const { id = randomUUID(), timestampS = nowMs / 1_000 } = signing;
  return new Request(`http://backend.example/tidemark/${name}`, {
    method: 'POST',
    body: text,
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestampS),
      'webhook-signature': signatureOf(text, { ...signing, id, timestampS }),
      ...headers,
    },
  });
}

function handler(options: Partial<HandlerOptions> = {}) {
  return createHandler({
    secret: SECRET,
    sources: {
      Product: {
        query: (given) => {
          asked.push(given);
          return { 1: { name: 'Compass' } };
        },
        create: (given) => {
          asked.push(given);
          return { id: asked.length };
        },
        update: (given) => void asked.push(given),
        delete: (given) => void asked.push(given),
        search: ({ params }) => [[7, { params }]],
      },
    },
    nowMs: () => nowMs,
    onError: (error, where) => reported.push([error, where]),
    ...options,
  });
}

async function shown(answer: Response | Promise<Response>): Promise<{ status: number; body: unknown }> {
  const given = await answer;
  return { status: given.status, body: await given.json() };
}

const query = { source: 'Product', user_id: 'ada', partition: 'ada' };
const create = { source: 'Product', user_id: 'ada', op_id: 'op-1', id: 'tmp-1', attributes: { name: 'Chart' } };

describe('calls', () => {
  it('[BSDK-10] a signed call reaches the handler of its source, in the words of the wire', async () => {
    const answer = handler();
    expect(await shown(answer(call('query', query)))).toEqual({ status: 200, body: { 1: { name: 'Compass' } } });
    expect(await shown(answer(call('create', create)))).toEqual({ status: 200, body: { id: '2' } });
    const { attributes: _, ...rest } = create;
    expect(await shown(answer(call('update', create)))).toEqual({ status: 200, body: {} });
    expect(await shown(answer(call('delete', rest)))).toEqual({ status: 200, body: {} });
    const search = { source: 'Product', user_id: 'ada', params: ['x'] };
    expect(await shown(answer(call('search', search)))).toEqual({ status: 200, body: { 7: { params: ['x'] } } });
    expect(asked).toEqual([query, create, { ...create, removed: [] }, rest]);
  });

  it('[BSDK-10] authenticate answers who it is, or refuses', async () => {
    const answer = handler({
      authenticate: ({ login, password }) => (password === 'right' ? { user_id: login.toLowerCase() } : null),
    });
    expect(await shown(answer(call('authenticate', { login: 'Ada', password: 'right' })))).toEqual({
      status: 200,
      body: { user_id: 'ada' },
    });
    expect(await shown(answer(call('authenticate', { login: 'Ada', password: 'wrong' })))).toMatchObject({
      status: 401,
      body: { code: 'invalid_credentials' },
    });
  });

  it.each([
    ['no JSON', 'query', '{"source":', 400, 'invalid_request'],
    ['a list', 'query', [], 400, 'invalid_request'],
    ['no source', 'query', { user_id: 'ada' }, 400, 'invalid_request'],
    ['a user that is no text', 'query', { ...query, user_id: 7 }, 400, 'invalid_request'],
    ['no op_id', 'create', { ...create, op_id: undefined }, 400, 'invalid_request'],
    ['no attributes', 'create', { ...create, attributes: [] }, 400, 'invalid_request'],
    ['a source that is not known', 'query', { ...query, source: 'Boat' }, 501, 'source_not_handled'],
    ['a source called as a method of objects', 'create', { ...create, source: 'toString' }, 501, 'source_not_handled'],
    ['nobody to authenticate', 'authenticate', { login: 'a', password: 'b' }, 501, 'source_not_handled'],
    ['no such call', 'drop', query, 404, 'call_not_found'],
  ])('[BSDK-16] %s', async (_, name, body, status, code) => {
    const answer = await shown(handler()(call(name, body)));
    expect(answer).toMatchObject({ status, body: { status, code, detail: expect.any(String) } });
    expect(asked).toEqual([]);
  });

  it('[BSDK-16] only POST, and no body larger than allowed, announced or not', async () => {
    const get = await handler()(new Request('http://backend.example/query'));
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    const bytes = JSON.stringify(query).length;
    expect((await handler({ bodyBytesMax: bytes })(call('query', query))).status).toBe(200);
    expect((await handler({ bodyBytesMax: bytes - 1 })(call('query', query))).status).toBe(413);
    const announced = call('query', query, {}, { 'content-length': '999999999' });
    expect((await handler()(announced)).status).toBe(413);
  });
});

describe('signatures', () => {
  it('[BSDK-10] signatures are those of Standard Webhooks', async () => {
    const text = JSON.stringify(query);
    const id = 'msg_1';
    const made = new Webhook(SECRET).sign(id, new Date(nowMs), text);
    const request = call('query', text, { id }, { 'webhook-signature': made });
    expect((await handler()(request)).status).toBe(200);
  });

  it.each([
    ['another secret', () => call('query', query, { secret: 'whsec_AAAA' }), 'signature_invalid'],
    [
      'another body',
      () => call('query', query, {}, { 'webhook-signature': signatureOf('{}', {}) }),
      'signature_invalid',
    ],
    ['another id', () => call('query', query, {}, { 'webhook-id': 'other' }), 'signature_invalid'],
    [
      'another time',
      () => call('query', query, {}, { 'webhook-timestamp': String(NOW_MS / 1_000 + 1) }),
      'signature_invalid',
    ],
    ['no base64', () => call('query', query, {}, { 'webhook-signature': 'v1,***' }), 'signature_invalid'],
    ['nothing signed', () => call('query', query, {}, { 'webhook-signature': 'v1,' }), 'signature_invalid'],
    ['another version', () => call('query', query, {}, { 'webhook-signature': 'v2,AAAA' }), 'signature_invalid'],
    ['no signature', () => call('query', query, {}, { 'webhook-signature': '' }), 'signature_missing'],
    ['no id', () => call('query', query, {}, { 'webhook-id': '' }), 'signature_missing'],
    ['no time', () => call('query', query, {}, { 'webhook-timestamp': 'soon' }), 'signature_missing'],
    ['too old', () => call('query', query, { timestampS: NOW_MS / 1_000 - 301 }), 'timestamp_out_of_range'],
    ['in the future', () => call('query', query, { timestampS: NOW_MS / 1_000 + 301 }), 'timestamp_out_of_range'],
  ] as const)('[BSDK-10] %s: the handler is not asked', async (_, request, code) => {
    expect(await shown(handler()(request()))).toMatchObject({ status: 401, body: { code } });
    expect(asked).toEqual([]);
  });

  it('[BSDK-10] the tolerance itself is allowed', async () => {
    for (const timestampS of [NOW_MS / 1_000 - 300, NOW_MS / 1_000 + 300]) {
      expect((await handler()(call('query', query, { timestampS }))).status).toBe(200);
    }
  });

  it('[BSDK-10] of several secrets and several signatures one pair suffices', async () => {
    const rotating = handler({ secret: ['new secret', SECRET] });
    expect((await rotating(call('query', query))).status).toBe(200);
    expect((await rotating(call('query', query, { secret: 'new secret' }))).status).toBe(200);
    expect((await rotating(call('query', query, { secret: 'third' }))).status).toBe(401);
    const id = 'two';
    const [text, timestampS] = [JSON.stringify(query), nowMs / 1_000];
    const both = `v1a,x ${signatureOf(text, { id, timestampS, secret: 'old' })} ${signatureOf(text, { id, timestampS })}`;
    expect((await handler()(call('query', text, { id }, { 'webhook-signature': both }))).status).toBe(200);
  });

  it.each([
    [undefined, 'it is not set'],
    ['', 'it is not set'],
    [[], 'the list is empty'],
    [['x', undefined], 'number 2 of the list is not set'],
    [['', 'x'], 'number 1 of the list is not set'],
    ['whsec_', 'it begins with whsec_ but is not base64 after that'],
    ['whsec_***', 'it begins with whsec_ but is not base64 after that'],
    [7 as never, 'it is a number'],
  ])('[BSDK-20] the secret %j is refused when the handler is made, in words that say what to do', (secret, problem) => {
    const make = () => createHandler({ secret, sources: {} });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(`createHandler needs a secret, and ${problem}; give it the value of TIDEMARK_BACKEND_SECRET`);
  });

  it('[BSDK-21] a call signed with another secret is reported on the backend, at most once a minute', async () => {
    const answer = handler();
    const wrong = () => answer(call('query', query, { secret: 'another' }));
    await wrong();
    expect(reported).toEqual([[expect.any(SignatureError), { name: 'query', source: null }]]);
    expect(String((reported[0] as [Error])[0].message)).toContain('compare `secret` of createHandler');
    for (let count = 0; count < 3; count++) await wrong();
    expect(reported.length).toBe(1);
    await answer(call('query', query, {}, { 'webhook-signature': '' }));
    expect(reported.map((one) => (one as [SignatureError])[0].code)).toEqual([
      'signature_invalid',
      'signature_missing',
    ]);
    nowMs += 60_000;
    await wrong();
    expect(String((reported[2] as [Error])[0].message)).toContain('and 3 more of the same');
    expect(JSON.stringify(reported.map((one) => (one as [Error])[0].message))).not.toContain('another');
  });
});

describe('repetitions', () => {
  const signing = { id: 'attempt-1' };

  it('[BSDK-11] the very same question again is not answered again', async () => {
    const answer = handler();
    expect((await answer(call('query', query, signing))).status).toBe(200);
    const again = await answer(call('query', query, signing));
    expect([again.status, again.headers.get('retry-after')]).toEqual([503, '1']);
    expect(asked.length).toBe(1);
    expect((await answer(call('query', query, { ...signing, timestampS: NOW_MS / 1_000 + 1 }))).status).toBe(200);
  });

  it('[BSDK-11] the very same upload again is answered as the first time, and done once', async () => {
    const answer = handler();
    const first = await shown(answer(call('create', create, signing)));
    expect(await shown(answer(call('create', create, signing)))).toEqual(first);
    expect(asked.length).toBe(1);
  });

  it('[BSDK-11] an upload seen before whose answer nobody remembers is not done again', async () => {
    const answer = handler({ operations: { recall: () => undefined, keep: () => undefined } });
    await answer(call('create', create, signing));
    expect(await shown(answer(call('create', create, signing)))).toMatchObject({
      status: 503,
      body: { code: 'replayed' },
    });
    expect(asked.length).toBe(1);
  });

  it('[BSDK-11] a message is remembered until its time stamp is too old to be taken', async () => {
    const answer = handler();
    const timestampS = NOW_MS / 1_000 + 300;
    await answer(call('query', query, { id: 'x', timestampS }));
    nowMs += 600_000;
    expect((await answer(call('query', query, { id: 'x', timestampS }))).status).toBe(503);
    nowMs += 1_000;
    expect((await answer(call('query', query, { id: 'x', timestampS }))).status).toBe(401);
  });

  it('[BSDK-11] a bounded number of messages is remembered, and no old ones', () => {
    const memory = inProcessReplays(3);
    for (const key of ['a', 'b', 'c']) expect(memory.firstSeen(key, 10, 0)).toBe(true);
    expect(memory.firstSeen('a', 10, 10)).toBe(false);
    expect(memory.firstSeen('d', 10, 10)).toBe(true);
    expect([memory.firstSeen('b', 10, 10), memory.firstSeen('a', 10, 10)]).toEqual([false, true]);
    expect(memory.firstSeen('d', 20, 11)).toBe(true);
  });

  it('[BSDK-12] another attempt at the same upload is answered as the first', async () => {
    const answer = handler();
    const first = await shown(answer(call('create', create)));
    expect(await shown(answer(call('create', create)))).toEqual(first);
    expect(asked.length).toBe(1);
  });

  it('[BSDK-12] uploads of other users and objects are others, whatever they call themselves', async () => {
    const answer = handler();
    const others = [{}, { user_id: 'bob' }, { id: 'tmp-2' }, { op_id: 'op-2' }];
    for (const other of others) await answer(call('create', { ...create, ...other }));
    await answer(call('update', create));
    expect(asked.length).toBe(others.length + 1);
  });

  it('[BSDK-12] an attempt that comes while the first is being worked on waits for its answer', async () => {
    let finish: (made: { id: string }) => void = () => undefined;
    let calls = 0;
    const slow = {
      create: () => {
        calls++;
        return new Promise<{ id: string }>((resolve) => {
          finish = resolve;
        });
      },
    };
    const answer = handler({ sources: { Product: slow } });
    const both = [answer(call('create', create)), answer(call('create', create))];
    while (calls === 0) await new Promise((resolve) => setImmediate(resolve));
    finish({ id: '77' });
    expect(await Promise.all(both.map(shown))).toEqual(Array(2).fill({ status: 200, body: { id: '77' } }));
    expect(calls).toBe(1);
  });

  it('[BSDK-12] a verdict is remembered, a failure is not', async () => {
    const outcomes: (() => { id: string })[] = [
      () => {
        throw new Error('the database is gone');
      },
      () => {
        throw new Rejected('closed');
      },
      () => ({ id: '1' }),
    ];
    const source = { create: () => (outcomes.shift() ?? (() => ({ id: 'never' })))() };
    const answer = handler({ sources: { Product: source } });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await answer(call('create', create))).status);
    expect(statuses).toEqual([500, 422, 422]);
  });

  it('[BSDK-12] an own memory is asked first and told afterwards; when it fails, the truth is told', async () => {
    const kept = new Map<string, StoredAnswer>();
    const operations = {
      recall: async (key: string) => kept.get(key),
      keep: async (key: string, it: StoredAnswer) => void kept.set(key, it),
    };
    await handler({ operations })(call('create', create));
    expect(await shown(handler({ operations })(call('create', create)))).toEqual({ status: 200, body: { id: '1' } });
    expect(asked.length).toBe(1);
    const full = { ...operations, keep: () => Promise.reject(new Error('full')) };
    expect((await handler({ operations: full })(call('create', { ...create, op_id: 'op-2' }))).status).toBe(200);
    expect(reported).toEqual([[new Error('full'), { name: 'create', source: 'Product' }]]);
  });

  it('[BSDK-12] a bounded number of answers is remembered', async () => {
    const memory = inProcessOperations(2);
    const answer = { status: 200, body: '{}' };
    for (const key of ['a', 'b', 'c']) await memory.keep(key, answer);
    expect([await memory.recall('a'), await memory.recall('b'), await memory.recall('c')]).toEqual([
      undefined,
      answer,
      answer,
    ]);
  });
});

describe('verdicts', () => {
  function failing(error: unknown) {
    const fail = () => {
      throw error;
    };
    return handler({ sources: { Product: { query: fail, search: fail, create: fail, update: fail, delete: fail } } });
  }

  it.each(['create', 'update', 'delete'])(
    '[BSDK-13] %s: a conflict is 409, a rejection 422, each with its reason',
    async (name) => {
      expect(await shown(failing(new Conflict('it was closed'))(call(name, create)))).toMatchObject({
        status: 409,
        body: { code: 'conflict', detail: 'it was closed' },
      });
      expect(await shown(failing(new Rejected('no such part'))(call(name, create)))).toMatchObject({
        status: 422,
        body: { code: 'rejected', detail: 'no such part' },
      });
      expect(reported).toEqual([]);
    },
  );

  it.each(['query', 'search', 'create', 'update', 'delete'])(
    '[BSDK-13] %s: anything else is 500 without a word of it, and is told to who listens',
    async (name) => {
      const error = new Error('SELECT password FROM people');
      const answer = await shown(failing(error)(call(name, { ...query, ...create })));
      expect(answer).toMatchObject({ status: 500, body: { code: 'internal' } });
      expect(JSON.stringify(answer)).not.toContain('SELECT');
      expect(reported).toEqual([[error, { name, source: 'Product' }]]);
    },
  );

  it('[BSDK-13] who listens and fails changes nothing', async () => {
    const sources = { Product: { query: () => Promise.reject(new Error('first')) } };
    const onError = () => {
      throw new Error('second');
    };
    expect((await handler({ sources, onError })(call('query', query))).status).toBe(500);
  });

  it('[BSDK-13] a reason is cut where it gets too long, and never torn inside a character', async () => {
    const { body } = await shown(failing(new Rejected(`${'x'.repeat(999)}😀`))(call('create', create)));
    expect((body as { detail: string }).detail).toBe(`${'x'.repeat(999)}\ufffd`);
  });

  it('[BSDK-13] a source that does not take changes from devices rejects them', async () => {
    const answer = handler({ sources: { Product: { query: () => ({}) } } });
    for (const name of ['create', 'update', 'delete']) {
      expect(await shown(answer(call(name, create)))).toMatchObject({ status: 422, body: { code: 'rejected' } });
    }
    expect((await answer(call('search', query))).status).toBe(501);
  });

  it.each([undefined, {}, { id: '' }, { id: 1.5 }, 'seven'])('[BSDK-13] create must say the id: %j', async (made) => {
    const sources = { Product: { create: () => made as { id: string } } };
    expect(await shown(handler({ sources })(call('create', create)))).toMatchObject({
      status: 502,
      body: { code: 'wrong_answer', detail: 'create must return { id }, a text that is not empty or a whole number' },
    });
    expect(reported.length).toBe(1);
  });

  it('[BSDK-50] a wrong answer of authenticate is 502 with the reason', async () => {
    const answer = handler({ authenticate: () => undefined as never });
    expect(await shown(answer(call('authenticate', { login: 'a', password: 'b' })))).toMatchObject({
      status: 502,
      body: { code: 'wrong_answer', detail: 'authenticate must return { user_id }, or null to refuse the login' },
    });
  });
});

describe('objects', () => {
  function objects(given: unknown) {
    return handler({ sources: { Product: { query: () => given as Record<string, Attributes> } } })(
      call('query', query),
    );
  }

  it('[BSDK-14] may come in any form', async () => {
    async function* later() {
      yield [1, { a: 1 }];
      yield ['__proto__', { b: null }];
    }
    const expected = [
      ['1', { a: 1 }],
      ['__proto__', { b: null }],
    ];
    for (const given of [
      later(),
      new Map(expected as [string, Attributes][]),
      expected,
      JSON.parse('{"1":{"a":1},"__proto__":{"b":null}}'),
    ]) {
      expect(Object.entries((await shown(objects(given))).body as object)).toEqual(expected);
    }
    expect(await shown(objects({}))).toEqual({ status: 200, body: {} });
  });

  it('[BSDK-14] a query that forgets to answer has failed; it has not found nothing', async () => {
    for (const given of [undefined, null, 7]) expect((await objects(given)).status).toBe(502);
  });

  it('[BSDK-14] null stays null, and a number that is not finite does not become it', async () => {
    expect(await shown(objects({ 1: { a: null, b: 'null' } }))).toEqual({
      status: 200,
      body: { 1: { a: null, b: 'null' } },
    });
    expect((await objects({ 1: { a: Number.NaN } })).status).toBe(502);
  });

  const many = (last: unknown) => [...Array.from({ length: 5_000 }, (_, n) => [n, { text: 'x'.repeat(50) }]), last];

  it.each([
    ['a query without a result', undefined, 'query and search must return objects'],
    ['a list of objects', [{ id: 1 }], 'a list of objects must have entries of the form [id, attributes]'],
    ['an object without attributes', { 7: 'Compass' }, 'the object "7" must have an object of attributes'],
    ['an id that is none', [[1.5, {}]], 'an object id must be a text that is not empty, or a whole number'],
    ['a number that is not finite', { 7: { a: Number.NaN } }, 'the object "7" has a number that is not finite'],
    ['a value that is not JSON', { 7: { a: 7n } }, 'the object "7" has a value that is not JSON'],
    ['a list with a wrong end', many(['z', 'Compass']), 'the object "z" must have an object of attributes'],
    [
      'a map with a wrong end',
      new Map(many(['z', 'Compass']) as [unknown, unknown][]),
      'the object "z" must have an object of attributes',
    ],
  ])('[BSDK-50] %s is answered with 502 and the reason, and reported', async (_, given, detail) => {
    expect(await shown(objects(given))).toEqual({
      status: 502,
      body: {
        type: 'urn:tidemark:backend-problem:wrong_answer',
        title: 'The code of the backend has returned a wrong answer',
        status: 502,
        detail,
        code: 'wrong_answer',
      },
    });
    expect(reported).toEqual([[expect.objectContaining({ message: detail }), { name: 'query', source: 'Product' }]]);
  });

  it('[BSDK-50] an error before the first piece of an answer is 500 without a word of it', async () => {
    async function* broken(): AsyncGenerator<ObjectEntry, void> {
      yield [1, { a: 1 }];
      throw new Error('SELECT password FROM people');
    }
    expect(await shown(objects(broken()))).toMatchObject({ status: 500, body: { detail: 'the backend failed' } });
  });

  it('[BSDK-14] the objects of a query are asked for as the answer is read', async () => {
    let read = 0;
    let isClosed = false;
    async function* endless(): AsyncGenerator<ObjectEntry, void> {
      try {
        for (; ; read++) yield [read, { text: 'x'.repeat(1_000) }];
      } finally {
        isClosed = true;
      }
    }
    const reader = (await objects(endless())).body?.getReader();
    for (let n = 0; n < 20; n++) await reader?.read();
    expect(read).toBeLessThan(25 * 66);
    await reader?.cancel();
    expect(isClosed).toBe(true);
  });

  it.each([
    ['that fail half-way', new Error('the connection to the database broke')],
    ['that are none', undefined],
  ])('[BSDK-14] %s break off', async (_, error) => {
    async function* broken(): AsyncGenerator<unknown, void> {
      yield ['1', { a: 'x'.repeat(100_000) }];
      if (error !== undefined) throw error;
      yield ['2', 'no attributes'];
    }
    const answer = await objects(broken());
    await expect(answer.text()).rejects.toThrow('the objects could not be read to the end');
    expect(reported.length).toBe(1);
  });
});

it('[BSDK-10] sources may have attributes with a type of their own', async () => {
  interface WorkOrder {
    readonly title: string;
    readonly hours: number;
  }
  const seen: (number | undefined)[] = [];
  const orders = sourceHandlers<WorkOrder>({
    query: () => ({ 1: { title: 'Pump', hours: 2 } }),
    update: ({ attributes }) => void seen.push(attributes.hours),
  });
  const answer = handler({ sources: { Product: orders } });
  await answer(call('update', { ...create, attributes: { hours: 3 } }));
  expect(seen).toEqual([3]);
});
