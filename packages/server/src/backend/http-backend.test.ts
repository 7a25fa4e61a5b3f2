import { readFileSync } from 'node:fs';
import { AdapterRefusal, LoggedFailure, type QueryAnswer } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import {
  answerJson,
  type BackendAnswer,
  backendDescription,
  collectingLog,
  type FakeBackend,
  openFakeBackend,
  seededRandom,
  settableClock,
} from '@tidemark/testing';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NamedSchemas } from '../http/named-schemas.ts';
import { systemTimers, type Timers } from '../jobs/timers.ts';
import {
  BACKEND_CALLS_AT_ONCE_MAX,
  BACKEND_CALLS_WAITING_MAX,
  BACKEND_FAILURES_KEPT_MAX,
  BACKEND_WAIT_MS_MAX,
} from '../limits.ts';
import type { Resolve } from '../outbound/checked-lookup.ts';
import { FAILURES_MAX } from '../outbound/circuit-breaker.ts';
import { BACKEND_CALLS, type BackendCall } from './backend-contract.ts';
import { BackendHttp } from './backend-http.ts';
import { HttpBackend } from './http-backend.ts';
import { SMALL_ANSWER_BYTES_MAX } from './read-answer.ts';

const SECRET = `whsec_${Buffer.from('a secret of the backend').toString('base64')}`;
const UPLOAD = { source: 'Order', user: 'anna', opId: 'op-1', id: 'tmp-1' } as const;
/** A busy machine may take long. */
const POLL = { timeout: 30_000 };
const localhost: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];

let fake: FakeBackend;
let opened: HttpBackend[] = [];

beforeEach(async () => {
  fake = await openFakeBackend(() => SECRET);
});

afterEach(async () => {
  for (const backend of opened) backend.close();
  opened = [];
  await fake.close();
});

interface Changes {
  readonly address?: string | null;
  readonly resolve?: Resolve;
  readonly timers?: Timers;
  readonly denyPrivate?: boolean;
  readonly secret?: () => Promise<string>;
  readonly timeoutMs?: number;
}

function open(changes: Changes = {}) {
  const { resolve = localhost, timers = systemTimers, denyPrivate = false, secret = async () => SECRET } = changes;
  const address = changes.address === undefined ? fake.url : changes.address;
  const clock = settableClock(1_700_000_000_000);
  const log = collectingLog();
  const calls: string[] = [];
  const states: string[] = [];
  const backend = new HttpBackend({
    http: new BackendHttp({ resolve, timers, rules: { denyPrivate } }),
    address: async () => address,
    secret,
    clock,
    random: seededRandom(1),
    jitter: () => 0.5,
    log,
    timers,
    timeoutMs: changes.timeoutMs ?? 10_000,
    queryTimeoutMs: 60_000,
    onCall: (call, outcome) => calls.push(`${call}:${outcome}`),
    onBreaker: (state, kind) => states.push(`${kind} ${state}`),
  });
  opened.push(backend);
  return { backend, clock, log, calls, states };
}

/** Timers that fire when the test says so. */
function manualTimer(): Timers & { fire(): void } {
  const waiting = new Set<() => void>();
  return {
    after(delayMs, callback) {
      // Connecting has its own timer, which is not needed here.
      if (delayMs < 10_000) return () => undefined;
      waiting.add(callback);
      return () => waiting.delete(callback);
    },
    fire() {
      for (const callback of waiting) callback();
    },
  };
}

async function textOf(answer: QueryAnswer): Promise<string> {
  if ('isUnchanged' in answer) return 'unchanged';
  if (!('chunks' in answer)) throw new Error('not a text');
  let text = '';
  for await (const chunk of answer.chunks) text += chunk;
  return text;
}

async function failure(work: Promise<unknown>): Promise<{ code: string; detail: string; retryAfterS: number | null }> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Refusal)) throw error ?? new Error('it went well');
  return { code: error.code, detail: error.message, retryAfterS: error.retryAfterS };
}

describe('calls to the backend', () => {
  it('[BACK-1] each call is posted, and its answer read, as the contract defines', async () => {
    const { backend } = open();
    fake.on('authenticate', (_, response) => answerJson(response, { user_id: 'anna' }));
    fake.on('query', (_, response) => answerJson(response, { '1': { name: 'one' } }));
    fake.on('search', (_, response) => answerJson(response, { '2': { name: 'two' } }));
    fake.on('create', (_, response) => answerJson(response, { id: '17' }));
    fake.on('update', (_, response) => answerJson(response, {}));
    fake.on('delete', (_, response) => response.writeHead(204).end());

    expect(await backend.authenticate('Anna@example', 'pw')).toEqual({ kind: 'user', user: 'anna' });
    expect(await textOf(await backend.query({ source: 'Product', user: null }))).toBe('{"1":{"name":"one"}}');
    expect(await textOf(await backend.search({ source: 'Order', user: 'anna', params: { q: 'x' } }))).toBe(
      '{"2":{"name":"two"}}',
    );
    expect(await backend.create({ ...UPLOAD, attributes: { a: 1 } })).toBe('17');
    await backend.update({ ...UPLOAD, removed: [], id: '17', attributes: { a: 2 } });
    await backend.update({ ...UPLOAD, removed: ['b'], id: '17', attributes: {} });
    await backend.delete({ ...UPLOAD, id: '17' });

    expect(fake.requests.map(({ call, body }) => [call, body])).toEqual([
      ['authenticate', { login: 'Anna@example', password: 'pw' }],
      ['query', { source: 'Product', user_id: null, partition: 'app' }],
      ['search', { source: 'Order', user_id: 'anna', params: { q: 'x' } }],
      ['create', { source: 'Order', user_id: 'anna', op_id: 'op-1', id: 'tmp-1', attributes: { a: 1 } }],
      ['update', { source: 'Order', user_id: 'anna', op_id: 'op-1', id: '17', attributes: { a: 2 } }],
      ['update', { source: 'Order', user_id: 'anna', op_id: 'op-1', id: '17', attributes: {}, removed: ['b'] }],
      ['delete', { source: 'Order', user_id: 'anna', op_id: 'op-1', id: '17' }],
    ]);
    for (const { call, body } of fake.requests) {
      expect([call, Value.Check(BACKEND_CALLS[call as BackendCall].request, body)]).toEqual([call, true]);
    }
  });

  it('[BACK-2] docs/backend/openapi.json describes the contract', () => {
    const kept = readFileSync(new URL('../../../../docs/backend/openapi.json', import.meta.url), 'utf8');
    const described = backendDescription(BACKEND_CALLS, new NamedSchemas());
    expect(JSON.parse(kept)).toEqual(JSON.parse(JSON.stringify(described)));
  });

  it('[BACK-3] every call is signed anew, also a retry, and connections are reused', async () => {
    const { backend } = open();
    fake.on('*', (_, response) => answerJson(response, { id: '1' }));
    for (let count = 0; count < 3; count++) await backend.create({ ...UPLOAD, attributes: {} });
    expect(fake.requests.map(({ isSigned }) => isSigned)).toEqual([true, true, true]);
    expect(new Set(fake.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
    expect(fake.requests[0]?.headers['webhook-timestamp']).toBe('1700000000');
    expect(fake.connections).toBe(1);
    expect(fake.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('[BACK-3] a call on a kept connection that the backend has closed is sent on a new one', async () => {
    const { backend } = open();
    fake.on('update', (_, response) => {
      // The connection closes after an answer that does not announce it.
      answerJson(response, {});
      response.socket?.end();
    });
    for (let count = 0; count < 5; count++) await backend.update({ ...UPLOAD, removed: [], attributes: {} });
    expect(fake.callsOf('update').length).toBeGreaterThanOrEqual(5);
  });

  it('[BACK-4] 409 is a conflict, other 4xx are rejections with their detail, 401 and 429 are retried', async () => {
    const { backend, calls } = open();
    const refused = async (status: number, body: unknown) => {
      fake.on('update', (_, response) => answerJson(response, body, status));
      const error = await backend.update({ ...UPLOAD, removed: [], attributes: {} }).then(
        () => null,
        (reason: unknown) => reason,
      );
      if (error instanceof AdapterRefusal) return [error.kind, error.message];
      return error instanceof Refusal ? [error.code, error.message, error.retryAfterS] : error;
    };
    expect(await refused(409, { detail: 'sold out' })).toEqual(['conflict', 'sold out']);
    expect(await refused(422, { detail: 'x'.repeat(600) })).toEqual(['rejected', 'x'.repeat(500)]);
    expect(await refused(404, ['no'])).toEqual(['rejected', 'the backend answered 404']);
    expect(await refused(403, { detail: 7 })).toEqual(['rejected', 'the backend answered 403']);
    expect(await refused(401, {})).toEqual(['backend_error', 'the backend does not accept the signature', null]);
    expect(await refused(429, {})).toEqual(['backend_error', 'the backend answered 429', null]);
    expect(calls).toEqual([...Array.from({ length: 4 }, () => 'update:refused'), 'update:failed', 'update:failed']);
  });

  it('[BACK-5] a login that the backend refuses is refused, and the login is the user id if the backend names none', async () => {
    const { backend } = open();
    for (const status of [401, 403]) {
      fake.on('authenticate', (_, response) => answerJson(response, { detail: 'no' }, status));
      expect(await backend.authenticate('anna', 'wrong')).toEqual({ kind: 'refused' });
    }
    // A wrong secret must not look like a wrong password.
    for (const code of ['signature_invalid', 'signature_missing', 'timestamp_out_of_range']) {
      fake.on('authenticate', (_, response) => answerJson(response, { code }, 401));
      expect((await failure(backend.authenticate('anna', 'right'))).code).toBe('backend_error');
    }
    for (const body of [{}, { user_id: null }]) {
      fake.on('authenticate', (_, response) => answerJson(response, body));
      expect(await backend.authenticate('anna', 'right')).toEqual({ kind: 'user', user: 'anna' });
    }
    for (const body of [{ user_id: 7 }, { user_id: '' }, { user_id: '*' }, { user_id: { $ne: null } }]) {
      fake.on('authenticate', (_, response) => answerJson(response, body));
      expect((await failure(backend.authenticate('anna', 'right'))).code).toBe('backend_error');
    }
  });
});

describe('a backend that misbehaves', () => {
  const GARBAGE: readonly (readonly [string, number, string, string])[] = [
    ['500', 500, 'application/json', '{}'],
    ['503', 503, 'text/plain', 'down'],
    ['302', 302, 'application/json', '{"id":"1"}'],
    ['HTML', 200, 'text/html', '<html><body>Log in</body></html>'],
    ['a list', 200, 'application/json', '[]'],
    ['half a JSON', 200, 'application/json', '{"id":"1'],
    ['null', 200, 'application/json', 'null'],
    ['no id', 200, 'application/json', '{}'],
    ['an id that is none', 200, 'application/json', '{"id":7}'],
  ];

  it.each(GARBAGE)(
    '[BACK-6] %s as the answer to a create is an error, and not an id',
    async (_name, status, type, text) => {
      const { backend, calls } = open();
      fake.on('create', (_, response) =>
        response.writeHead(status, { 'content-type': type, location: `${fake.url}/elsewhere` }).end(text),
      );
      const { code } = await failure(backend.create({ ...UPLOAD, attributes: {} }));
      expect([code, calls]).toEqual(['backend_error', ['create:failed']]);
      expect(fake.requests.length).toBe(1);
    },
  );

  it('[BACK-7] an answer that never comes, never ends or comes byte by byte is given up', async () => {
    const silent = ['backend_timeout', 'the backend did not send a complete answer in 10000 ms'];
    for (const answer of ['never', 'headers', 'trickle'] as const) {
      const timers = manualTimer();
      const { backend } = open({ timers });
      fake.on('create', (_, response) => {
        if (answer !== 'never') response.writeHead(200, { 'content-type': 'application/json' });
        if (answer !== 'trickle') response.flushHeaders();
        else response.write('{');
        timers.fire();
      });
      const { code, detail } = await failure(backend.create({ ...UPLOAD, attributes: {} }));
      expect([code, detail]).toEqual(silent);
    }
  });

  it('[BACK-7] a query whose answer stops half-way is given up', async () => {
    const timers = manualTimer();
    const { backend, calls } = open({ timers });
    fake.on('query', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"1":', () => timers.fire());
    });
    const { code } = await failure(backend.query({ source: 'A', user: null }).then(textOf));
    expect([code, calls]).toEqual(['backend_timeout', ['query:failed']]);
  });

  it('[BACK-8] an answer above the size limit is cut off', async () => {
    const { backend } = open();
    let sent = 0;
    fake.on('create', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const chunk = Buffer.alloc(65_536, ' ');
      const more = () => {
        if (response.destroyed) return;
        sent += chunk.length;
        response.write(chunk, () => setImmediate(more));
      };
      more();
    });
    expect((await failure(backend.create({ ...UPLOAD, attributes: {} }))).detail).toContain('longer than');
    expect(sent).toBeLessThan(SMALL_ANSWER_BYTES_MAX * 20);
  });

  it('[BACK-9] a backend that dies before or during an answer is an error', async () => {
    const { backend } = open();
    fake.on('create', (_, response) => void response.destroy());
    expect((await failure(backend.create({ ...UPLOAD, attributes: {} }))).code).toBe('backend_error');
    fake.on('query', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"1":{', () => response.destroy());
    });
    expect((await failure(backend.query({ source: 'A', user: null }).then(textOf))).code).toBe('backend_error');
    await fake.close();
    const gone = await failure(backend.create({ ...UPLOAD, attributes: {} }));
    expect([gone.code, gone.retryAfterS]).toEqual(['backend_unavailable', 5]);
    expect(gone.detail).not.toContain('127.0.0.1');
  });

  it('[BACK-10] without an address no call is made', async () => {
    const { backend } = open({ address: null });
    expect((await failure(backend.query({ source: 'A', user: null }))).code).toBe('backend_unavailable');
    expect(await backend.health()).toMatchObject({ isSet: false, state: 'closed' });
  });
});

describe('the last failures', () => {
  const QUERY = { source: 'Product', user: null };

  it('[BACK-21] a failure is remembered with the status and the words of the backend, newest first', async () => {
    const { backend, clock } = open();
    fake.on('query', (_, response) =>
      response.writeHead(500, { 'content-type': 'text/html' }).end(`<h1>Oh\n\tno</h1>${'x'.repeat(50_000)}`),
    );
    await failure(backend.query(QUERY));
    clock.advance(1_000);
    fake.on('update', (_, response) => answerJson(response, { detail: 'the database is away' }, 503));
    await failure(backend.update({ ...UPLOAD, removed: [], attributes: {} }));
    const [update, query] = backend.lastFailures;
    expect(update).toEqual({
      at: new Date(clock.nowMs()).toISOString(),
      call: 'update',
      source: 'Order',
      user_id: 'anna',
      op_id: 'op-1',
      status: 503,
      code: 'backend_error',
      reason: 'the backend answered 503',
      detail: 'the database is away',
      duration_ms: 0,
      webhook_id: fake.requests[1]?.headers['webhook-id'],
    });
    expect(query).toMatchObject({ call: 'query', source: 'Product', user_id: null, op_id: null, status: 500 });
    expect(query?.detail).toBe(`<h1>Oh no</h1>${'x'.repeat(486)}`);
  });

  it('[BACK-21] a failure without an answer is remembered without a status', async () => {
    const { backend } = open();
    await fake.close();
    await failure(backend.query(QUERY));
    const facts = { status: null, code: 'backend_unavailable', reason: 'the backend cannot be reached (ECONNREFUSED)' };
    expect(backend.lastFailures).toEqual([expect.objectContaining({ ...facts, detail: null })]);
  });

  it('[BACK-21] refusals of the backend and calls of a check are not among the failures, and neither are secrets', async () => {
    const { backend } = open();
    const said = `no: ${SECRET} ${SECRET.replace('whsec_', '')} s3cret-word`;
    fake.on('update', (_, response) => answerJson(response, { detail: 'no' }, 422));
    const refused = backend.update({ ...UPLOAD, removed: [], attributes: {} });
    await expect(refused).rejects.toBeInstanceOf(AdapterRefusal);
    fake.on('query', (_, response) => response.writeHead(500).end(said));
    await failure(backend.probe().query(QUERY));
    expect(backend.lastFailures).toEqual([]);
    await failure(backend.query(QUERY));
    fake.on('authenticate', (_, response) => response.writeHead(500).end(said));
    await failure(backend.authenticate('anna', 's3cret-word'));
    fake.on('authenticate', (_, response) => answerJson(response, { detail: said }, 500));
    await failure(backend.authenticate('anna', 's3cret-word'));
    expect(backend.lastFailures.map(({ detail }) => detail)).toEqual([
      'no: *** *** ***',
      null,
      'no: *** *** s3cret-word',
    ]);
  });

  it('[BACK-21] no part of a secret is left where the words of the backend are cut', async () => {
    const { backend } = open();
    fake.on('query', (_, response) => answerJson(response, { detail: `${'x'.repeat(490)}${SECRET}` }, 500));
    await failure(backend.query(QUERY));
    expect(backend.lastFailures[0]?.detail).toBe(`${'x'.repeat(490)}***`);
  });

  it('[BACK-21] a server remembers the last 50 failures', async () => {
    const { backend, clock } = open();
    fake.on('query', (_, response) => response.writeHead(500).end());
    for (let count = 0; count <= BACKEND_FAILURES_KEPT_MAX; count++) {
      await failure(backend.query({ source: `S${count}`, user: null }));
      // Beyond the pause of the breaker.
      clock.advance(3_600_000);
    }
    const sources = backend.lastFailures.map(({ source }) => source);
    expect([sources.length, sources[0], sources.at(-1)]).toEqual([BACKEND_FAILURES_KEPT_MAX, 'S50', 'S1']);
  });
});

describe('what is logged of a failure', () => {
  it('[BACK-19] the log line of a failed call names call, address, duration, status, the reason of the backend and the ids', async () => {
    const address = fake.url.replace('http://', 'http://user:hidden@');
    const { backend, log } = open({ address });
    fake.on('*', (_, response) => answerJson(response, { detail: 'the database is away' }, 503));
    await failure(backend.update({ ...UPLOAD, removed: [], attributes: { secret: 'data' } }));
    expect(log.lines).toEqual([
      {
        level: 'warn',
        event: 'backend_failed',
        fields: {
          call: 'update',
          url: `${fake.url}/update`,
          duration_ms: 0,
          status: 503,
          code: 'backend_error',
          reason: 'the backend answered 503',
          detail: 'the database is away',
          webhook_id: fake.requests[0]?.headers['webhook-id'],
          source: 'Order',
          user: 'anna',
          op_id: 'op-1',
        },
      },
    ]);
    expect(JSON.stringify(log.lines)).not.toContain('hidden');
  });

  it('[BACK-19] a call without an answer is logged without a status, and a call held back by the breaker is not logged', async () => {
    const { backend, log } = open();
    await fake.close();
    for (let count = 0; count < FAILURES_MAX + 3; count++) await failure(backend.authenticate('anna', 'right'));
    const failed = log.lines.filter(({ event }) => event === 'backend_failed');
    expect(failed.map(({ fields: { status, code } }) => [status, code])).toEqual(
      Array.from({ length: FAILURES_MAX }, () => [null, 'backend_unavailable']),
    );
    expect(log.lines.filter(({ event }) => event !== 'backend_failed')).toEqual([
      { level: 'warn', event: 'backend_breaker', fields: { state: 'open', calls: 'authenticate' } },
    ]);
  });

  it('[BACK-19] a query that breaks off while it is read is logged once', async () => {
    const { backend, log } = open();
    fake.on('query', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"1":{', () => response.destroy());
    });
    const error = await backend
      .query({ source: 'A', user: null })
      .then(textOf)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LoggedFailure);
    expect(log.lines.map(({ event, fields: { call, status } }) => [event, call, status])).toEqual([
      ['backend_failed', 'query', 200],
    ]);
  });
});

describe('the address of the backend', () => {
  const METADATA = '169.254.169.254';

  it('[HARD-43] a host that resolves to a metadata address is not called, which is logged', async () => {
    for (const address of [METADATA, 'fe80::1', 'fd00:ec2::254', '0.0.0.0', '::ffff:169.254.169.254']) {
      const { backend, log } = open({
        address: 'http://backend.example:1/',
        resolve: async () => [{ address, family: address.includes(':') ? 6 : 4 }],
      });
      const { code, detail } = await failure(backend.create({ ...UPLOAD, attributes: {} }));
      expect([code, detail]).toEqual(['backend_error', 'the address of the backend is not allowed']);
      expect(log.lines.map(({ event, fields }) => [event, fields.host])).toEqual([
        ['backend_blocked', 'backend.example'],
      ]);
    }
  });

  it('[HARD-43] a host that resolves to a metadata address later, or among others, is not called', async () => {
    fake.on('*', (_, response) => {
      response.setHeader('connection', 'close');
      answerJson(response, {});
    });
    const port = new URL(fake.url).port;
    const answers = [['127.0.0.1'], [METADATA], ['127.0.0.1', METADATA], ['127.0.0.1']];
    const resolve: Resolve = async () => (answers.shift() ?? []).map((address) => ({ address, family: 4 }));
    const { backend } = open({ address: `http://flipping.example:${port}/`, resolve });
    const call = () => backend.update({ ...UPLOAD, removed: [], attributes: {} });
    await call();
    expect((await failure(call())).code).toBe('backend_error');
    expect((await failure(call())).code).toBe('backend_error');
    await call();
    expect(fake.requests.length).toBe(2);
  });

  it('[HARD-43] a metadata address given as an IP address is not called', async () => {
    const { backend, log } = open({ address: `http://${METADATA}:1/` });
    expect((await failure(backend.create({ ...UPLOAD, attributes: {} }))).code).toBe('backend_error');
    expect(log.lines[0]?.event).toBe('backend_blocked');
  });

  it('[BACK-11] private addresses are refused if the configuration says so', async () => {
    fake.on('*', (_, response) => answerJson(response, {}));
    await open().backend.update({ ...UPLOAD, removed: [], attributes: {} });
    const { backend } = open({ denyPrivate: true });
    expect((await failure(backend.update({ ...UPLOAD, removed: [], attributes: {} }))).code).toBe('backend_error');
    expect(fake.requests.length).toBe(1);
  });
});

/** Timers that only fire when the test says so, by their delay. */
function manualTimers(): Timers & { readonly waiting: ReadonlyMap<() => void, number>; fire(delayMs: number): void } {
  const waiting = new Map<() => void, number>();
  return {
    waiting,
    after(delayMs, callback) {
      const fire = () => callback();
      waiting.set(fire, delayMs);
      return () => waiting.delete(fire);
    },
    fire(delayMs) {
      for (const [fire, after] of waiting) {
        if (after !== delayMs) continue;
        waiting.delete(fire);
        fire();
      }
    },
  };
}

describe('calls of different kinds', () => {
  const SEARCH = { source: 'Order', user: 'anna', params: {} } as const;

  /** A backend that answers everything but searches. */
  function hangSearches(): void {
    fake.on('search', () => undefined);
    fake.on('authenticate', (_, response) => answerJson(response, {}));
    fake.on('query', (_, response) => answerJson(response, {}));
    fake.on('update', (_, response) => answerJson(response, {}));
  }

  async function othersGoThrough(backend: HttpBackend): Promise<void> {
    expect(await backend.authenticate('anna', 'right')).toEqual({ kind: 'user', user: 'anna' });
    expect(await textOf(await backend.query({ source: 'Order', user: null }))).toBe('{}');
    await backend.update({ ...UPLOAD, removed: [], attributes: {} });
  }

  it('[BACK-16] failing searches open the circuit breaker of searches only', async () => {
    const { backend, states } = open();
    hangSearches();
    fake.on('search', (_, response) => answerJson(response, {}, 500));
    for (let count = 0; count < FAILURES_MAX; count++) await failure(backend.search(SEARCH));
    expect((await failure(backend.search(SEARCH))).code).toBe('backend_unavailable');
    expect(fake.callsOf('search').length).toBe(FAILURES_MAX);
    await othersGoThrough(backend);
    expect(states).toEqual(['search open']);
    const { state, kinds } = await backend.health();
    expect([state, kinds.search.state, kinds.authenticate.state]).toEqual(['open', 'open', 'closed']);
  });

  it('[BACK-17] hanging searches use up the sockets of searches only', async () => {
    const { backend } = open();
    hangSearches();
    const hanging = Array.from({ length: BACKEND_CALLS_AT_ONCE_MAX * 4 }, () => failure(backend.search(SEARCH)));
    await othersGoThrough(backend);
    expect(fake.callsOf('search').length).toBeLessThanOrEqual(BACKEND_CALLS_AT_ONCE_MAX);
    await fake.close();
    await Promise.all(hanging);
  });

  it('[BACK-18] a call that waits too long for a socket is refused as overloaded, which does not count as a failure of the backend', async () => {
    const timers = manualTimers();
    const { backend, calls, log } = open({ timers, timeoutMs: 20_000 });
    const isFull = new Promise<void>((resolve) => {
      fake.on('search', () => fake.callsOf('search').length === BACKEND_CALLS_AT_ONCE_MAX && resolve());
    });
    const hanging = Array.from({ length: BACKEND_CALLS_AT_ONCE_MAX }, () => failure(backend.search(SEARCH)));
    await isFull;
    const waiting = Array.from({ length: FAILURES_MAX * 2 }, () => failure(backend.search(SEARCH)));
    // Each waiting call has its own timer; the deadline of a call begins when it is sent.
    await expect.poll(() => delaysOf(timers, BACKEND_WAIT_MS_MAX), POLL).toBe(waiting.length);
    expect(delaysOf(timers, 20_000)).toBe(hanging.length);
    timers.fire(BACKEND_WAIT_MS_MAX);
    for (const refused of await Promise.all(waiting))
      expect(refused).toMatchObject({ code: 'overloaded', retryAfterS: 2 });
    expect((await backend.health()).kinds.search).toMatchObject({ state: 'closed', failures: 0 });
    expect([new Set(calls), log.lines]).toEqual([new Set(['search:held_back']), []]);
    await fake.close();
    await Promise.all(hanging);
  });

  it('[BACK-18] a call is refused as overloaded at once when too many calls wait already', async () => {
    const { backend } = open();
    hangSearches();
    const count = BACKEND_CALLS_AT_ONCE_MAX + BACKEND_CALLS_WAITING_MAX;
    const all = Array.from({ length: count }, () => failure(backend.search(SEARCH)));
    expect((await failure(backend.search(SEARCH))).code).toBe('overloaded');
    await fake.close();
    await Promise.all(all);
  });

  const ENDS: readonly (readonly [string, BackendAnswer])[] = [
    ['an answer', (_, response) => answerJson(response, {})],
    ['a refusal', (_, response) => answerJson(response, { detail: 'x'.repeat(10_000) }, 404)],
    ['a redirect', (_, response) => response.writeHead(302, { 'content-type': 'text/plain' }).end('elsewhere')],
    ['HTML', (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    ['a broken connection', (_, response) => void response.destroy()],
  ];

  it.each(ENDS)('[BACK-17] a call that ended with %s has released its socket', async (_name, end) => {
    const { backend, clock } = open();
    fake.on('search', end);
    const search = () => backend.search(SEARCH).then(textOf);
    const ended = Array.from({ length: BACKEND_CALLS_AT_ONCE_MAX }, () => search().catch(() => 'failed'));
    await Promise.all(ended);
    clock.advance(60_000);
    fake.on('search', (_, response) => answerJson(response, {}));
    await search();
    const arrived = fake.callsOf('search').length;
    const areAllThere = new Promise<void>((resolve) => {
      const isFull = () => fake.callsOf('search').length === arrived + BACKEND_CALLS_AT_ONCE_MAX;
      fake.on('search', () => isFull() && resolve());
    });
    const hanging = Array.from({ length: BACKEND_CALLS_AT_ONCE_MAX }, () => failure(search()));
    await areAllThere;
    await fake.close();
    await Promise.all(hanging);
  });

  it('[BACK-17] an answer that nobody reads releases its socket at its deadline', async () => {
    const timers = manualTimers();
    const { backend } = open({ timers });
    fake.on('query', (_, response) => answerJson(response, {}));
    const query = () => backend.query({ source: 'Order', user: null });
    for (let count = 0; count < BACKEND_CALLS_AT_ONCE_MAX; count++) await query();
    const next = query();
    await expect.poll(() => delaysOf(timers, BACKEND_WAIT_MS_MAX), POLL).toBe(1);
    timers.fire(60_000);
    expect(await textOf(await next)).toBe('{}');
  });

  function delaysOf({ waiting }: { readonly waiting: ReadonlyMap<unknown, number> }, delayMs: number): number {
    return [...waiting.values()].filter((after) => after === delayMs).length;
  }
});

describe('the circuit breaker', () => {
  it('[BACK-12] after consecutive failures the backend is paused, then one call probes for all', async () => {
    const { backend, clock, calls, states } = open();
    const call = () => backend.update({ ...UPLOAD, removed: [], attributes: {} });
    fake.on('update', (_, response) => answerJson(response, {}, 500));
    for (let count = 0; count < FAILURES_MAX; count++) await failure(call());
    expect(await backend.health()).toMatchObject({ isSet: true, state: 'open', failures: FAILURES_MAX });
    const held = await failure(call());
    expect([held.code, held.retryAfterS]).toEqual(['backend_unavailable', 1]);
    expect(fake.requests.length).toBe(FAILURES_MAX);

    clock.advance(1_000);
    // One call probes and fails; concurrent and later calls are held back.
    const [tried, other] = await Promise.all([failure(call()), failure(call())]);
    expect([tried.code, other.code]).toEqual(['backend_error', 'backend_unavailable']);
    expect(fake.requests.length).toBe(FAILURES_MAX + 1);

    clock.advance(60_000);
    fake.on('update', (_, response) => answerJson(response, {}));
    await call();
    expect((await backend.health()).state).toBe('closed');
    expect(states).toEqual(['upload open', 'upload closed']);
    expect(calls.filter((one) => one === 'update:held_back').length).toBe(2);
  });

  it('[BACK-12] a call that fails in our store does not count as the probe, and another call probes', async () => {
    const away = new Refusal('store_unavailable', 'away');
    let isAway = false;
    const secret = async () => {
      if (isAway) throw away;
      return SECRET;
    };
    const { backend, clock, states } = open({ secret });
    const call = () => backend.update({ ...UPLOAD, removed: [], attributes: {} });
    fake.on('update', (_, response) => answerJson(response, {}, 500));
    for (let count = 0; count < FAILURES_MAX; count++) await failure(call());
    clock.advance(1_000);
    isAway = true;
    expect((await failure(call())).code).toBe('store_unavailable');
    isAway = false;
    fake.on('update', (_, response) => answerJson(response, {}));
    await call();
    expect(states).toEqual(['upload open', 'upload closed']);
  });

  it('[BACK-12] a refusal of the backend counts as a success for the breaker', async () => {
    const { backend } = open();
    fake.on('update', (_, response) => answerJson(response, {}, 422));
    for (let count = 0; count < FAILURES_MAX * 2; count++) {
      await expect(backend.update({ ...UPLOAD, removed: [], attributes: {} })).rejects.toBeInstanceOf(AdapterRefusal);
    }
    expect((await backend.health()).state).toBe('closed');
  });
});
