import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Store } from '@tidemark/core';
import { Type } from '@tidemark/protocol/typebox';
import { Caller, makeUser, openDevice, openRaw, temporaryFolder, USER_PASSWORD } from '@tidemark/testing';
import { ADMIN_PASSWORD, logIn, silentLog, testConfig } from '@tidemark/testing/server';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compose, type Running } from '../compose.ts';
import { type RouteContext, route } from '../http/route.ts';
import { PIPELINED_WAITING_MAX } from '../limits.ts';
import { allRoutes } from '../routes/all-routes.ts';

const SOURCE = 'Order';
/** Pads bodies beyond the size from which they are counted. */
const PADDING = ' '.repeat(100_000);
/** More than any route makes calls to the store, so that every loop ends. */
const CALLS_MAX = 60;
const TURNS_MAX = 20_000;
const CLOSING_TURNS_MAX = 200;
/** Turns for work after the answer of the store, which must be observed before the next socket. */
const FOLLOWING_TURNS = 20;
const VIEWER_FILE = '/docs/api/static/swagger-ui-bundle.js';

/**
 * Holds back one answer of the store, as long as the socket needs to close. An engine over a network would delay
 * each.
 */
class HeldStore {
  #countdown = -1;
  #onReached: (goOn: () => void) => void = () => undefined;

  constructor(store: Store) {
    const methods = store as unknown as Record<string, (...given: unknown[]) => unknown>;
    for (const name of methodNames(store)) {
      const original = methods[name] as (...given: unknown[]) => unknown;
      methods[name] = (...given) => {
        const answer = original.apply(store, given);
        return answer instanceof Promise && this.#countdown-- === 0 ? this.#hold(answer) : answer;
      };
    }
  }

  /** Resolves when the answer with that number is held, with the function that releases it. */
  holdNext(number: number): Promise<() => void> {
    this.#countdown = number;
    return new Promise((resolve) => {
      this.#onReached = resolve;
    });
  }

  release(): void {
    this.#countdown = -1;
  }

  async #hold(answer: Promise<unknown>): Promise<unknown> {
    await new Promise<void>((resolve) => this.#onReached(resolve));
    return answer;
  }
}

/** Returns the names of the store's methods. An engine is composed of plain objects, so they are its own properties. */
function methodNames(store: object): readonly string[] {
  const names = Object.entries(store).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []));
  if (!names.includes('commit')) throw new Error('the methods of the store were not found');
  return names;
}

let server: Running;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let app: FastifyInstance;
let context: RouteContext;
let held: HeldStore;
let admin: Caller;
let adminToken: string;
let deviceToken: string;
let client: string;
let lostClient: string;
/** Pulls whose answer is ready and not sent, and their maximum. */
let unsentPulls = 0;
let unsentPullsMost = 0;
/** Snapshots whose iterator has not ended. */
let snapshots = 0;

const capture = route({
  method: 'GET',
  path: '/test/context',
  operationId: 'test',
  scope: 'public',
  summary: 'Shows the test what the routes work with',
  answer: Type.Unknown(),
  handle: async (call) => {
    context = call.context;
    return {};
  },
});

function note(message: unknown): void {
  app = (message as { readonly fastify: FastifyInstance }).fastify;
}

beforeAll(async () => {
  folder = await temporaryFolder();
  diagnostics.subscribe('fastify.initialization', note);
  server = await compose(testConfig(folder.path), silentLog(), { extraRoutes: [capture] });
  diagnostics.unsubscribe('fastify.initialization', note);
  adminToken = await logIn(server.url);
  admin = new Caller(server.url, adminToken);
  await admin.get('/test/context');
  await admin.post('/rc/v1/sources', { name: SOURCE, partition_type: 'user' });
  await makeUser({ url: server.url, token: adminToken }, 'anna');
  const objects = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`o${n}`, { text: 'x'.repeat(2_000) }]));
  await admin.post(`/app/v1/${SOURCE}/fast_insert`, { user_id: 'anna', objects });
  const device = await openDevice(server, 'anna');
  client = device.id;
  lostClient = (await openDevice(server, 'anna')).id;
  device.api.close();
  countAnswers();
  held = new HeldStore(context.tidemark.store);
});

beforeEach(async () => {
  deviceToken = await newDeviceToken();
});

async function newDeviceToken(): Promise<string> {
  const { token } = await context.tidemark.tokens.issue({
    user: 'anna',
    client,
    scopes: ['device'],
    expiresAtMs: null,
  });
  return token;
}

afterAll(async () => {
  admin.close();
  await server.close();
  await folder.remove();
});

function countAnswers(): void {
  const { devices } = context.tidemark;
  const pull = devices.pull.bind(devices);
  devices.pull = async (...given) => {
    const pulled = await pull(...given);
    unsentPullsMost = Math.max(unsentPullsMost, ++unsentPulls);
    return pulled;
  };
  const snapshot = devices.snapshot.bind(devices);
  devices.snapshot = async (...given) => {
    const pages = await snapshot(...given);
    snapshots++;
    return (async function* () {
      try {
        yield* pages;
      } finally {
        snapshots--;
      }
    })();
  };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Builds a request for a route, with existing names and a body that matches the schema. */
function requestFor(method: string, template: string): Sent {
  const names: Readonly<Record<string, string>> = {
    source_name: SOURCE,
    source_id: SOURCE,
    user_id: 'anna',
    // The other cases need a device that is not wiped.
    client_id: template.endsWith('/wipe') ? lostClient : client,
    name: SOURCE,
    doc: 'md',
    queue: 'none',
    partition_type: 'user',
  };
  const path = template.replace(/:(\w+)/g, (_, name: string) => names[name] ?? 'unknown');
  return method === 'GET' || method === 'DELETE'
    ? { method, path: method === 'DELETE' ? template.replace(/:\w+/g, 'unknown') : path }
    : { method, path, body: BODIES()[`${method} ${template}`] ?? {} };
}

const BODIES = (): Readonly<Record<string, unknown>> => ({
  'POST /rc/v1/system/login': { login: 'admin', password: ADMIN_PASSWORD },
  'POST /rc/v1/session': { login: 'admin', password: ADMIN_PASSWORD },
  'POST /sync/v1/login': { login: 'anna', password: USER_PASSWORD },
  'POST /sync/v1/pull': { client_id: client, sources: { [SOURCE]: {} } },
  'POST /sync/v1/push': {
    client_id: client,
    changes: [{ op_id: 'o', source: SOURCE, op: 'create', id: 't', attributes: { a: 1 } }],
  },
  'POST /sync/v1/search': { source: SOURCE, params: {} },
  'PUT /sync/v1/clients/:client_id': { device_app_version: '2' },
  'POST /rc/v1/users': { attributes: { login: 'bob', password: USER_PASSWORD } },
  'PUT /rc/v1/users/:user_id': { attributes: { city: 'Ulm' } },
  'POST /rc/v1/users/ping': { user_id: ['anna'], message: 'hello' },
  'POST /rc/v1/sources': { name: 'Another' },
  'PUT /rc/v1/sources/:source_id': { data: { poll_interval: 60 } },
  'POST /rc/v1/store/:doc': { data: 'x' },
  'POST /rc/v1/users/:user_id/sources/:source_id/docs/:doc': { data: { 1: { a: 1 } }, append: true },
  'POST /rc/v1/clients/:client_id/sources/:source_id/docs/:doc': { data: 'x' },
  'POST /rc/v1/tokens': { name: 'test', scopes: ['read'] },
  'POST /app/v1/:source_name/push_objects': { user_id: 'anna', objects: { 1: { a: 1 } } },
  'POST /app/v1/:source_name/push_deletes': { user_id: 'anna', objects: ['1'] },
  'POST /app/v1/:source_name/fast_update': { user_id: 'anna', delete_data: {}, data: { 2: { b: 1 } } },
  'POST /app/v1/:source_name/fast_delete': { user_id: 'anna', data: { 2: { b: 1 } } },
  'POST /app/v1/:source_name/fast_insert': { user_id: 'anna', objects: { 2: { a: 1 } } },
});

const isLogin = (path: string) => path.endsWith('/login') || path.endsWith('/session');

/** The bytes of a request. Login bodies are short, because longer ones are refused unread. */
function bytesOf({ method, path, body }: Sent): string {
  const token = path.startsWith('/sync/') ? deviceToken : adminToken;
  const credentials = path.endsWith('/session')
    ? // Signing out would end the token that the other cases use.
      [`cookie: tidemark_session=${method === 'DELETE' ? 'unknown' : token}`, 'x-tidemark-console: 1']
    : [`authorization: Bearer ${token}`];
  const head = [`${method} ${path} HTTP/1.1`, 'host: x', ...credentials];
  if (body === undefined) return `${head.join('\r\n')}\r\n\r\n`;
  const text = JSON.stringify(body) + (isLogin(path) ? '' : PADDING);
  head.push('content-type: application/json', `content-length: ${text.length}`);
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}

/** Sockets that have emitted `close`; the property `closed` is true a little earlier. */
const gone = new WeakSet<Socket>();

async function accepted(): Promise<readonly [Socket, Socket]> {
  const coming = once(app.server, 'connection') as Promise<[Socket]>;
  const theirs = openRaw(Number(new URL(server.url).port));
  theirs.resume();
  const [ours] = await coming;
  ours.once('close', () => gone.add(ours));
  return [theirs, ours];
}

/** Resolves when the socket is closed, by an end or by an error. */
async function closed(socket: Socket): Promise<void> {
  if (!gone.has(socket)) await new Promise((resolve) => socket.once('close', resolve));
}

/** The head of a request and the first byte of its body: the server waits for the rest, and sees the socket close. */
function bytesWithoutBody(request: Sent): string {
  const bytes = bytesOf(request);
  return bytes.slice(0, bytes.indexOf('\r\n\r\n') + 5);
}

/**
 * Sends the bytes and closes the socket while that answer of the store is held. Nothing may stay held afterwards.
 * Returns false if the store is called less often.
 */
async function tearAt(number: number, bytes: () => string): Promise<boolean> {
  // The previous device may have signed out.
  deviceToken = await newDeviceToken();
  const [theirs, ours] = await accepted();
  const reached = held.holdNext(number);
  theirs.write(bytes());
  const answered = new Promise<null>((resolve) => {
    theirs.once('data', () => resolve(null));
    theirs.once('close', () => resolve(null));
  });
  const goOn = await Promise.race([reached, answered]);
  held.release();
  theirs.resetAndDestroy();
  // A socket whose body is not read yet closes when the server reads on; the others close now.
  for (let turn = 0; turn < CLOSING_TURNS_MAX && !gone.has(ours); turn++) await nextTurn();
  goOn?.();
  await closed(ours);
  for (let turn = 0; turn < FOLLOWING_TURNS; turn++) await nextTurn();
  await expectNothingHeld();
  return goOn !== null;
}

interface Holdings {
  readonly requests: number;
  readonly bodyBytes: number;
  readonly streams: number;
  readonly snapshots: number;
}

const holdings = (): Holdings => ({
  requests: app.requestsOpen(),
  bodyBytes: app.bodiesInFlight.bytes,
  streams: context.events.size,
  snapshots,
});

const NOTHING: Holdings = { requests: 0, bodyBytes: 0, streams: 0, snapshots: 0 };

/** Waits until everything is released; otherwise the comparison shows what is not. */
async function expectNothingHeld(): Promise<void> {
  for (let turn = 0; turn < TURNS_MAX && JSON.stringify(holdings()) !== JSON.stringify(NOTHING); turn++)
    await nextTurn();
  expect(holdings()).toEqual(NOTHING);
}

const openFiles = () => readdirSync('/proc/self/fd').length;

// A reset would delete the data of all other cases.
const routes = allRoutes.filter(({ path }) => path !== '/rc/v1/system/reset');
/** These routes do not call the store. */
const WITHOUT_STORE = ['/rc/v1/session/provider', 'OPTIONS /sync/v1/files', '/files/:sha256'];

describe('a socket that closes', () => {
  it.each(
    routes
      .filter(({ method, path }) => ![path, `${method} ${path}`].some((name) => WITHOUT_STORE.includes(name)))
      .map(({ method, path }) => [method, path] as const),
  )('[CONN-2] %s %s holds nothing after its socket closed during any call to the store', async (method, path) => {
    const request = requestFor(method, path);
    let calls = 0;
    while (calls < CALLS_MAX && (await tearAt(calls, () => bytesOf(request)))) calls++;
    if (request.body !== undefined && !isLogin(path)) await tearAt(0, () => bytesWithoutBody(request));
    expect(calls).toBeGreaterThan(0);
    expect(calls).toBeLessThan(CALLS_MAX);
  });

  it('[CONN-2] requests cut off at any point, alone or pipelined, leave nothing held and no file open', async () => {
    const files = openFiles();
    const sent = [
      ...routes.map(({ method, path }) => requestFor(method, path)),
      { method: 'GET', path: VIEWER_FILE },
      { method: 'GET', path: '/docs/' },
    ];
    for (const [index, request] of sent.entries()) {
      const bytes = bytesOf(request);
      const ahead = bytesOf({ method: 'GET', path: VIEWER_FILE }).repeat(index % 4);
      for (const length of [bytes.length, bytes.length - 1, Math.floor(bytes.length / 2)]) {
        const [theirs, ours] = await accepted();
        theirs.write(ahead + bytes.slice(0, length));
        for (let turn = 0; turn < index % 7; turn++) await nextTurn();
        theirs.resetAndDestroy();
        await closed(ours);
      }
    }
    await expectNothingHeld();
    for (let turn = 0; turn < TURNS_MAX && openFiles() > files; turn++) await nextTurn();
    expect(openFiles()).toBeLessThanOrEqual(files);
  });

  it('[CONN-2] large login bodies behind unread files do not use up the memory for bodies', async () => {
    const file = bytesOf({ method: 'GET', path: VIEWER_FILE }).repeat(8);
    const login = 'POST /rc/v1/system/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';
    for (let count = 0; count < 40; count++) {
      const [theirs, ours] = await accepted();
      theirs.write(`${file}${login}content-length: 9900000\r\n\r\n{`);
      for (let turn = 0; turn < 20; turn++) await nextTurn();
      theirs.destroy();
      await closed(ours);
    }
    await expectNothingHeld();
    const reply = await admin.post('/rc/v1/store/large', { data: 'x'.repeat(9_000_000) });
    expect(reply.status).toBe(200);
  });

  it('[CONN-2] two event streams on one socket are both removed when it closes', async () => {
    const [theirs, ours] = await accepted();
    const listen = bytesOf({ method: 'GET', path: '/sync/v1/events' });
    const ready = once(theirs, 'data');
    theirs.write(listen + listen);
    await ready;
    expect(context.events.size).toBe(1);
    theirs.destroy();
    await closed(ours);
    await expectNothingHeld();
  });

  it('[CONN-1] only one answer of unread pipelined pulls is in memory', async () => {
    const [theirs, ours] = await accepted();
    theirs.pause();
    unsentPulls = 0;
    unsentPullsMost = 0;
    const onSent = () => void unsentPulls--;
    diagnostics.subscribe('http.server.response.finish', onSent);
    theirs.write(bytesOf(requestFor('POST', '/sync/v1/pull')).repeat(1 + PIPELINED_WAITING_MAX));
    while (ours.writableLength < 100_000) await nextTurn();
    for (let turn = 0; turn < 100; turn++) await nextTurn();
    diagnostics.unsubscribe('http.server.response.finish', onSent);
    expect(unsentPullsMost).toBe(1);
    expect(unsentPulls).toBe(1);
    theirs.destroy();
    await closed(ours);
    await expectNothingHeld();
  });
});
