import type { ServerResponse } from 'node:http';
import type { Outcome, Page } from '@tidemark/protocol';
import {
  answerJson,
  type BackendAnswer,
  type BackendRequest,
  Caller,
  type FakeBackend,
  openDevice,
  openFakeBackend,
} from '@tidemark/testing';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { describe, it } from 'vitest';

const SECRET = 'shared with the backend';
/** Short where a test waits for a time-out, though a login that the backend answers must not take as long on a busy machine. */
const GIVE_UP_MS = 5_000;
const PATIENT_MS = 20_000;
const BEFORE = { kept: { n: 1 }, other: { n: 1 } };

/** A correct backend: it remembers op ids and applies nothing twice. */
class Office {
  readonly effects: string[] = [];
  readonly #done = new Map<string, string>();

  perform({ call, body }: BackendRequest): { id: string } {
    const opId = String(body.op_id);
    const known = this.#done.get(opId);
    if (known !== undefined) return { id: known };
    const id = call === 'create' ? `office-${this.#done.size}` : String(body.id);
    this.#done.set(opId, id);
    this.effects.push(`${call} ${body.id}`);
    return { id };
  }
}

interface Fixture {
  readonly fake: FakeBackend;
  readonly server: TestServer;
  readonly admin: Caller;
  pull(): Promise<{ page: Page; outcomes: readonly Outcome[] }>;
  push(op: string, id: string, n?: number): Promise<Outcome>;
  /** Resolves when the device receives the event that an outcome waits for it. */
  hearsOfOutcome(): Promise<void>;
}

/** How long offline logins stay valid at the one server that allows them. */
const OFFLINE_LOGIN_S = 60;

async function openServer(
  timeoutMs: number,
  offlineLoginS = 0,
): Promise<{ readonly fake: FakeBackend; readonly server: TestServer }> {
  const fake = await openFakeBackend(() => SECRET);
  const { backend, limits, overload } = testConfig('/');
  const server = await startTestServer({
    backend: { ...backend, offlineLoginS, secret: SECRET, timeoutMs, queryTimeoutMs: timeoutMs },
    limits: { ...limits, answerUnitsMax: 2_000_000 },
    // Several servers share this process, so its event loop delay says nothing about any of them.
    overload: { ...overload, eventLoopDelayMsMax: 600_000 },
    shutdownGraceMs: 0,
  });
  return { fake, server };
}

async function setUp(
  onFinished: (end: () => Promise<void>) => void,
  timeoutMs = PATIENT_MS,
  offlineLoginS = 0,
): Promise<Fixture> {
  const { fake, server } = await openServer(timeoutMs, offlineLoginS);
  onFinished(async () => {
    await fake.close();
    await server.close();
  });
  const admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/system/appserver', { adapter_url: fake.url });
  await admin.post('/rc/v1/sources', { name: 'Stock', partition_type: 'app', adapter: 'backend', poll_interval: 0 });
  await admin.post('/app/v1/Stock/push_objects', { objects: BEFORE });
  fake.on('authenticate', (_, response) => answerJson(response, {}));
  const device = await openDevice(server, 'anna');
  const events = await device.listen();
  let ops = 0;
  return {
    fake,
    server,
    admin,
    async pull() {
      const { body } = await device.api.post('/sync/v1/pull', { client_id: device.id, sources: { Stock: {} } });
      const { sources, outcomes } = body as { sources: { Stock: Page }; outcomes: readonly Outcome[] };
      return { page: sources.Stock, outcomes };
    },
    async push(op, id, n) {
      const change = {
        op_id: `op-${++ops}`,
        source: 'Stock',
        op,
        id,
        ...(n === undefined ? {} : { attributes: { n } }),
      };
      const { body } = await device.api.post('/sync/v1/push', { client_id: device.id, changes: [change] });
      return (body as { outcomes: [Outcome] }).outcomes[0];
    },
    async hearsOfOutcome() {
      for (;;) {
        const event = await events.next();
        if (event === null) throw new Error('the stream of events has ended');
        if (event.name === 'outcomes') return;
      }
    },
  };
}

async function breakerOf({ admin }: Fixture): Promise<string> {
  const { body } = await admin.get('/readyz');
  return (body as { backend: { state: string } }).backend.state;
}

const text =
  (status: number, body: string, type = 'application/json', headers: Record<string, string> = {}): BackendAnswer =>
  (_, response) =>
    response.writeHead(status, { 'content-type': type, ...headers }).end(body);

function endless(response: ServerResponse, head: string, chunk: Buffer): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write(head);
  const more = () => {
    if (!response.destroyed) response.write(chunk, () => setImmediate(more));
  };
  more();
}

function trickle(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 50);
  response.on('close', () => clearInterval(timer));
}

/** The fault of the backend, and what a device is told about a query. */
const FAULTS: readonly (readonly [string, BackendAnswer, string])[] = [
  ['answers 500', text(500, '{}'), 'backend_error'],
  ['answers 503 and asks for time', text(503, '', 'text/plain', { 'retry-after': '1' }), 'backend_error'],
  ['answers 401', text(401, '{}'), 'backend_error'],
  ['answers 302', text(302, '', 'text/plain', { location: '/elsewhere' }), 'backend_error'],
  ['answers HTML', text(200, '<html><body>Please log in</body></html>', 'text/html'), 'backend_error'],
  ['answers a list', text(200, '[]'), 'backend_error'],
  ['answers half a JSON', text(200, '{"kept":{"n":'), 'backend_error'],
  [
    'answers what is not UTF-8',
    (_, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from([0x7b, 0xff, 0x7d])),
    'backend_error',
  ],
  ['answers one byte now and then', (_, response) => trickle(response), 'backend_timeout'],
  ['answers 10 GB', (_, response) => endless(response, '{"a":{"t":"', Buffer.alloc(65_536, 'x')), 'backend_error'],
  ['never answers', () => undefined, 'backend_timeout'],
  ['dies in the middle of the call', (_, response) => void response.destroy(), 'backend_error'],
  [
    'dies in the middle of its answer',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '900' });
      response.write('{"kept":{"n":', () => response.destroy());
    },
    'backend_error',
  ],
];

describe('a backend that', () => {
  it.concurrent.for(FAULTS)(
    '[HARD-44] a backend that %s: nothing changes, nothing is lost or doubled, and every caller gets a correct answer',
    async ([, fault, code], { expect, onTestFinished }) => {
      const { fake, pull, push, hearsOfOutcome } = await setUp(
        onTestFinished,
        code === 'backend_timeout' ? GIVE_UP_MS : PATIENT_MS,
      );
      const office = new Office();
      fake.on('*', fault);
      const rssBefore = process.memoryUsage().rss;

      const first = await pull();
      expect(first.page.error?.code).toBe(code);
      expect(first.page.put).toEqual(BEFORE);
      const queued = await push('update', 'kept', 2);
      expect([queued.status, queued.error]).toEqual(['queued', undefined]);
      expect((await pull()).outcomes).toEqual([queued]);
      expect(process.memoryUsage().rss - rssBefore).toBeLessThan(200_000_000);

      fake.on('*', (request, response) => answerJson(response, office.perform(request)));
      fake.on('query', (_, response) => answerJson(response, { kept: { n: 2 }, other: { n: 1 } }));
      await hearsOfOutcome();
      const { outcomes } = await pull();
      expect(outcomes.map(({ status }) => status)).toEqual(['applied']);
      expect(office.effects).toEqual(['update kept']);
      expect(new Set(fake.callsOf('update').map(({ body }) => body.op_id)).size).toBe(1);
      expect(fake.requests.every(({ isSigned }) => isSigned)).toBe(true);
      expect((await pull()).page.put).toEqual({ kept: { n: 2 }, other: { n: 1 } });
    },
  );

  it.concurrent('[BACK-13] a change that the backend answers after the time-out is made once and reported once', async ({
    expect,
    onTestFinished,
  }) => {
    const { fake, pull, push, hearsOfOutcome } = await setUp(onTestFinished, GIVE_UP_MS);
    const office = new Office();
    fake.on('query', (_, response) => answerJson(response, BEFORE));
    const late: (() => void)[] = [];
    fake.on('create', (request, response) => {
      const answer = office.perform(request);
      if (fake.callsOf('create').length === 1) late.push(() => answerJson(response, answer));
      else answerJson(response, answer);
    });
    expect((await push('create', 'tmp', 7)).status).toBe('queued');
    for (const answer of late) answer();
    await hearsOfOutcome();
    const { outcomes } = await pull();
    expect(outcomes.map(({ id, status }) => [id, status])).toEqual([['office-0', 'applied']]);
    expect(office.effects).toEqual(['create tmp']);
    expect(fake.callsOf('create').length).toBeGreaterThan(1);
  });

  it.concurrent('[BACK-13] the second answer of a backend that answers twice is ignored', async ({
    expect,
    onTestFinished,
  }) => {
    const { fake, pull, push } = await setUp(onTestFinished);
    const office = new Office();
    fake.on('query', (_, response) => answerJson(response, BEFORE));
    fake.on('update', (request, response) => {
      const body = JSON.stringify(office.perform(request));
      const answer = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      response.socket?.write(answer + answer);
    });
    for (const n of [5, 6]) expect((await push('update', 'kept', n)).status).toBe('applied');
    expect(office.effects).toEqual(['update kept', 'update kept']);
    fake.on('query', (_, response) => answerJson(response, { ...BEFORE, kept: { n: 6 } }));
    expect((await pull()).page.put).toEqual({ ...BEFORE, kept: { n: 6 } });
  });

  it.concurrent('[BACK-13] 409 and 422 of a backend are passed on and not retried', async ({
    expect,
    onTestFinished,
  }) => {
    const { fake, pull, push } = await setUp(onTestFinished);
    fake.on('query', (_, response) => answerJson(response, BEFORE));
    fake.on('update', (_, response) => answerJson(response, { detail: 'sold out' }, 409));
    expect(await push('update', 'kept', 2)).toMatchObject({
      status: 'conflict',
      error: { code: 'object_changed', detail: 'sold out' },
      current: { n: 1 },
    });
    fake.on('update', (_, response) => answerJson(response, { detail: 'no such part' }, 422));
    expect(await push('update', 'kept', 2)).toMatchObject({ status: 'rejected', error: { detail: 'no such part' } });
    expect((await pull()).page.put).toEqual(BEFORE);
    expect(fake.callsOf('update').length).toBe(2);
  });

  it.concurrent('[BACK-14] a backend that keeps failing is paused, which readiness, statistics and the audit trail show', async ({
    expect,
    onTestFinished,
  }) => {
    const fixture = await setUp(onTestFinished);
    const { fake, admin, push, server } = fixture;
    expect(await breakerOf(fixture)).toBe('closed');
    fake.on('*', text(500, '{}'));
    for (let count = 0; count < 5; count++) await push('create', `new-${count}`, count);
    expect(await breakerOf(fixture)).not.toBe('closed');
    const { body } = await admin.get('/rc/v1/audit');
    const facts = body as { action: string; result: string }[];
    expect(facts.find(({ action }) => action === 'backend.breaker')).toMatchObject({ result: 'open' });
    const names = (await admin.get('/rc/v1/system/stats?names=backend:*')).body as string[];
    expect(names).toContain('backend:create:failed');
    // A server without its backend still serves its data.
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });

  it.concurrent('[BACKLOG-3] while the backend is down a login gets 503 with Retry-After, and a wrong password 401', async ({
    expect,
    onTestFinished,
  }) => {
    const { fake, server } = await setUp(onTestFinished);
    const stranger = new Caller(server.url, null);
    fake.on('authenticate', (_, response) => answerJson(response, {}, 401));
    expect((await stranger.post('/sync/v1/login', { login: 'anna', password: 'x' })).status).toBe(401);
    await fake.close();
    const answer = await fetch(`${server.url}/sync/v1/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ login: 'anna', password: 'known to the office' }),
    });
    expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([503, true]);
  });

  it.concurrent('[BACKLOG-5] while the backend is down, users it verified recently can log in if offline logins are on, and nobody else', async ({
    expect,
    onTestFinished,
  }) => {
    const { fake, server } = await setUp(onTestFinished, PATIENT_MS, OFFLINE_LOGIN_S);
    const stranger = new Caller(server.url, null);
    await fake.close();
    await openDevice(server, 'anna');
    expect((await stranger.post('/sync/v1/login', { login: 'anna', password: 'guessed' })).status).toBe(503);
    expect((await stranger.post('/sync/v1/login', { login: 'bert', password: 'guessed' })).status).toBe(503);
  });
});
