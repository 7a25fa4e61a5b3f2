import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import type { GroupPages, Page, PullAnswer } from '@tidemark/protocol';
import {
  answerJson,
  Caller,
  deviceOf,
  type FakeBackend,
  IS_LONG,
  itLong,
  makeUser,
  openDevice,
  openFakeBackend,
  ServerProcess,
  startValkey,
  type TestDevice,
  temporaryFolder,
} from '@tidemark/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const SECRET = 'shared with the backend';
const DEVICES = 50;
const PINGS_PER_MINUTE = 30;

/** Two servers on one store, each in one or several processes. */
interface Fleet {
  readonly first: ServerProcess;
  readonly second: ServerProcess;
  readonly backend: FakeBackend;
  readonly token: string;
  close(): Promise<void>;
}

async function openFleet(engine: string): Promise<Fleet> {
  const folder = await temporaryFolder();
  const valkey = engine === 'valkey' ? await startValkey() : null;
  const store = { folder: folder.path, ...(valkey === null ? {} : { address: valkey.address }) };
  const backend = await openFakeBackend(() => SECRET);
  const env = {
    TIDEMARK_BACKEND_SECRET: SECRET,
    // A pull waits until another server repeats the query of a killed one.
    TIDEMARK_BACKEND_PULL_WAIT_MS: '60000',
    // A loaded machine may not let Valkey answer for seconds.
    TIDEMARK_VALKEY_ANSWER_MS_MAX: '60000',
    TIDEMARK_METRICS_PUBLIC: 'true',
    TIDEMARK_TRUST_PROXY: 'true',
    TIDEMARK_LIMITS_PINGS_PER_MINUTE_MAX: String(PINGS_PER_MINUTE),
  };
  // Several workers are the usual setup on one machine. The first server to start creates the administrator with a
  // generated password.
  const args = engine === 'embedded' ? ['--workers', '2'] : [];
  const second = await new ServerProcess({ ...store, args, env: { ...env, TIDEMARK_ADMIN_PASSWORD: '' } }).start();
  const first = await new ServerProcess({ ...store, env }).start();
  const close = async () => {
    await Promise.all([first.stop(), second.stop(), backend.close()]);
    await valkey?.remove();
    await folder.remove();
  };
  const token = await logIn(first.url, passwordIn(second.lines));
  const admin = new Caller(first.url, token);
  await admin.post('/rc/v1/system/appserver', { adapter_url: backend.url });
  await admin.post('/rc/v1/sources', { name: 'Note' });
  await admin.post('/rc/v1/sources', { name: 'Team', partition_type: 'group' });
  backend.on('authenticate', (_, response) => answerJson(response, {}));
  admin.close();
  return { first, second, backend, token, close };
}

function passwordIn(lines: readonly string[]): string {
  const [, password = ''] = /the password (\S+) \(shown only this once\)/.exec(lines.join('\n')) ?? [];
  return password;
}

async function logIn(url: string, password: string): Promise<string> {
  const caller = new Caller(url, null);
  const { text } = await caller.post('/rc/v1/system/login', { login: 'admin', password });
  caller.close();
  return text;
}

/** Returns the child processes of a process. */
async function childrenOf(pid: number): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)('pgrep', ['-P', String(pid)]);
  return stdout.split('\n').filter(Boolean).map(Number);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** The tests for servers on any store. Returns the function that gives access to the servers. */
function manyServersOn(engine: 'embedded' | 'valkey'): () => Fleet {
  let fleet: Fleet;
  let names = 0;

  beforeAll(async () => {
    fleet = await openFleet(engine);
  });
  afterAll(() => fleet.close());

  const at = (server: ServerProcess) => ({ url: server.url, token: fleet.token });
  const adminAt = (server: ServerProcess) => {
    const admin = new Caller(server.url, fleet.token);
    onTestFinished(() => admin.close());
    return admin;
  };
  const newUser = async () => {
    const login = `user ${++names}`;
    await makeUser(at(fleet.first), login);
    return login;
  };
  /** The same device at another server. */
  const movedTo = (server: ServerProcess, device: TestDevice) => deviceOf(at(server), device.session);
  const listenAt = async (server: ServerProcess, device: TestDevice) => {
    const events = await movedTo(server, device).listen();
    onTestFinished(() => events.close());
    return events;
  };

  // What servers do with messages does not depend on what brings them, so one store is enough every day.
  const itOnce = engine === 'valkey' ? it : itLong;

  it('[MANY-1] a push at one server is announced to the devices that listen at the other', async () => {
    const login = await newUser();
    const device = await openDevice(at(fleet.first), login);
    const [here, there] = [await listenAt(fleet.second, device), adminAt(fleet.first)];
    await there.post('/app/v1/Note/push_objects', { user_id: login, objects: { 1: { text: 'hello' } } });
    expect(await here.next()).toEqual({ name: 'changed', data: { source: 'Note' } });
  });

  it('[MANY-1] a change made at one server reaches the devices that listen at the other with its page', async () => {
    const login = await newUser();
    const device = await openDevice(at(fleet.first), login);
    const events = await movedTo(fleet.second, device).listen({ pages: ['Note'] });
    onTestFinished(() => events.close());
    const push = (server: ServerProcess, objects: unknown) =>
      adminAt(server).post('/app/v1/Note/push_objects', { user_id: login, objects });
    const pull = async (token?: string) => {
      const sources = { Note: token === undefined ? {} : { token } };
      const { body } = await device.api.post('/sync/v1/pull', { client_id: device.id, sources });
      return (body as { sources: { Note: Page } }).sources.Note;
    };
    await push(fleet.first, { 1: { text: 'one' } });
    expect((await events.next())?.name).toBe('changed');
    let { token } = await pull();
    for (const [index, server] of [fleet.first, fleet.second, fleet.first].entries()) {
      await push(server, { 1: { text: `${index}` } });
      const page = await pull(token);
      expect(await events.next()).toEqual({ name: 'changed', data: { source: 'Note', from: token, page } });
      token = page.token;
    }
  });

  it('[EVENT-13] a source that is declared, changed or dropped at one server makes devices at all servers pull', async () => {
    const device = await openDevice(at(fleet.first), await newUser());
    const events = await listenAt(fleet.second, device);
    const own = await openDevice(at(fleet.first), await newUser());
    const here = await listenAt(fleet.first, own);
    const admin = adminAt(fleet.first);
    for (const announce of [
      () => admin.post('/rc/v1/sources', { name: 'Late' }),
      () => admin.put('/rc/v1/sources/Late', { data: { read_only: true } }),
      () => admin.delete('/rc/v1/sources/Late'),
    ]) {
      expect((await announce()).status).toBe(200);
      for (const reader of [events, here]) expect(await reader.next()).toEqual({ name: 'pull', data: {} });
    }
  });

  it('[GROUP-30] a grant and a revoke at one server reach a device that listens at the other', async () => {
    const login = await newUser();
    const admin = adminAt(fleet.first);
    await admin.post('/app/v1/Team/push_objects', { group: login, objects: { v: { a: 1 } } });
    const device = await openDevice(at(fleet.second), login);
    const events = await listenAt(fleet.second, device);
    const pull = async (groups: object) => {
      const asked = { client_id: device.id, sources: { Team: { groups } } };
      const { body } = await movedTo(fleet.second, device).api.post('/sync/v1/pull', asked);
      return (body as PullAnswer).sources.Team as GroupPages;
    };
    expect(await pull({})).toEqual({ groups: {}, more: false });
    const announced = { name: 'changed', data: { source: 'Team' } };
    await admin.put(`/rc/v1/users/${encodeURIComponent(login)}/groups`, { groups: [login] });
    expect(await events.next()).toEqual(announced);
    const granted = (await pull({})).groups[login] as Page;
    expect(granted.put).toEqual({ v: { a: 1 } });
    await admin.post('/app/v1/Team/push_objects', { group: login, objects: { v: { a: 2 } } });
    expect(await events.next()).toEqual(announced);
    await admin.put(`/rc/v1/users/${encodeURIComponent(login)}/groups`, { groups: [] });
    expect(await events.next()).toEqual(announced);
    expect(await pull({ [login]: { token: granted.token } })).toEqual({ groups: {}, gone: [login], more: false });
  });

  it('[MANY-2] a token revoked at one server is refused by the other at once, and its stream there ends', async () => {
    const device = await openDevice(at(fleet.second), await newUser());
    const events = await listenAt(fleet.second, device);
    const admin = adminAt(fleet.first);
    const tokens = (await admin.get('/rc/v1/tokens')).body as { id: string; client: string | null }[];
    const { id } = tokens.find(({ client }) => client === device.id) ?? { id: '' };
    expect((await admin.delete(`/rc/v1/tokens/${id}`)).status).toBe(200);
    expect((await movedTo(fleet.second, device).api.get('/sync/v1/sources')).code).toBe('token_revoked');
    expect(await events.rest()).toEqual([{ name: 'ended', data: { code: 'token_invalid' } }]);
  });

  it('[WIPE-3] a device that is ordered at one server to wipe itself gets nothing from the other, and its stream there ends', async () => {
    const device = await openDevice(at(fleet.second), await newUser());
    const events = await listenAt(fleet.second, device);
    const calling = movedTo(fleet.second, device).api;
    expect((await calling.get('/sync/v1/sources')).status).toBe(200);
    expect((await adminAt(fleet.first).post(`/rc/v1/clients/${device.id}/wipe`, {})).status).toBe(200);
    expect((await calling.get('/sync/v1/sources')).code).toBe('client_wiped');
    expect(await events.rest()).toEqual([{ name: 'ended', data: { code: 'client_wiped' } }]);
  });

  it('[MANY-3] a ping reaches a device that listens at another server than the one that delivers it', async () => {
    const login = await newUser();
    const device = await openDevice(at(fleet.first), login);
    await device.api.put(`/sync/v1/clients/${device.id}`, { device_type: 'live', device_push_type: 'live' });
    const events = await listenAt(fleet.second, device);
    for (const server of [fleet.first, fleet.second]) {
      const sent = await adminAt(server).post('/rc/v1/users/ping', { user_id: [login], message: `from ${server.url}` });
      expect(sent.body).toMatchObject({ devices: 1 });
      expect(await events.next()).toMatchObject({ name: 'ping', data: { message: `from ${server.url}` } });
    }
  });

  itOnce(
    '[PING-60] a ping reaches a connected device that has named no type, at whichever server it listens',
    async () => {
      const login = await newUser();
      const device = await openDevice(at(fleet.first), login);
      const ping = async (server: ServerProcess) =>
        (await adminAt(server).post('/rc/v1/users/ping', { user_id: [login], message: `from ${server.url}` })).body;
      const skipped = [{ client_id: device.id, reason: 'no_device_type' }];
      expect(await ping(fleet.first)).toMatchObject({ devices: 0, skipped });
      const events = await listenAt(fleet.second, device);
      for (const server of [fleet.first, fleet.second]) {
        expect(await ping(server)).toMatchObject({ devices: 1, skipped: [] });
        expect(await events.next()).toMatchObject({ name: 'ping', data: { message: `from ${server.url}` } });
      }
    },
  );

  itOnce('[MANY-4] a device listens at one server: connecting to another ends the older stream', async () => {
    const device = await openDevice(at(fleet.first), await newUser());
    const older = await listenAt(fleet.first, device);
    const newer = await listenAt(fleet.second, device);
    expect(await older.rest()).toEqual([{ name: 'ended', data: { code: 'replaced' } }]);
    newer.close();
  });

  itOnce('[MANY-5] a source changed at one server is changed at the other', async () => {
    const source = '/rc/v1/sources/Note';
    for (const [server, pollInterval] of [
      [fleet.first, 77],
      [fleet.second, 78],
    ] as const) {
      await adminAt(server).put(source, { data: { poll_interval: pollInterval }, user_name: 'admin' });
      for (const other of [fleet.first, fleet.second]) {
        expect((await adminAt(other).get(source)).body).toMatchObject({ poll_interval: pollInterval });
      }
    }
  });

  it('[MANY-7] many devices that pull at both servers at once cause one query to the backend', async () => {
    const admin = adminAt(fleet.first);
    await admin.post('/rc/v1/sources', { name: 'Stock', partition_type: 'app', adapter: 'backend' });
    const device = await openDevice(at(fleet.first), await newUser());
    const asked = new Promise<ServerResponse>((resolve) => {
      fleet.backend.on('query', (_, response) => resolve(response));
    });
    const pulls = Array.from({ length: DEVICES }, (_, index) =>
      movedTo(index % 2 === 0 ? fleet.first : fleet.second, device).api.post('/sync/v1/pull', {
        client_id: device.id,
        sources: { Stock: {} },
      }),
    );
    answerJson(await asked, { shovel: { count: 3 } });
    const pages = (await Promise.all(pulls)).map(({ body }) => (body as { sources: { Stock: Page } }).sources.Stock);
    expect(fleet.backend.callsOf('query')).toHaveLength(1);
    // Devices at the other server have waited for the same answer.
    expect(pages.map(({ put }) => put)).toEqual(pages.map(() => ({ shovel: { count: 3 } })));
  });

  it('[MANY-20] the outcome of a queued upload is announced to its device at whichever server it listens', async () => {
    const source = { name: 'Visit', adapter: 'backend', poll_interval: -1, cud_queue: 'visits' };
    await adminAt(fleet.second).post('/rc/v1/sources', source);
    fleet.backend.on('create', (_, response) => answerJson(response, {}, 422));
    const device = await openDevice(at(fleet.first), await newUser());
    for (const [pushedAt, listensAt] of [
      [fleet.first, fleet.second],
      [fleet.second, fleet.first],
    ] as const) {
      const events = await listenAt(listensAt, device);
      const change = { op_id: `at ${pushedAt.url}`, source: 'Visit', op: 'create', id: 'tmp', attributes: { a: 1 } };
      await movedTo(pushedAt, device).api.post('/sync/v1/push', { client_id: device.id, changes: [change] });
      expect(await events.next()).toEqual({ name: 'outcomes', data: {} });
    }
  });

  it('[MANY-18] a scrape shows the metrics of all workers of a server, and those of the installation once', async () => {
    const metrics = async () => {
      const scraper = new Caller(fleet.second.url, null);
      const { text } = await scraper.get('/metrics');
      scraper.close();
      return text;
    };
    const reading = async (name: string) => {
      const [, value = 'none'] = new RegExp(`^${name} (.*)$`, 'm').exec(await metrics()) ?? [];
      return Number(value);
    };
    const versions = 'tidemark_http_request_seconds_count{method="GET",route="/version",status="2xx"}'.replaceAll(
      /[{}]/g,
      '.',
    );
    for (let count = 0; count < 6; count++) {
      // Each request uses its own connection, so that different workers get them.
      const caller = new Caller(fleet.second.url, null);
      await caller.get('/version');
      caller.close();
    }
    // The measurement is made after the answer.
    await until(async () => (await reading(versions)) === 6);
    const device = await openDevice(at(fleet.first), await newUser());
    await listenAt(fleet.second, device);
    expect(await reading('tidemark_event_streams')).toBe(1);
    expect(await reading('tidemark_users')).toBeGreaterThan(0);
    expect((await metrics()).match(/^tidemark_users /gm)).toHaveLength(1);
  });

  itOnce('[EXPLAIN-6] a device that listens at one server is online at every other', async () => {
    const device = await openDevice(at(fleet.first), await newUser());
    const isOnlineAt = async (server: ServerProcess) => {
      const { body } = await adminAt(server).get(`/rc/v1/clients/${device.id}/sync`);
      return (body as { readonly online: boolean }).online;
    };
    expect(await isOnlineAt(fleet.first)).toBe(false);
    await listenAt(fleet.second, device);
    expect([await isOnlineAt(fleet.first), await isOnlineAt(fleet.second)]).toEqual([true, true]);
  });

  itOnce('[DEVICE-26] a listing finds devices that listen at another server', async () => {
    const login = await newUser();
    const [here, elsewhere, away] = [
      await openDevice(at(fleet.first), login),
      await openDevice(at(fleet.first), login),
      await openDevice(at(fleet.first), login),
    ];
    await listenAt(fleet.first, here);
    await listenAt(fleet.second, elsewhere);
    const listed = async (server: ServerProcess) => {
      const { body } = await adminAt(server).get(`/rc/v1/clients?user_id=${encodeURIComponent(login)}`);
      const { clients } = body as { readonly clients: readonly { client_id: string; online: boolean }[] };
      return Object.fromEntries(clients.map(({ client_id, online }) => [client_id, online]));
    };
    const expected = { [here.id]: true, [elsewhere.id]: true, [away.id]: false };
    expect([await listed(fleet.first), await listed(fleet.second)]).toEqual([expected, expected]);
  });

  itOnce(
    '[STALE-3] a change counts at the server where its device was, until the device acknowledges at another',
    async () => {
      const login = await newUser();
      const device = await openDevice(at(fleet.first), login);
      const [admin, elsewhere] = [adminAt(fleet.second), movedTo(fleet.second, device)];
      await admin.post('/rc/v1/sources', { name: 'Fresh' });
      const pushed = (text: string) =>
        admin.post('/app/v1/Fresh/push_objects', { user_id: login, objects: { 1: { text } } });
      const pull = async (from: TestDevice, token: string | null) => {
        const { body } = await from.api.post('/sync/v1/pull', { client_id: device.id, sources: { Fresh: { token } } });
        return (body as { readonly sources: { readonly Fresh: Page } }).sources.Fresh.token;
      };
      const stalenessAtFirst = async () => {
        const { text } = await adminAt(fleet.first).get('/metrics');
        return Number(/^tidemark_staleness_seconds\{source="Fresh"\} (.*)$/m.exec(text)?.[1]);
      };
      await pushed('one');
      const token = await pull(device, await pull(device, null));
      expect(await stalenessAtFirst()).toBe(0);
      await pushed('two');
      await until(async () => (await stalenessAtFirst()) > 0);
      const next = await pull(elsewhere, token);
      expect(await stalenessAtFirst()).toBeGreaterThan(0);
      await elsewhere.api.post('/sync/v1/ack', { client_id: device.id, sources: { Fresh: next } });
      await until(async () => (await stalenessAtFirst()) === 0);
    },
  );

  it('[MANY-8] a reset at one server ends the streams at the other', async () => {
    const device = await openDevice(at(fleet.second), await newUser());
    const events = await listenAt(fleet.second, device);
    expect((await adminAt(fleet.first).post('/rc/v1/system/reset', {})).status).toBe(200);
    const rest = await events.rest();
    expect(rest.at(-1)).toEqual({ name: 'ended', data: { code: 'token_invalid' } });
  });

  itOnce('[MANY-6] failed logins at all servers count together', async () => {
    const login = await newUser();
    const tryAt = async ({ url }: ServerProcess, password: string) => {
      const door = new Caller(url, null);
      onTestFinished(() => door.close());
      return (await door.post('/rc/v1/system/login', { login, password }, { 'x-forwarded-for': '203.0.113.7' })).code;
    };
    const codes: (string | null)[] = [];
    // Hints take an unknown time, so this repeats until they have arrived.
    for (let count = 0; count < 20 && !codes.includes('rate_limited'); count++) {
      codes.push(await tryAt(count % 2 === 0 ? fleet.first : fleet.second, 'wrong'));
    }
    expect(codes.filter((code) => code === 'invalid_credentials').length).toBeLessThan(10);
    expect(codes).toContain('rate_limited');
  });

  itOnce('[MANY-22] pings of one caller at all servers count together', async () => {
    const login = await newUser();
    const pingAt = async (server: ServerProcess) =>
      (await adminAt(server).post('/rc/v1/users/ping', { user_id: [login] })).code;
    const codes: (string | null)[] = [];
    // As many as each server would admit by itself, since hints may still be under way.
    for (let count = 0; count < 2 * PINGS_PER_MINUTE && !codes.includes('rate_limited'); count++) {
      codes.push(await pingAt(count % 2 === 0 ? fleet.first : fleet.second));
    }
    expect(codes.filter((code) => code === null).length).toBeLessThan(1.5 * PINGS_PER_MINUTE);
    expect(codes).toContain('rate_limited');
  });

  it('[MANY-13] when a server is killed during a query, the other repeats it, and its devices pull what was not announced', async () => {
    const admin = adminAt(fleet.first);
    await admin.post('/rc/v1/system/appserver', { adapter_url: fleet.backend.url });
    await admin.post('/rc/v1/sources', { name: 'Left', partition_type: 'app', adapter: 'backend' });
    const device = await openDevice(at(fleet.first), await newUser());
    const events = await listenAt(fleet.second, device);
    const pullAt = (server: ServerProcess) =>
      movedTo(server, device).api.post('/sync/v1/pull', { client_id: device.id, sources: { Left: {} } });
    let queries = 0;
    const asked = new Promise<void>((resolve) => {
      fleet.backend.on('query', (_, response) => {
        if (++queries === 1) resolve();
        else answerJson(response, { spade: { count: 1 } });
      });
    });
    const cut = pullAt(fleet.first).catch(() => 'cut');
    await asked;
    await fleet.first.kill();
    const { body } = await pullAt(fleet.second);
    expect((body as { sources: { Left: Page } }).sources.Left).toMatchObject({ put: { spade: { count: 1 } } });
    expect([await cut, queries]).toEqual(['cut', 2]);
    const names: unknown[] = [];
    while (!names.includes('pull')) names.push((await events.next())?.name);
  });

  return () => fleet;
}

/** More than the 511 connections that Node.js lets wait by default. */
const RETURNING_DEVICES = 800;

it.each([...(IS_LONG ? [['one process', []] as const] : []), ['several workers', ['--workers', '2']]] as const)(
  '[CONN-9] a busy server of %s keeps the connections of many devices that come back at once',
  async (_, args) => {
    const folder = await temporaryFolder();
    const server = await new ServerProcess({ folder: folder.path, args }).start();
    const { pid, url } = server;
    process.kill(pid, 'SIGSTOP');
    const sockets = Array.from({ length: RETURNING_DEVICES }, () => connect(Number(new URL(url).port), '127.0.0.1'));
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy();
      process.kill(pid, 'SIGCONT');
      await server.stop();
      await folder.remove();
    });
    let connected = 0;
    for (const socket of sockets) socket.on('connect', () => connected++).on('error', () => undefined);
    await expect.poll(() => connected).toBe(sockets.length);
  },
);

describe('two servers on one embedded store, of which one has several workers', () => {
  const fleet = manyServersOn('embedded');

  it('[WORK-7] several workers report once that they are ready, a killed worker is replaced, and all stop together', async () => {
    const server = fleet().second;
    expect(server.lines).toHaveLength(2);
    const before = await childrenOf(server.pid);
    expect(before).toHaveLength(2);
    process.kill(before[0] ?? 0, 'SIGKILL');
    await until(async () => {
      const now = await childrenOf(server.pid);
      return now.length === 2 && now.some((pid) => !before.includes(pid));
    });
    expect(server.stderr).toMatch(/"signal":"SIGKILL","restart_in_ms":100,"event":"worker_ended"/);
    expect(await (await fetch(`${server.url}/healthz`)).json()).toEqual({ status: 'ok' });
    const children = await childrenOf(server.pid);
    expect((await server.stop()).code).toBe(0);
    for (const pid of children) expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
  });
});

describe('two servers on one Valkey', () => {
  manyServersOn('valkey');
});
