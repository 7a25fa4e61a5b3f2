import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ClientList } from '@tidemark/protocol';
import { Caller, makeUser, type TemporaryFolder, temporaryFolder, USER_PASSWORD } from '@tidemark/testing';
import { runInProcess, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// The program as it is shipped: what was built, in a process of its own. `npm test` builds before it runs this.
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

let server: TestServer;
let folder: TemporaryFolder;
let admin: Caller;

beforeAll(async () => {
  server = await startTestServer();
  folder = await temporaryFolder();
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
  await makeUser(server, 'ada');
});

afterAll(async () => {
  admin.close();
  await server.close();
  await folder.remove();
});

function environment(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = '' } = process.env;
  return { PATH, HOME: folder.path, TIDEMARK_URL: server.url, TIDEMARK_PASSWORD: USER_PASSWORD, ...env };
}

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, 'device', ...args], { env: environment(), cwd: folder.path });
}

const device = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runInProcess(['device', ...args], { env: environment(env), folder: folder.path });

const push = (objects: object) => admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects });
const md = async () => (await admin.get('/rc/v1/users/ada/sources/Order/docs/md')).body;
const listed = async (...args: readonly string[]) => {
  const { out } = await device(['list', 'Order', '--json', ...args]);
  return JSON.parse(out) as readonly { readonly id: string; readonly pending: boolean; readonly attributes: object }[];
};

it('[CLI-27] device pull names every source that could not be refreshed, and why', async () => {
  await admin.post('/rc/v1/sources', { name: 'Stock', partition_type: 'app', adapter: 'backend', poll_interval: 0 });
  await makeUser(server, 'eve');
  const at = ['--folder', 'failing-source'];
  await device(['login', 'eve', ...at]);
  const why = 'no address is set for the backend';
  const pulled = await device(['pull', ...at]);
  expect([pulled.code, pulled.out]).toEqual([0, 'SOURCE  OBJECTS\nOrder   0\nStock   0\n']);
  expect(pulled.err).toContain(`! Stock could not be refreshed: ${why} (backend_unavailable)\n`);
  expect(JSON.parse((await device(['pull', '--json', ...at])).out)).toMatchObject({
    sources: [
      { source: 'Order', error: null },
      { source: 'Stock', error: { code: 'backend_unavailable', detail: why } },
    ],
  });
  await admin.delete('/rc/v1/sources/Stock');
});

it('[CLI-51] a simulated device has the name that it was given at its login, or that of the computer', async () => {
  await makeUser(server, 'kim');
  await device(['login', 'kim', '--folder', 'named', '--name', 'Till 3']);
  await device(['login', 'kim', '--folder', 'unnamed']);
  const { body } = await admin.get('/rc/v1/clients?user_id=kim');
  const { clients } = body as ClientList;
  expect(clients.map(({ device_name }) => device_name).sort()).toEqual(['Till 3', hostname()].sort());
  expect(clients[0]).toMatchObject({ device_app_id: 'tidemark device', device_platform: 'node' });
});

it('[CLI-40] what device login and device pull brought is acknowledged when they end', async () => {
  await makeUser(server, 'joe');
  const at = ['--folder', 'acknowledging'];
  const receipt = async () => (await admin.get('/rc/v1/sources/Order/receipts?user_id=joe')).body;
  const pushed = (n: number) => admin.post('/app/v1/Order/push_objects', { user_id: 'joe', objects: { 1: { n } } });
  await pushed(1);
  expect((await device(['login', 'joe', ...at])).code).toBe(0);
  expect(await receipt()).toMatchObject({ seq: 1, devices: 1, delivered: 1, behind: 0 });
  await pushed(2);
  expect((await device(['pull', ...at])).code).toBe(0);
  expect(await receipt()).toMatchObject({ seq: 2, devices: 1, delivered: 1, behind: 0 });
});

it('[FILES-95] a simulated device attaches a file, offline as well, and another one fetches it', async () => {
  await makeUser(server, 'pia');
  const at = ['--folder', 'camera'];
  const bytes = Buffer.from('the roof of the house');
  await writeFile(join(folder.path, 'roof.jpg'), bytes);
  await device(['login', 'pia', ...at]);
  await device(['create', 'Order', 'n=1', '--id', 'p', ...at]);
  await device(['offline', ...at]);
  const offline = await device(['attach', 'Order', 'p', 'photo', 'roof.jpg', '--json', ...at]);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const file = { sha256, size: bytes.length, type: 'image/jpeg', name: 'roof.jpg' };
  expect(JSON.parse(offline.out)).toEqual({ source: 'Order', id: 'p', attribute: 'photo', state: 'local', file });
  expect((await device(['queue', ...at])).out).toContain(sha256);
  expect((await device(['offline', ...at])).err).toContain(': 1 waiting, 0 refused; files not sent: 1\n');
  expect((await device(['logout', ...at])).err).toContain('uploads_pending');
  await device(['online', ...at]);
  const online = await device(['attach', 'Order', 'p', 'photo', 'roof.jpg', '--json', ...at]);
  expect(JSON.parse(online.out)).toMatchObject({ state: 'uploaded', file });
  const other = ['--folder', 'office'];
  await device(['login', 'pia', ...other]);
  expect((await device(['fetch', 'Order', 'p', 'photo', '--output', 'copy.jpg', ...other])).code).toBe(0);
  expect(await readFile(join(folder.path, 'copy.jpg'))).toEqual(bytes);
  const hidden = { photo: { $file: { ...file, name: '.profile' } } };
  await admin.post('/app/v1/Order/push_objects', { user_id: 'pia', objects: { p: hidden } });
  await device(['pull', ...other]);
  expect((await device(['fetch', 'Order', 'p', 'photo', ...other])).code).toBe(0);
  expect(await readFile(join(folder.path, sha256))).toEqual(bytes);
  expect(await device(['fetch', 'Order', 'p', 'n', ...other])).toMatchObject({
    code: 1,
    err: expect.stringContaining('Order p has no file in n'),
  });
  expect(await device(['attach', 'Order', 'p', 'photo', 'gone.jpg', ...at])).toMatchObject({
    code: 2,
    err: expect.stringContaining('gone.jpg cannot be read'),
  });
  await writeFile(join(folder.path, 'wall.jpg'), 'the wall of the house');
  await device(['offline', ...at]);
  expect(await device(['attach', 'Order', 'gone', 'photo', 'wall.jpg', ...at])).toMatchObject({
    code: 1,
    err: expect.stringContaining('Order has no object "gone" (object_not_found)'),
  });
  expect((await device(['queue', ...at])).out).not.toContain('wall.jpg');
});

describe('a simulated device', () => {
  it('[CLI-18] a simulated device signs in, pulls, changes objects, works offline and catches up', async () => {
    await push({ 1: { total: 12 } });
    const signedIn = await device(['login', 'ada']);
    expect([signedIn.code, signedIn.out]).toEqual([0, 'SOURCE  OBJECTS\nOrder   1\n']);
    expect(await listed()).toEqual([{ id: '1', pending: false, attributes: { total: 12 } }]);

    const made = await device(['create', 'Order', 'customer=Ada', 'total=3', '--id', 'o']);
    expect([made.code, made.out]).toEqual([
      0,
      'source      Order\nid          o\npending     false\nattributes  {"customer":"Ada","total":3}\n',
    ]);
    expect(await md()).toEqual({ 1: { total: 12 }, o: { customer: 'Ada', total: 3 } });

    await device(['offline']);
    const edited = await device(['edit', 'Order', 'o', 'total=4', 'paid=true']);
    expect([edited.code, edited.err]).toEqual([0, expect.stringContaining('Kept on the device')]);
    await device(['delete', 'Order', '1']);
    expect(await listed()).toEqual([{ id: 'o', pending: true, attributes: { customer: 'Ada', total: 4, paid: true } }]);
    expect((await device(['queue'])).out.split('\n').map((line) => line.split(/\s+/).slice(0, 4))).toEqual([
      ['STATE', 'OP', 'SOURCE', 'ID'],
      ['waiting', 'update', 'Order', 'o'],
      ['waiting', 'delete', 'Order', '1'],
      [''],
    ]);
    expect((await device(['pull'])).code).toBe(69);

    await push({ 2: { total: 1 } });
    expect((await device(['online'])).code).toBe(0);
    expect(await md()).toEqual({ o: { customer: 'Ada', total: 4, paid: true }, 2: { total: 1 } });
    expect((await listed()).map(({ id }) => id)).toEqual(['2', 'o']);
    expect((await device(['logout'])).code).toBe(0);
    expect((await device(['pull'])).code).toBe(77);
  });

  it('[CLI-18] device watch prints every change until it is stopped', async () => {
    await device(['login', 'ada', '--folder', 'watcher']);
    const child = start(['watch', 'Order', '--json', '--folder', 'watcher']);
    const { stdout, stderr } = child;
    if (stdout === null || stderr === null) throw new Error('the program has no output');
    const lines = createInterface({ input: stdout });
    await once(createInterface({ input: stderr }), 'line');
    const next = async () => JSON.parse(((await once(lines, 'line')) as [string])[0]) as unknown;
    const added = next();
    await push({ w: { n: 1 } });
    expect(await added).toEqual({ change: '+', source: 'Order', id: 'w', pending: false, attributes: { n: 1 } });
    const changed = next();
    await push({ w: { n: 2 } });
    expect(await changed).toMatchObject({ change: '~', attributes: { n: 2 } });
    const gone = next();
    await admin.post('/app/v1/Order/push_deletes', { user_id: 'ada', objects: ['w'] });
    expect(await gone).toMatchObject({ change: '-', id: 'w', attributes: null });
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  it('[CLI-19] device commands report each error in one line', async () => {
    expect(await device(['list', '--folder', 'nowhere'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('there is no device in'),
    });
    expect(await device(['login', 'ada', '--folder', 'wrong'], { TIDEMARK_PASSWORD: 'wrong' })).toMatchObject({
      code: 77,
      err: expect.stringContaining('(invalid_credentials)'),
    });
    await device(['login', 'ada', '--folder', 'mine']);
    const elsewhere = { TIDEMARK_URL: 'http://127.0.0.1:1' };
    expect(await device(['login', 'ada', '--folder', 'mine'], elsewhere)).toMatchObject({
      code: 2,
      err: expect.stringContaining(`belongs to ${server.url}`),
    });
    expect(await device(['login', 'ada', '--folder', 'far'], elsewhere)).toMatchObject({ code: 69 });
    expect(await device(['edit', 'Order', 'nobody', 'a=1', '--folder', 'mine'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('(object_not_found)'),
    });
    expect(await device(['edit', 'Order', 'nobody', 'a', '--folder', 'mine'])).toMatchObject({ code: 2 });
  });

  it('[CLI-19] a change that the server accepts does not repeat the refusal of an earlier one', async () => {
    const at = ['--folder', 'twice'];
    await device(['login', 'ada', ...at]);
    await push({ again: { n: 1 } });
    await device(['offline', ...at]);
    await device(['create', 'Order', 'n=2', '--id', 'again', ...at]);
    expect(await device(['online', ...at])).toMatchObject({ err: expect.stringContaining('1 refused') });
    expect(await device(['edit', 'Order', 'again', 'n=3', ...at])).toMatchObject({ code: 0 });
    expect(await md()).toMatchObject({ again: { n: 3 } });
  });

  it('[CLI-19] device commands show a rejected change with the object as the server has it', async () => {
    await push({ taken: { n: 1 } });
    await device(['login', 'ada', '--folder', 'late']);
    await device(['offline', '--folder', 'late']);
    await admin.post('/app/v1/Order/push_deletes', { user_id: 'ada', objects: ['taken'] });
    await device(['edit', 'Order', 'taken', 'n=2', '--folder', 'late']);
    await device(['online', '--folder', 'late']);
    const { out } = await device(['queue', '--json', '--folder', 'late']);
    expect(JSON.parse(out)).toMatchObject([
      { state: 'conflict', id: 'taken', reason: expect.stringContaining('object_not_found') },
    ]);
  });

  it('[CLI-38] refused changes are made again or forgotten, one or all', async () => {
    const at = ['--folder', 'refused'];
    await device(['login', 'ada', ...at]);
    const refuse = async (id: string) => {
      await device(['offline', ...at]);
      await push({ [id]: { n: 1 } });
      await device(['create', 'Order', 'n=2', '--id', id, ...at]);
      await device(['online', ...at]);
    };
    await refuse('r1');
    await refuse('r2');
    const queue = async () =>
      JSON.parse((await device(['queue', '--json', ...at])).out) as { opId: string; id: string }[];
    const [first] = await queue();
    expect((await device(['queue', ...at])).out).toContain(first?.opId);
    expect(await device(['dismiss', 'nobody', ...at])).toMatchObject({
      code: 1,
      err: expect.stringContaining('(unknown_upload)'),
    });
    expect(await device(['dismiss', first?.opId ?? '', ...at])).toMatchObject({ code: 0 });
    expect((await queue()).map(({ id }) => id)).toEqual(['r2']);

    await admin.post('/app/v1/Order/push_deletes', { user_id: 'ada', objects: ['r2'] });
    await device(['pull', ...at]);
    expect(await device(['retry', ...at])).toMatchObject({ code: 0, err: expect.stringContaining('0 refused') });
    expect(await queue()).toEqual([]);
    expect(await md()).toMatchObject({ r1: { n: 1 }, r2: { n: 2 } });
  });
});

it('[CLI-180] a device with --sqlite keeps its data in one file, and is refused where it keeps it otherwise', async () => {
  const at = ['--folder', 'in-sqlite'];
  await push({ sq1: { total: 1 } });
  expect((await device(['login', 'ada', '--sqlite', ...at])).code).toBe(0);
  await device(['offline', ...at]);
  await device(['edit', 'Order', 'sq1', 'total=2', ...at]);
  const [own] = (await listed(...at)).filter(({ id }) => id === 'sq1');
  expect(own).toMatchObject({ pending: true, attributes: { total: 2 } });
  expect((await readdir(join(folder.path, 'in-sqlite'))).filter((name) => name.startsWith('data'))).toContain(
    'data.sqlite',
  );
  await device(['online', ...at]);
  expect((await md()) as object).toMatchObject({ sq1: { total: 2 } });
  await device(['login', 'ada', '--folder', 'in-files']);
  const refused = await device(['login', 'ada', '--sqlite', '--folder', 'in-files']);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('keeps its data in files')]);
});
