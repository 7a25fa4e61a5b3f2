import { once } from 'node:events';
import { createServer } from 'node:http';
import {
  AnswerChecker,
  type ApiDocument,
  endpointsOf,
  fuzzServer,
  KNOWN,
  type Library,
  openLibrary,
  openRaw,
  Rng,
  readToEnd,
  Sender,
  seededRandom,
  spoilWire,
} from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

const SEED = Number(process.env.FUZZ_SEED ?? 1);
const IS_LONG = process.env.TIDEMARK_LONG_TESTS === '1';
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? (IS_LONG ? 10_000 : 400));
const WIRES = Math.min(REQUESTS, 300);
/** Attributes of known sources. */
const EXTRA: Readonly<Record<string, object>> = {
  Product: { partition_type: 'app' },
  Polled: { adapter: 'backend' },
  Team: { partition_type: 'group' },
};

let server: TestServer;
let library: Library;
let sender: Sender;
let document: ApiDocument;

beforeAll(async () => {
  server = await startTestServer();
  library = await openLibrary(server.folder);
  sender = new Sender(server.url);
  document = (await (await fetch(`${server.url}/openapi.json`)).json()) as ApiDocument;
});

afterAll(async () => {
  sender.close();
  await library.close();
  await server.close();
});

/** Uses the library, because requests may delete whatever a route would need for it. */
async function populate(): Promise<void> {
  const { tidemark } = library;
  const unlessThere = (work: Promise<unknown>) => work.catch(() => undefined);
  for (const login of KNOWN.users) await tidemark.users.ensure(login);
  for (const name of KNOWN.sources) {
    const extra = EXTRA[name] ?? {};
    await unlessThere(tidemark.sources.declare({ name, ...extra }));
  }
  for (const client_id of KNOWN.clients) {
    // A device that was wiped would refuse everything from then on.
    if (await tidemark.clients.isWiped(client_id)) await unlessThere(tidemark.clients.delete('anna', client_id));
    await unlessThere(tidemark.clients.register('anna', { client_id }));
  }
}

async function issueToken(): Promise<string> {
  const scopes = ['admin', 'admin:reset'];
  return (await library.tidemark.tokens.issue({ user: 'admin', scopes, expiresAtMs: null })).token;
}

async function issueDeviceToken(): Promise<string> {
  const device = { user: 'anna', client: KNOWN.clients[0], scopes: ['device'], isReturning: true };
  return (await library.tidemark.tokens.issue({ ...device, expiresAtMs: null })).token;
}

async function expectHealthy(): Promise<void> {
  const answer = await sender.send({ method: 'GET', path: '/healthz', headers: {}, body: null });
  expect(answer.text).toBe('{"status":"ok"}');
  expect(await library.verify()).toEqual([]);
}

it('[REST-30] every route answers random requests as described, with a listed code and never with an internal error', async () => {
  const endpoints = endpointsOf(document);
  const checker = new AnswerChecker(document);
  const report = await fuzzServer({
    sender,
    checker,
    endpoints,
    seed: SEED,
    requests: REQUESTS,
    issueToken,
    issueDeviceToken,
    populate,
  });
  expect(report.failures.join('\n')).toBe('');
  if (REQUESTS >= 3_000) expectReach([...report.answers.keys()], endpoints.length);
  await expectHealthy();
});

/** Fuzzing is only useful if requests get through: most endpoints must have accepted and refused some. */
function expectReach(keys: readonly string[], endpoints: number): void {
  const reached = (status: RegExp) =>
    new Set(keys.filter((key) => status.test(key)).map((key) => key.replace(/ \d+$/, ''))).size;
  expect(reached(/ 200$/)).toBeGreaterThan(endpoints * 0.8);
  expect(reached(/ 4\d\d$/)).toBeGreaterThan(endpoints * 0.8);
}

it('[REST-30] random bytes are answered or the socket is closed, and the server stays up', async () => {
  const rng = new Rng(seededRandom(SEED));
  const token = await issueToken();
  const head = `host: x\r\nx-sync-api-token: ${token}\r\ncontent-type: application/json\r\n`;
  const requests = [
    `GET /rc/v1/users?limit=5 HTTP/1.1\r\n${head}\r\n`,
    `POST /rc/v1/store/notes HTTP/1.1\r\n${head}content-length: 12\r\n\r\n{"data":"x"}`,
    `PUT /rc/v1/users/anna HTTP/1.1\r\n${head}transfer-encoding: chunked\r\n\r\n11\r\n{"attributes":{}}\r\n0\r\n\r\n`,
  ];
  for (let index = 0; index < WIRES; index++) {
    const socket = openRaw(server.port);
    const bytes = spoilWire(rng.pick(requests), rng);
    socket.end(bytes);
    const answer = await readToEnd(socket);
    const replay = `wire ${index} of seed ${SEED}: ${JSON.stringify(bytes.toString('latin1'))} → ${answer}`;
    if (answer !== '') expect(answer, replay).toMatch(/^HTTP\/1\.1 (?:[124][0-9]{2}|503) /);
  }
  await expectHealthy();
});

it('[REST-30] the fuzzer detects internal errors, unlisted codes, undescribed answers and torn answers', async () => {
  const faults: readonly (readonly [number, string, string])[] = [
    [500, 'application/problem+json', problem({ status: 500, code: 'internal' })],
    [404, 'application/problem+json', problem({ status: 404, code: 'never_heard_of' })],
    [404, 'application/problem+json', problem({ status: 404, code: 'invalid_value' })],
    [404, 'application/problem+json', '{"code":"not_found"}'],
    [200, 'text/html', '<p>'],
    [200, 'application/json; charset=utf-8', '{"torn'],
    [302, 'application/json', '{}'],
  ];
  for (const [status, type, body] of faults) {
    const broken = createServer((_request, response) => response.writeHead(status, { 'content-type': type }).end(body));
    broken.listen(0, '127.0.0.1');
    await once(broken, 'listening');
    const { port } = broken.address() as { readonly port: number };
    const brokenSender = new Sender(`http://127.0.0.1:${port}`);
    const endpoints = endpointsOf(document).filter(({ template }) => template === '/rc/v1/system/license');
    const checker = new AnswerChecker(document);
    const fuzzing = {
      sender: brokenSender,
      checker,
      endpoints,
      seed: SEED,
      requests: 5,
      issueToken,
      issueDeviceToken,
      populate,
    };
    const { failures } = await fuzzServer(fuzzing);
    brokenSender.close();
    broken.close();
    expect([status, body, failures.length > 0]).toEqual([status, body, true]);
  }
});

function problem({ status, code }: { readonly status: number; readonly code: string }): string {
  return JSON.stringify({ type: 'urn:x', title: 'x', status, detail: 'x', code, request_id: 'x' });
}
