import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ApnsStandIn,
  Caller,
  type Library,
  newAccountKey,
  newApnsKey,
  openApnsStandIn,
  openFcmStandIn,
  openLibrary,
  TEST_ONLY_CERTIFICATE,
  temporaryFolder,
} from '@tidemark/testing';
import {
  logIn,
  type Outcome,
  runInProcess,
  silentLog,
  startTestServer,
  type TestServer,
  testConfig,
} from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { compose } from '../compose.ts';
import { readConfig } from '../config/load-config.ts';

const PING = '/rc/v1/users/ping';
const IDENTITY = { key: newApnsKey(), keyId: 'ABC123DEFG', teamId: 'TEAM000001' };
const TOKEN = 'ab'.repeat(32);

let service: ApnsStandIn;
let server: TestServer;
let admin: Caller;
let library: Library;
let ca: string;

beforeAll(async () => {
  const folder = await temporaryFolder();
  ca = join(folder.path, 'ca.pem');
  writeFileSync(ca, TEST_ONLY_CERTIFICATE);
  service = await openApnsStandIn({
    ...IDENTITY,
    topics: ['com.example.shop'],
    behave: ({ body }) => (body.includes('refuse') ? { status: 400, reason: 'BadDeviceToken' } : { status: 200 }),
  });
  const { ping } = readConfig(pushEnv());
  server = await startTestServer({ ping });
  admin = new Caller(server.url, server.token);
  library = await openLibrary(server.folder);
  await library.tidemark.users.ensure('anna');
  await library.tidemark.clients.register('anna', { client_id: 'phone', device_type: 'ios', device_pin: TOKEN });
});

afterAll(async () => {
  admin.close();
  await library.close();
  await server.close();
  await service.close();
});

/** The settings by which a server or the doctor finds the fake push service. */
function pushEnv(changes: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    TIDEMARK_PING_APNS_KEY: IDENTITY.key,
    TIDEMARK_PING_APNS_KEY_ID: IDENTITY.keyId,
    TIDEMARK_PING_APNS_TEAM_ID: IDENTITY.teamId,
    TIDEMARK_PING_APNS_TOPICS: 'com.example.shop',
    TIDEMARK_PING_APNS_URL: service.origin,
    TIDEMARK_PING_CA_FILE: ca,
    ...changes,
  };
}

async function runCli(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Outcome> {
  const { path: folder } = await temporaryFolder();
  return runInProcess(args, { env: { HOME: folder, ...env }, folder });
}

const settled = (id: string) =>
  expect.poll(async () => (await admin.get(`/rc/v1/pings/${id}`)).body).toMatchObject({ pending: 0 });

describe('the API', () => {
  it('[REST-35] the API shows the results of a ping, in total and per device', async () => {
    const { ping_id: id } = (await admin.post(PING, { user_id: 'anna', message: 'hi' })).body as { ping_id: string };
    await settled(id);
    const { body } = await admin.get(`/rc/v1/pings/${id}`);
    const about = { ping_id: id, actor: 'admin', cause: 'call', devices: 1, accepted: 1 };
    expect(body).toMatchObject(about);
    expect((body as { results: unknown }).results).toEqual([
      {
        client_id: 'phone',
        service: 'apns',
        status: 'accepted',
        reason: null,
        attempts: 1,
        at: expect.any(String),
        repeated: false,
        answer_lost: false,
        caught_up_by: null,
      },
    ]);
    const [first] = (await admin.get('/rc/v1/pings?limit=1')).body as object[];
    expect(first).toMatchObject(about);
    expect(service.taken.at(-1)?.device).toBe(TOKEN);
    const [fact] = (await admin.get('/rc/v1/audit?limit=1')).body as object[];
    expect(fact).toMatchObject({ action: 'ping', target: `/rc/v1/pings/${id}` });
    expect((await admin.get('/rc/v1/system/stats?names=pings:*')).body).toContain('pings:ios:accepted');
  });

  it('[REST-35] the API refuses an invalid ping and an invalid page', async () => {
    expect(await admin.get(`/rc/v1/pings/${'0'.repeat(31)}`)).toMatchObject({ status: 404, code: 'ping_not_found' });
    expect(await admin.get('/rc/v1/pings/..%2Fusers')).toMatchObject({ status: 404, code: 'ping_not_found' });
    expect(await admin.get('/rc/v1/pings?after=x')).toMatchObject({ status: 422, code: 'invalid_value' });
    expect(await admin.get('/rc/v1/pings?limit=0')).toMatchObject({ status: 422, code: 'invalid_value' });
    expect(await admin.get('/rc/v1/pings?limit=x')).toMatchObject({ status: 400, code: 'invalid_request' });
    expect((await fetch(`${server.url}/rc/v1/pings`)).status).toBe(401);
  });

  it('[PING-38] no result and no list contains the address of a device', async () => {
    const answers = [await admin.get('/rc/v1/pings'), await admin.get('/rc/v1/audit')];
    for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(TOKEN);
  });

  it('[PING-40] the public key for browsers stays the same after a restart and a reset', async () => {
    const { path: folder, remove } = await temporaryFolder();
    onTestFinished(remove);
    const keys: unknown[] = [];
    for (let start = 0; start < 2; start++) {
      const running = await compose(testConfig(folder), silentLog());
      const caller = new Caller(running.url, await logIn(running.url));
      const keyOf = async () => (await caller.get('/rc/v1/system/web_push_key')).body;
      keys.push(await keyOf());
      expect((await caller.post('/rc/v1/system/reset', {})).status).toBe(200);
      keys.push(await keyOf());
      caller.close();
      await running.close();
    }
    expect(keys[0]).toEqual({ public_key: expect.stringMatching(/^[\w-]{87}$/) });
    expect(new Set(keys.map((key) => JSON.stringify(key))).size).toBe(1);
  });
});

describe('the command line', () => {
  it('[CLI-20] ping --watch waits until every device has its result, and lists the devices that were missed', async () => {
    const env = { TIDEMARK_URL: server.url, TIDEMARK_TOKEN: server.token };
    const good = await runCli(['ping', 'anna', '--message', 'hi', '--watch', '--json'], env);
    expect(good.code).toBe(0);
    expect(JSON.parse(good.out)).toMatchObject({ accepted: 1, pending: 0, results: [{ client_id: 'phone' }] });
    expect(good.err).toContain('1 of 1 devices done, 0 failed, 0 retired\n');
    const bad = await runCli(['ping', 'anna', '--message', 'refuse', '--watch'], env);
    expect(bad.code).toBe(1);
    expect(bad.err).toContain('1 of 1 devices were not reached');
    expect(bad.out).toMatch(/phone\s+apns\s+failed\s+1\s+false\s+APNs answered 400 BadDeviceToken/);
    const list = await runCli(['pings', '--limit', '2'], env);
    expect(list.out.split('\n')[0]).toMatch(/^AT\s+PING_ID\s+ACTOR\s+DEVICES/);
    const [ping] = JSON.parse((await runCli(['pings', '--limit', '1', '--json'], env)).out) as { ping_id: string }[];
    expect((await runCli(['pings', ping?.ping_id ?? ''], env)).out).toContain('BadDeviceToken');
  });

  it('[CLI-21] doctor shows which push services are configured, and tests them on demand', async () => {
    const env = pushEnv({ TIDEMARK_URL: 'http://127.0.0.1:1' });
    const checks = async (args: readonly string[], changes: Readonly<Record<string, string>> = {}) => {
      const { out } = await runCli(['doctor', '--json', ...args], { ...env, ...changes });
      const all = JSON.parse(out) as { name: string; status: string; detail: string }[];
      return all
        .filter(({ name }) => ['apns', 'fcm', 'webpush'].includes(name))
        .map(({ name, status, detail }) => `${status} ${name} ${detail}`);
    };
    expect(await checks([])).toEqual([
      'ok apns key ABC123DEFG of team TEAM000001 for com.example.shop',
      'ok fcm is not configured',
      'warning webpush ping.web_push_subject is not set, and some push services of browsers insist on it',
    ]);
    const before = service.taken.length;
    expect((await checks(['--dry-run-push'])).at(-1)).toBe('ok apns accepts the keys for com.example.shop (accepted)');
    expect(service.taken.length - before).toBe(1);
    expect((await checks(['--dry-run-push'], { TIDEMARK_PING_APNS_KEY: newApnsKey() })).at(-1)).toBe(
      'failed apns does not accept the keys for com.example.shop (APNs answered 403 InvalidProviderToken)',
    );
  });

  it('[CLI-21] doctor tests FCM with a ping that reaches no device', async () => {
    const key = newAccountKey();
    const account = { projectId: 'shop-1', clientEmail: 'push@shop-1.example' };
    const fcm = await openFcmStandIn({
      ...account,
      key,
      behave: () => ({ status: 400, errorCode: 'INVALID_ARGUMENT' }),
    });
    onTestFinished(() => fcm.close());
    const file = {
      type: 'service_account',
      project_id: account.projectId,
      client_email: account.clientEmail,
      private_key: key,
      token_uri: fcm.tokenUri,
    };
    const { out } = await runCli(['doctor', '--json', '--dry-run-push'], {
      TIDEMARK_URL: 'http://127.0.0.1:1',
      TIDEMARK_PING_FCM_ACCOUNT: JSON.stringify(file),
      TIDEMARK_PING_FCM_URL: fcm.origin,
      TIDEMARK_PING_CA_FILE: ca,
    });
    const checks = JSON.parse(out) as { name: string; detail: string }[];
    expect(checks.filter(({ name }) => name === 'fcm').map(({ detail }) => detail)).toEqual([
      'push@shop-1.example of project shop-1',
      'accepts the keys (FCM answered 400 INVALID_ARGUMENT)',
    ]);
    expect(fcm.dryRuns).toBe(1);
  });
});
