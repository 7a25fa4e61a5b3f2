import type { SourceSchema, Step } from '@tidemark/protocol';
import { Caller, makeUser, type Page, type SdkApp, startSdkApp, USER_PASSWORD, useBrowser } from '@tidemark/testing';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

const FIRST: SourceSchema = {
  properties: {
    title: { type: 'string' },
    contact: { type: 'string' },
    status: { enum: ['open', 'done'] },
    pieces: { type: 'integer' },
  },
};
const SECOND: SourceSchema = {
  properties: {
    name: { type: 'string' },
    first: { type: 'string' },
    last: { type: 'string' },
    status: { enum: ['todo', 'closed'] },
    pieces: { type: 'string' },
  },
};
const STEPS: readonly Step[] = [
  { step: 'rename', attribute: 'title', to: 'name' },
  { step: 'split', attribute: 'contact', into: ['first', 'last'], separator: ' ' },
  {
    step: 'map',
    attribute: 'status',
    values: [
      ['open', 'todo'],
      ['done', 'closed'],
    ],
  },
  { step: 'convert', attribute: 'pieces', to: 'text' },
];
const OLD_APP = { Job: { version: 1, steps: [] } };
const NEW_APP = { Job: { version: 2, steps: [STEPS] } };
const SCHEMA = '/rc/v1/sources/Job/schema';
/** Objects are converted in the background. */
const WAIT = { timeout: 60_000, interval: 200 };
const THIRTY_DAYS_MS = 30 * 24 * 3_600_000;

let app: SdkApp;
let server: TestServer;
let admin: Caller;
const browser = useBrowser();

beforeAll(async () => {
  app = await startSdkApp();
  const { devices } = testConfig('');
  server = await startTestServer({ devices: { ...devices, origins: [app.url] } });
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/sources', { name: 'Job', partition_type: 'app', conflicts: 'last_writer' });
  await setSchema({ schema: FIRST, mode: 'enforce' });
  for (const user of ['ada', 'bob']) await makeUser(server, user);
});

afterAll(async () => {
  admin.close();
  await server.close();
  await app.close();
});

/** Opens an app with its device as the global `device`, whose clock `aheadMs` moves. */
async function openApp(login: string, versions: object): Promise<Page> {
  const page = await browser.openPage(app.url, { expectedErrors: [/ERR_INTERNET_DISCONNECTED/] });
  await page.evaluate(`(async () => {
    const { openDevice } = await import('@tidemark/client');
    const { openIndexedDbStore } = await import('@tidemark/client/indexeddb-store');
    globalThis.aheadMs = 0;
    globalThis.device = await openDevice({
      url: ${JSON.stringify(server.url)},
      versions: ${JSON.stringify(versions)},
      store: await openIndexedDbStore(),
      platform: { nowMs: () => Date.now() + aheadMs },
    });
    await device.signIn(${JSON.stringify({ login, password: USER_PASSWORD })});
    await device.sync();
  })()`);
  return page;
}

const shown = (page: Page) =>
  page.evaluate(`Object.fromEntries(device.source('Job').list().map(({ id, attributes }) => [id, attributes]))`);

const onServer = async () => (await admin.get('/rc/v1/users/ada/sources/Job/docs/md')).body;

async function setSchema(call: object): Promise<void> {
  const { status, body } = await admin.put(SCHEMA, call);
  if (status !== 200) throw new Error(`the schema was refused: ${JSON.stringify(body)}`);
}

it('[VERSION-17] in a real browser, 1,000 changes of an app that was offline for 30 days arrive in the version that was set meanwhile', async () => {
  await admin.post('/app/v1/Job/push_objects', {
    objects: Object.fromEntries(
      Array.from({ length: 50 }, (_, at) => [
        `job-${at}`,
        { title: `Job ${at}`, contact: 'Ann Lee', status: 'open', pieces: at },
      ]),
    ),
  });
  const old = await openApp('ada', OLD_APP);
  await old.context().setOffline(true);
  // 500 changes of 50 objects, and 250 new ones that are changed once.
  await old.evaluate(`(async () => {
    const jobs = device.source('Job');
    for (let at = 0; at < 500; at++) {
      const id = 'job-' + (at % 50);
      if (at % 4 === 0) await jobs.update(id, { title: 'Title ' + at });
      if (at % 4 === 1) await jobs.update(id, { contact: 'First' + at + ' Van Last' + at });
      if (at % 4 === 2) await jobs.update(id, { status: 'done' });
      if (at % 4 === 3) await jobs.update(id, { pieces: at });
    }
    for (let at = 0; at < 250; at++) {
      await jobs.create({ title: 'New ' + at, contact: 'Only', status: 'open', pieces: 0 }, { id: 'new-' + at });
      await jobs.update('new-' + at, { status: 'done', pieces: at / 2 * 2 });
    }
  })()`);
  const before = (await shown(old)) as Record<string, object>;
  await setSchema({ schema: SECOND, steps: STEPS });
  await vi.waitFor(async () => expect((await admin.get(SCHEMA)).body).toMatchObject({ converting: false }), WAIT);
  const young = await openApp('bob', NEW_APP);
  await young.evaluate(`device.source('Job').update('job-0', { first: 'Eve' }).then(() => device.sync())`);
  await old.evaluate(`globalThis.aheadMs = ${THIRTY_DAYS_MS}`);
  await old.context().setOffline(false);
  await old.evaluate('device.sync()');
  expect(await old.evaluate('[device.uploads.list().length, device.problems.list().length]')).toEqual([0, 0]);

  const expected: Record<string, Record<string, unknown>> = {};
  for (let at = 0; at < 50; at++) {
    expected[`job-${at}`] = { name: `Job ${at}`, first: 'Ann', last: 'Lee', status: 'todo', pieces: String(at) };
  }
  expected['job-0'] = { ...expected['job-0'], first: 'Eve' };
  for (let at = 0; at < 500; at++) {
    const object = expected[`job-${at % 50}`] ?? {};
    if (at % 4 === 0) object.name = `Title ${at}`;
    if (at % 4 === 1) Object.assign(object, { first: `First${at}`, last: `Van Last${at}` });
    if (at % 4 === 2) object.status = 'closed';
    if (at % 4 === 3) object.pieces = String(at);
  }
  for (let at = 0; at < 250; at++) {
    expected[`new-${at}`] = { name: `New ${at}`, first: 'Only', status: 'closed', pieces: String(at) };
  }
  expect(await onServer()).toEqual(expected);
  await young.evaluate('device.sync()');
  expect(await shown(young)).toEqual(expected);
  expect(await shown(old)).toEqual({
    ...before,
    'job-0': { ...before['job-0'], contact: 'Eve Lee' },
  });

  // From here on both go on side by side.
  await old.evaluate(
    `device.source('Job').update('job-1', { contact: 'Old App', status: 'open' }).then(() => device.sync())`,
  );
  await young.evaluate('device.sync()');
  expect(await young.evaluate(`device.source('Job').get('job-1').attributes`)).toMatchObject({
    first: 'Old',
    last: 'App',
    status: 'todo',
  });
  await young.evaluate(
    `device.source('Job').update('job-1', { last: 'Browser', pieces: '12' }).then(() => device.sync())`,
  );
  await old.evaluate('device.sync()');
  expect(await old.evaluate(`device.source('Job').get('job-1').attributes`)).toMatchObject({
    contact: 'Old Browser',
    pieces: 12,
  });
  expect(await old.evaluate('device.status.getSnapshot().heals')).toBe(0);
});
