import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { compose, type Running } from '@tidemark/server';
import { openMovable, openStore } from '@tidemark/server/open-engines';
import {
  Caller,
  deviceOf,
  makeUser,
  openDevice,
  startValkey,
  type TestDevice,
  temporaryFolder,
  type ValkeyServer,
} from '@tidemark/testing';
import { logIn, runInProcess, silentLog, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

let valkey: ValkeyServer;
let home: string;
let removeHome: () => Promise<void>;

beforeAll(async () => {
  valkey = await startValkey();
  const folder = await temporaryFolder();
  home = folder.path;
  removeHome = folder.remove;
});

afterAll(async () => {
  await valkey.remove();
  await removeHome();
});

/** Runs the built program in its own process. */
async function migrateApart(...args: readonly string[]) {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [MAIN, 'migrate', ...args], {
    env: { PATH, HOME: home },
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number | null, out, err };
}

/** Runs the program in this process, which is faster. It then does not notice servers on a folder. */
const migrate = (...args: readonly string[]) =>
  runInProcess(['migrate', ...args], { env: { HOME: home }, folder: home });

type Place = { readonly folder: string } | { readonly prefix: string };

function configAt(place: Place) {
  const config = testConfig('folder' in place ? join(home, place.folder) : join(home, 'unused'));
  return 'folder' in place
    ? config
    : { ...config, store: valkey.address, valkey: { ...config.valkey, prefix: place.prefix } };
}

interface Served extends Running {
  readonly token: string;
  readonly admin: Caller;
}

async function serve(place: Place): Promise<Served> {
  const running = await compose(configAt(place), silentLog());
  const token = await logIn(running.url);
  const admin = new Caller(running.url, token);
  let isOpen = true;
  const close = async () => {
    if (isOpen) await running.close();
    isOpen = false;
    admin.close();
  };
  onTestFinished(close);
  return { ...running, token, admin, close };
}

const place = (one: Place) => ('folder' in one ? one.folder : valkey.address);
const prefixOf = (side: 'from' | 'to', one: Place) => ('prefix' in one ? [`--${side}-prefix`, one.prefix] : []);

async function moved(from: Place, to: Place): Promise<Record<string, number>> {
  const ends = ['--from', place(from), ...prefixOf('from', from), '--to', place(to), ...prefixOf('to', to)];
  const result = await migrateApart(...ends, '--json');
  expect(result).toMatchObject({ code: 0, err: expect.stringMatching(/^copying: .* pieces/) });
  return (JSON.parse(result.out) as { counts: Record<string, number> }).counts;
}

/** Makes every kind of write. */
async function makeHistory({ admin, url, token }: Served): Promise<TestDevice> {
  const done = async (call: Promise<{ readonly status: number; readonly text: string }>) => {
    const { status, text } = await call;
    expect([status, text]).toEqual([200, text]);
  };
  for (const login of ['ada', 'bob', 'gone']) await makeUser({ url, token }, login);
  await done(admin.post('/rc/v1/sources', { name: 'Order' }));
  await done(admin.post('/rc/v1/sources', { name: 'Part', partition_type: 'app' }));
  await done(admin.post('/rc/v1/sources', { name: 'Dropped' }));
  const push = (source: string, call: string, body: object) => done(admin.post(`/app/v1/${source}/${call}`, body));
  const objects = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`o${index}`, { n: index, name: `é ${index}` }]),
  );
  await push('Order', 'push_objects', { user_id: 'ada', objects });
  await push('Order', 'push_objects', { user_id: 'bob', objects: { b1: { n: 1 } } });
  await push('Order', 'push_objects', { user_id: 'gone', objects: { g: { n: 1 } } });
  await push('Dropped', 'push_objects', { user_id: 'ada', objects: { d: { n: 1 } } });
  await push('Part', 'push_objects', { objects: { p1: { size: 'L' }, p2: { size: 'M' }, p3: { size: 'S' } } });
  const device = await openDevice({ url }, 'ada');
  await openDevice({ url }, 'gone');
  await push('Order', 'push_deletes', { user_id: 'ada', objects: ['o3', 'o4'] });
  await push('Order', 'fast_insert', { user_id: 'ada', objects: { fresh: { n: 1, extra: [1, { deep: null }] } } });
  await push('Order', 'fast_update', { user_id: 'ada', delete_data: { o5: { n: 5 } }, data: { o5: { n: 50 } } });
  await push('Order', 'fast_delete', { user_id: 'ada', data: { o6: { n: 6, name: 'é 6' } } });
  await done(admin.post('/rc/v1/store/motd', { data: 'hello', append: false }));
  await done(admin.post('/rc/v1/store/motd', { data: ' world', append: true }));
  await done(admin.post('/rc/v1/users/ada/sources/Order/docs/extra', { data: { a: { b: '1' } }, append: false }));
  await done(
    admin.post(`/rc/v1/clients/${device.id}/sources/Order/docs/note`, { data: 'of the device', append: false }),
  );
  await done(admin.put('/rc/v1/users/ada', { attributes: { colour: 'green' } }));
  await done(admin.put('/rc/v1/sources/Order', { data: { poll_interval: 77 }, user_name: 'ada' }));
  await done(admin.delete('/rc/v1/users/gone'));
  await done(admin.delete('/rc/v1/sources/Dropped'));
  const changes = [{ op_id: 'op1', source: 'Order', op: 'create', id: 'tmp', attributes: { made: 'on the device' } }];
  await done(device.api.post('/sync/v1/push', { client_id: device.id, changes }));
  return device;
}

/** Everything that the API shows, except for effects of the requests themselves. */
async function documentsSeen(admin: Caller, phone: string, tablet: string): Promise<Record<string, unknown>> {
  const paths = [
    ...['/rc/v1/users', '/rc/v1/users/ada', '/rc/v1/users/bob', '/rc/v1/users/ada/clients', '/rc/v1/users/gone'],
    ...['/rc/v1/sources/type/user', '/rc/v1/sources/type/app', '/rc/v1/sources/Order', '/rc/v1/sources/Part'],
    ...['/rc/v1/store/motd', '/rc/v1/users/ada/sources/Order/docnames', '/rc/v1/users/ada/sources/Order/docs/extra'],
    ...['/rc/v1/users/ada/sources/Order/docs/md', '/rc/v1/users/bob/sources/Order/docs/md'],
    ...[
      '/rc/v1/users/*/sources/Part/docs/md',
      `/rc/v1/clients/${phone}`,
      `/rc/v1/clients/${phone}/sources/Order/docs/note`,
    ],
    ...[`/rc/v1/clients/${phone}/sources/Order/docs/cd`, `/rc/v1/clients/${tablet}/sources/Order/docs/cd`],
    ...[`/rc/v1/clients/${phone}/sources/Order/docnames`, '/rc/v1/system/appserver'],
  ];
  const answers = await Promise.all(
    paths.map(async (path) => {
      const { status, body } = await admin.get(path);
      const { request_id: _id, ...problem } = status === 200 ? {} : (body as { readonly request_id?: string });
      return [path, status === 200 ? body : problem] as const;
    }),
  );
  return Object.fromEntries(answers);
}

interface Page {
  readonly token: string;
  readonly more: boolean;
  readonly put?: object;
  readonly patch?: object;
  readonly delete?: readonly string[];
}

async function pull(device: TestDevice, token: string | null, max = 500): Promise<Page> {
  const sources = { Order: token === null ? {} : { token } };
  const body = { client_id: device.id, sources, max_objects: max };
  const { status, body: answer, text } = await device.api.post('/sync/v1/pull', body);
  expect([status, text]).toEqual([200, text]);
  const { Order } = (answer as { sources: { Order: Page } }).sources;
  return Order;
}

async function caughtUp(device: TestDevice, token: string | null): Promise<string> {
  let page = await pull(device, token);
  while (page.more) page = await pull(device, page.token);
  return page.token;
}

/** The same device at another server. */
function at(served: Served, device: TestDevice): TestDevice {
  const other = deviceOf({ url: served.url }, device.session);
  onTestFinished(() => other.api.close());
  return other;
}

async function pushOne({ admin }: Served, id: string, n: number): Promise<void> {
  const reply = await admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects: { [id]: { n } } });
  expect(reply.status).toBe(200);
}

async function queueJobs(where: Place): Promise<void> {
  const store = await openStore(configAt(where));
  const jobs = store.jobs({ clock: { nowMs: () => 1_000 } });
  await jobs.pause('held');
  const job = { kind: 'test', payload: 'precious', attemptsMax: 3, order: 'x' };
  await jobs.enqueueAll('held', [job, { ...job, payload: 'next' }]);
  await store.close();
}

async function queuedPayloads(where: Place): Promise<readonly (string | undefined)[]> {
  const store = await openStore(configAt(where));
  const jobs = store.jobs({ clock: { nowMs: () => 2_000 } });
  const { counts, isPaused } = await jobs.describe('held');
  expect([counts, isPaused]).toEqual([{ due: 1, delayed: 0, waiting: 1, leased: 0, dead: 0 }, true]);
  await jobs.resume('held');
  const first = await jobs.lease('held', 1_000);
  if (first !== null) await jobs.giveBack(first);
  await jobs.pause('held');
  await store.close();
  return [first?.payload];
}

describe('tidemark migrate', () => {
  it('[MIGRATE-7] migrate moves everything to Valkey and back, and devices continue from any token', {
    timeout: 600_000,
  }, async () => {
    const [folder, prefix, back]: [Place, Place, Place] = [{ folder: 'old' }, { prefix: 'moved:' }, { folder: 'new' }];
    const first = await serve(folder);
    const phone = await makeHistory(first);
    const tablet = await openDevice({ url: first.url }, 'ada');
    const caught = await caughtUp(phone, null);
    const half = (await pull(tablet, null, 7)).token;
    await pushOne(first, 'later', 1);
    await first.admin.post('/app/v1/Order/push_deletes', { user_id: 'ada', objects: ['o9'] });
    const current = await caughtUp(phone, caught);
    const pages = async (served: Served) => [
      await pull(at(served, phone), current),
      await pull(at(served, phone), caught),
      await pull(at(served, tablet), half),
    ];
    // Acknowledgements of devices are stored after their answers; a stopped server has stored all of them.
    const look = async (where: Place) => {
      const looking = await serve(where);
      const seen = await documentsSeen(looking.admin, phone.id, tablet.id);
      await looking.close();
      return seen;
    };
    const before = await pages(first);
    expect(before[0]).toEqual({ ...before[0], more: false, token: current });
    expect(Object.keys(before[1]?.put ?? {})).toEqual(['later']);
    await first.close();
    const shownBefore = await look(folder);
    await queueJobs(folder);

    const counts = await moved(folder, prefix);
    expect(counts).toMatchObject({
      partition: 3,
      user: 3,
      client: 2,
      source: 2,
      tidemark: 2,
      job: 2,
      queue: 1,
      tombstone: 4,
    });
    expect(await queuedPayloads(prefix)).toEqual(['precious']);
    expect(await look(prefix)).toEqual(shownBefore);
    const second = await serve(prefix);
    expect(await pages(second)).toEqual(before);
    await pushOne(second, 'on valkey', 2);
    const news = await pull(at(second, phone), current);
    expect(news).toMatchObject({ put: { 'on valkey': { n: 2 } }, more: false });
    const then = await pages(second);
    await second.close();
    const shownThen = await look(prefix);

    expect(await moved(prefix, back)).toMatchObject({ record: (counts.record ?? 0) + 1, job: 2 });
    expect(await queuedPayloads(back)).toEqual(['precious']);
    expect(await look(back)).toEqual(shownThen);
    const third = await serve(back);
    expect(await pages(third)).toEqual(then);
    expect(await pull(at(third, phone), news.token)).toEqual({ ...news, put: undefined, token: news.token });
    await pushOne(third, 'at home', 3);
    expect(await pull(at(third, phone), news.token)).toMatchObject({ put: { 'at home': { n: 3 } } });
    expect(Object.keys((await pull(at(third, phone), current)).put ?? {})).toEqual(['on valkey', 'at home']);
    const repeated = [{ op_id: 'op1', source: 'Order', op: 'create', id: 'tmp', attributes: { made: 'again' } }];
    const again = await at(third, phone).api.post('/sync/v1/push', { client_id: phone.id, changes: repeated });
    expect(again.body).toMatchObject({ outcomes: [{ op_id: 'op1', status: 'applied' }] });
    const md = (await third.admin.get('/rc/v1/users/ada/sources/Order/docs/md')).body as Record<string, object>;
    expect(Object.values(md).filter((object) => 'made' in object)).toEqual([{ made: 'on the device' }]);
  });

  it('[MIGRATE-6] migrate refuses a source that a server uses, and a target that is not empty', async () => {
    const served = await serve({ folder: 'busy' });
    const used = await serve({ prefix: 'busy:' });
    const busy = await migrate('--from', valkey.address, '--from-prefix', 'busy:', '--to', 'out');
    expect(busy).toMatchObject({ code: 1, err: expect.stringMatching(/a server uses .*busy:.*\n.*stop all servers/) });
    const open = await migrateApart('--from', 'busy', '--to', 'out');
    expect(open).toMatchObject({ code: 1, err: expect.stringMatching(/a server uses .*busy\n/) });
    await used.close();
    await served.close();
    const full = await migrate('--from', 'busy', '--to', valkey.address, '--to-prefix', 'busy:', '--clean');
    expect(full).toMatchObject({ code: 1, err: expect.stringMatching(/prefix busy: is not empty/) });
    const same = await migrate('--from', 'busy', '--to', './busy');
    expect(same).toMatchObject({ code: 2, err: expect.stringMatching(/both source and target/) });
    const secret = await migrate('--from', 'busy', '--to', 'valkey://user:secret@127.0.0.1:1');
    expect(secret).toMatchObject({ code: 78, err: expect.stringMatching(/without login and password/) });
    expect(secret.err).not.toContain('secret@');
    await (await serve({ folder: 'busy' })).close();
  });

  it('[MIGRATE-4] serve reports an interrupted migration, the target can be cleaned, and the source can be released', async () => {
    const [from, to]: [Place, Place] = [{ folder: 'kept' }, { prefix: 'half:' }];
    await (await serve(from)).close();
    const ends = ['--from', 'kept', '--to', valkey.address, '--to-prefix', 'half:'];
    // The state after a migration was killed during its comparison.
    const half = await openMovable(configAt(to), { as: 'target', isCleaned: false });
    await half.import([{ what: 'entry', key: ['user', 'stray'], value: '{}', version: 1 }]);
    await half.close();
    const source = await openMovable(configAt(from), { as: 'source', isMovedAllowed: false });
    await source.setMigrationState({ state: 'moving', to: 'half' });
    await source.close();
    await expect(serve(to)).rejects.toThrow(/holds a migration that was broken off/);
    await expect(serve(from)).rejects.toThrow(/was being moved to half/);
    expect(await migrate(...ends)).toMatchObject({ code: 1, err: expect.stringMatching(/broken off; add --clean/) });
    expect(await migrate('--release', 'kept')).toMatchObject({ code: 0, err: expect.stringMatching(/may open/) });
    await (await serve(from)).close();
    expect(await migrate(...ends, '--clean')).toMatchObject({ code: 0, out: expect.stringMatching(/^user +1$/m) });
    expect(await migrate('--release', 'kept')).toMatchObject({ code: 1, err: expect.stringMatching(/was moved to/) });
    await (await serve(to)).close();
  });
});
