import { answerJson, Caller, openDevice, openFakeBackend } from '@tidemark/testing';
import { startTestServer, testConfig } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';
import { SEARCHES_PER_DEVICE_MAX } from '../limits.ts';
import { FAILURES_MAX } from '../outbound/circuit-breaker.ts';

const SECRET = 'shared with the backend';

async function setUp() {
  const fake = await openFakeBackend(() => SECRET);
  const { backend } = testConfig('/');
  const server = await startTestServer({ backend: { ...backend, secret: SECRET }, shutdownGraceMs: 0 });
  onTestFinished(async () => {
    await fake.close();
    await server.close();
  });
  const admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/system/appserver', { adapter_url: fake.url });
  await admin.post('/rc/v1/sources', { name: 'Stock', partition_type: 'app', adapter: 'backend' });
  fake.on('authenticate', (_, response) => answerJson(response, {}));
  const search = ({ api }: { readonly api: Caller }) => api.post('/sync/v1/search', { source: 'Stock', params: {} });
  return { fake, server, admin, search };
}

it('[BACK-16] logins work while the searches of one device fail, and only searches are paused', async () => {
  const { fake, server, admin, search } = await setUp();
  const anna = await openDevice(server, 'anna');
  fake.on('search', (_, response) => answerJson(response, {}, 500));
  for (let count = 0; count < FAILURES_MAX * 2; count++) await search(anna);
  await openDevice(server, 'bert');
  const { body } = await admin.get('/readyz');
  expect(body).toMatchObject({
    backend: {
      state: 'open',
      calls: { search: { state: 'open' }, authenticate: { state: 'closed' } },
      logins: 'backend',
    },
  });
  const facts = (await admin.get('/rc/v1/audit')).body as { action: string; target: string; result: string }[];
  expect(facts.find(({ action }) => action === 'backend.breaker')).toMatchObject({ target: 'search', result: 'open' });
});

it('[SEARCH-2] a device with two searches under way gets 429 for the third, and other devices can search', async () => {
  const { fake, server, search } = await setUp();
  const [anna, bert] = [await openDevice(server, 'anna'), await openDevice(server, 'bert')];
  const answers: (() => void)[] = [];
  const areUnderWay = new Promise<void>((resolve) => {
    fake.on('search', (_, response) => {
      answers.push(() => answerJson(response, { '1': { n: 1 } }));
      if (answers.length === SEARCHES_PER_DEVICE_MAX) resolve();
    });
  });
  const pending = Array.from({ length: SEARCHES_PER_DEVICE_MAX }, () => search(anna));
  await areUnderWay;
  const refused = await search(anna);
  expect([refused.status, refused.code, refused.headers['retry-after']]).toEqual([429, 'rate_limited', '1']);
  fake.on('search', (_, response) => answerJson(response, {}));
  expect((await search(bert)).status).toBe(200);
  for (const answer of answers) answer();
  expect((await Promise.all(pending)).map(({ status }) => status)).toEqual([200, 200]);
  expect((await search(anna)).status).toBe(200);
});
