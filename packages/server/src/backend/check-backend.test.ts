import {
  answerJson,
  type BackendAnswer,
  Caller,
  type FakeBackend,
  makeUser,
  openDevice,
  openFakeBackend,
} from '@tidemark/testing';
import { type Outcome, runInProcess, startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { afterEach, beforeEach, expect, it } from 'vitest';

const SECRET = 'shared with the backend';

let server: TestServer;
let fake: FakeBackend;
let admin: Caller;

beforeEach(async () => {
  fake = await openFakeBackend(() => SECRET);
  const { backend } = testConfig('/');
  server = await startTestServer({ backend: { ...backend, secret: SECRET } });
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/system/appserver', { adapter_url: fake.url });
  await admin.post('/rc/v1/sources', { name: 'Stock', partition_type: 'app', adapter: 'backend' });
  await admin.post('/rc/v1/sources', { name: 'Visit', partition_type: 'user', adapter: 'backend' });
  await admin.post('/rc/v1/sources', { name: 'Pushed' });
  fake.on(
    'authenticate',
    trusting((_, response) => answerJson(response, {}, 401)),
  );
  fake.on(
    'query',
    trusting(({ body }, response) => answerJson(response, body.user_id === null ? { a: {} } : {})),
  );
});

afterEach(async () => {
  admin.close();
  await server.close();
  await fake.close();
});

/** Answers only signed calls. */
const trusting =
  (answer: BackendAnswer): BackendAnswer =>
  (request, response) =>
    request.isSigned ? answer(request, response) : answerJson(response, { code: 'signature_invalid' }, 401);

async function check(body: object = {}): Promise<readonly string[]> {
  const reply = await admin.post('/rc/v1/system/appserver/check', body);
  const { checks } = reply.body as { checks: { name: string; status: string; detail: string }[] };
  return checks.map(({ name, status, detail }) => `${status} ${name}: ${detail}`);
}

function cli(...args: readonly string[]): Promise<Outcome> {
  const env = { HOME: server.folder, TIDEMARK_URL: server.url, TIDEMARK_TOKEN: server.token };
  return runInProcess(args, { env, folder: server.folder });
}

it('[BACK-20] the check of a healthy backend reports every source as ok and stores nothing', async () => {
  expect(await check({ user_id: 'ada' })).toEqual([
    `ok reachable: ${fake.url} answers`,
    'ok logins: are checked by the backend',
    'ok signature: is accepted, and a wrong one is refused',
    'ok source Stock: query returned 1 objects',
    'ok source Visit: query for ada returned 0 objects',
  ]);
  expect((await admin.get('/rc/v1/users/*/sources/Stock/docs/md')).body).toEqual({});
  expect((await admin.get('/rc/v1/system/stats?names=backend:*')).body).toEqual([]);
});

it('[BACK-20] the check reports a wrong secret', async () => {
  fake.on('authenticate', (_, response) => answerJson(response, { code: 'signature_invalid' }, 401));
  fake.on('query', (_, response) => answerJson(response, { code: 'signature_invalid' }, 401));
  const [, signature, stock] = await check();
  expect(signature).toContain('failed signature: the backend does not accept the signature; compare its secret');
  expect(stock).toBe('failed source Stock: query: the backend does not accept the signature');
});

it('[BACK-20] the check reports a backend that accepts any signature and any login and answers nonsense', async () => {
  fake.on('authenticate', (_, response) => answerJson(response, {}));
  fake.on('query', (_, response) => answerJson(response, { 2: 'x' }));
  const [, logins, signature, stock] = await check();
  expect(logins).toBe('failed logins: the backend accepts a login that cannot exist: anybody can log in');
  expect(signature).toContain('warning signature: the backend also answers calls with a wrong signature');
  expect(stock).toBe(
    'failed source Stock: query: the answer is not usable: object "2": expected an object of attributes, got a string',
  );
});

it('[BACK-20] the check reports that a backend without authenticate leaves logins to the stored passwords', async () => {
  fake.on(
    'authenticate',
    trusting((_, response) => answerJson(response, {}, 501)),
  );
  expect((await check())[1]).toBe(
    'ok logins: are checked by the stored passwords: the backend answers 501 to authenticate',
  );
});

it('[CLI-28] appserver check and doctor show the checks, and exit with 1 if one failed', async () => {
  const well = await cli('appserver', 'check', '--user', 'ada');
  expect([well.code, well.out.split('\n')[1]]).toEqual([0, 'ok       logins: are checked by the backend']);
  expect((await cli('doctor', '--data', server.folder)).out).toContain(
    'backend source Stock: query returned 1 objects\n',
  );
  await fake.close();
  const gone = await cli('appserver', 'check');
  expect([gone.code, gone.out]).toEqual([
    1,
    `failed   reachable: ${fake.url}: the backend cannot be reached (ECONNREFUSED)\n`,
  ]);
  const doctor = await cli('doctor', '--data', server.folder);
  expect([doctor.code, doctor.out.includes('failed   backend reachable:')]).toEqual([1, true]);
});

it.each([
  ['an object without attributes', '{"2":"x"}', 'object "2": expected an object of attributes, got a string'],
  ['an answer that breaks off', '{"2":{"a":1}', 'it ends too early'],
  ['an attribute that is not allowed', '{"2":{"":1}}', '(object "2"): the attribute name "" is empty'],
])('[BACK-50] the refresh of a device is among the last failures of the backend: %s', async (_, text, problem) => {
  await admin.put('/rc/v1/sources/Stock', { poll_interval: 0 });
  fake.on('query', (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(text));
  fake.on('authenticate', (_request, response) => answerJson(response, {}, 404));
  await makeUser(server, 'ada');
  const { api, id } = await openDevice(server, 'ada');
  await api.post('/sync/v1/pull', { client_id: id, sources: { Stock: {} } });
  const { body } = await admin.get('/rc/v1/system/appserver/failures');
  const { failures } = body as { failures: readonly Record<string, unknown>[] };
  expect(failures).toEqual([expect.objectContaining({ call: 'query', source: 'Stock', status: 200, detail: null })]);
  expect(failures[0]?.reason).toContain(problem);
});
