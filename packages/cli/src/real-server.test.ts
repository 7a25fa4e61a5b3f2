import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { IS_LONG, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { type Outcome, runInProcess } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// The server, and the commands run by `runBuilt`: what was built, in processes of their own. `npm test` builds before it runs this.
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const PASSWORD = 'a harbour at dawn';

let folder: TemporaryFolder;
let server: { readonly process: ChildProcess; readonly url: string };

beforeAll(async () => {
  folder = await temporaryFolder();
  server = await serve('data');
});

afterAll(async () => {
  server.process.kill('SIGKILL');
  await folder.remove();
});

function at(name: string): string {
  return join(folder.path, name);
}

function environment(): Record<string, string> {
  const { PATH = '' } = process.env;
  return { PATH, HOME: folder.path };
}

function start(args: readonly string[], env: Readonly<Record<string, string>>) {
  return spawn(process.execPath, [MAIN, ...args], { env: { ...environment(), ...env }, cwd: folder.path });
}

async function serve(data: string) {
  const child = start(['serve', '--port', '0', '--data', data], { TIDEMARK_ADMIN_PASSWORD: PASSWORD });
  const errors = text(child.stderr);
  const [line] = (await Promise.race([once(createInterface({ input: child.stdout }), 'line'), errors])) as string[];
  const [, url] = /^Tidemark 0\.1\.0 is ready at (http:\/\/127\.0\.0\.1:[0-9]+)$/.exec(line ?? '') ?? [];
  if (url === undefined) throw new Error(`the server did not start: ${line} ${await errors}`);
  return { process: child, url };
}

async function stop({ process: child }: { readonly process: ChildProcess }) {
  child.kill('SIGTERM');
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal };
}

function runCli(args: readonly string[], input = '', env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  const all = { ...environment(), TIDEMARK_URL: server.url, ...env };
  return runInProcess(args, { env: all, folder: folder.path, input });
}

/** Runs the program as it is shipped. */
async function runBuilt(args: readonly string[], input = ''): Promise<Outcome> {
  const child = start(args, { TIDEMARK_URL: server.url });
  child.stdin.end(input);
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number | null, out, err };
}

/** What a command answers as JSON; anything but a success is a failure of the test. */
async function answer(
  args: readonly string[],
  input = '',
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const { code, out, err } = await runCli([...args, '--json'], input, env);
  if (code !== 0) throw new Error(`tidemark ${args.join(' ')}: ${err}`);
  return JSON.parse(out);
}

describe('a real server', () => {
  it('[CLI-17] login accepts the administrator and nobody else', async () => {
    expect(await runCli(['users', 'list'])).toMatchObject({ code: 77 });
    expect(await runCli(['login', '--password-stdin'], 'wrong')).toMatchObject({
      code: 77,
      err: expect.stringMatching(/\(invalid_credentials\)\n(.*\n)* {2}request: \S+\n$/),
    });
    expect(await answer(['login', '--password-stdin'], PASSWORD)).toMatchObject({ url: server.url, login: 'admin' });
    expect(await runBuilt(['users', 'list'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^LOGIN .*\nadmin /),
      err: '',
    });
    expect(await answer(['whoami'])).toMatchObject({ user: 'admin', scopes: ['admin', 'admin:reset'] });
  });

  it('[CLI-17] commands write sources, users, objects and documents, and read them back', async () => {
    await answer(['sources', 'declare', 'Product', '--partition-type', 'app']);
    await answer(['sources', 'declare', 'Order', '--queue', 'orders']);
    expect(await answer(['sources', 'set', 'Order', '--poll-interval', '60'])).toMatchObject({ poll_interval: 60 });
    expect(await answer(['sources', 'list', '--type', 'user'])).toEqual(['Order']);
    await answer(['users', 'create', 'ada', '--attribute', 'team=north', '--password-stdin'], 'open sesame');
    expect(await answer(['users', 'set', 'ada', '--attribute', 'level=3'])).toMatchObject({
      login: 'ada',
      attributes: { team: 'north', level: 3 },
    });
    expect(await answer(['users', 'list'])).toMatchObject([{ login: 'ada', devices: 0 }, { login: 'admin' }]);
    expect(await answer(['users', 'clients', 'ada'])).toEqual([]);
    const objects = '{"1":{"name":"Compass","price":12.50},"2":{"name":"Chart"}}';
    expect(await answer(['push', 'objects', 'Product'], objects)).toMatchObject({ source: 'Product', changed: 2 });
    expect(await answer(['push', 'deletes', 'Product'], '["2"]')).toMatchObject({ changed: 1 });
    await answer(['push', 'fast-insert', 'Order', '--user', 'ada'], '{"7":{"state":"new","n":1}}');
    const update = '{"delete_data":{"7":{"state":"new"}},"data":{"7":{"state":"sent"}}}';
    await answer(['push', 'fast-update', 'Order', '--user', 'ada'], update);
    await answer(['push', 'fast-delete', 'Order', '--user', 'ada'], '{"7":{"n":1}}');
    expect(await answer(['docs', 'get', 'md', '--source', 'Product', '--shared'])).toEqual({
      1: { name: 'Compass', price: 12.5 },
    });
    expect(await answer(['docs', 'get', 'md', '--source', 'Order', '--user', 'ada'])).toEqual({ 7: { state: 'sent' } });
    expect(await answer(['docs', 'set', 'motd', '--text'], 'ahoy\n')).toEqual({ doc: 'motd', type: 'text', size: 5 });
    await answer(['docs', 'append', 'motd', '--text'], 'sailor');
    expect(await runCli(['docs', 'get', 'motd'])).toEqual({ code: 0, out: 'ahoy\nsailor', err: '' });
    await answer(['docs', 'set', 'x', '--source', 'Order', '--user', 'ada'], '{"a":{"b":1}}');
    expect(await answer(['docs', 'list', '--source', 'Order', '--user', 'ada'])).toContain('x');
  });

  it('[CLI-62] users list prints users with their devices and groups, from a login on and as many as asked for', async () => {
    const [header, ada, ...more] = (await runCli(['users', 'list', '--limit', '1'])).out.trimEnd().split('\n');
    expect(header).toMatch(/^LOGIN +DEVICES +ONLINE +BEHIND +LAST_SEEN +CREATED_AT +GROUPS$/);
    expect([ada, more]).toEqual([expect.stringMatching(/^ada +0 /), []]);
    expect(await answer(['users', 'list', '--after', 'ada'])).toMatchObject([{ login: 'admin' }]);
  });

  it('[PRIVACY-1] users export writes everything about one person as JSON lines, and nothing of others', async () => {
    await answer(['sources', 'declare', 'Diary']);
    for (const login of ['eve', 'mallory']) {
      await answer(['users', 'create', login, '--password-stdin'], 'open sesame');
      await answer(
        ['push', 'objects', 'Diary', '--user', login],
        JSON.stringify({ 1: { text: `secret of ${login}` } }),
      );
    }
    await answer(['docs', 'set', 'notes', '--source', 'Diary', '--user', 'eve'], '{"a":{"b":1}}');
    await answer(['docs', 'set', 'words', '--text', '--source', 'Diary', '--user', 'eve'], 'in her own words');
    await answer(['groups', 'add', 'eve', 'crew']);
    const invite = (await answer(['users', 'invite', 'eve'])) as { readonly code: string };
    const signedIn = await fetch(`${server.url}/sync/v1/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ invite: invite.code }),
    });
    const { client_id, token } = (await signedIn.json()) as { readonly client_id: string; readonly token: string };
    const stream = await fetch(`${server.url}/sync/v1/events`, { headers: { authorization: `Bearer ${token}` } });
    await answer(['ping', 'eve', '--message', 'come home', '--watch']);
    await stream.body?.cancel();

    expect(await runCli(['users', 'export', 'eve', '--output', 'eve.jsonl'])).toMatchObject({ code: 0, out: '' });
    const text = readFileSync(join(folder.path, 'eve.jsonl'), 'utf8');
    const facts = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const of = (kind: string) => facts.filter((fact) => fact.kind === kind);
    expect(of('user')).toMatchObject([{ user: { login: 'eve' } }]);
    expect(of('groups')).toEqual([{ kind: 'groups', groups: ['crew'] }]);
    expect(of('device')).toMatchObject([{ device: { client_id, user_id: 'eve' } }]);
    expect(of('token')).toMatchObject([{ token: { user: 'eve', client: client_id } }]);
    expect(of('object')).toMatchObject([
      { source: 'Diary', object: { id: '1', attributes: { text: 'secret of eve' } } },
    ]);
    expect(of('document')).toEqual([
      { kind: 'document', source: 'Diary', name: 'notes', content: { a: { b: 1 } } },
      { kind: 'document', source: 'Diary', name: 'words', content: 'in her own words' },
    ]);
    expect(of('receipt').map(({ receipt }) => (receipt as { source: string }).source)).toContain('Diary');
    expect(of('ping')).toMatchObject([{ ping: { sources: [] }, result: { client_id } }]);
    const events = of('activity').map(({ event }) => event as { kind: string; user_id: string });
    expect(events.map(({ kind, user_id }) => [kind, user_id])).toEqual(
      expect.arrayContaining([
        ['push', 'eve'],
        ['ping', 'eve'],
      ]),
    );
    const actions = of('audit').map(({ fact }) => (fact as { action: string }).action);
    expect(actions).toEqual(expect.arrayContaining(['user.create', 'user.invite']));
    expect(text).not.toMatch(/mallory|open sesame|tm[ki]_/);
    expect(await runCli(['users', 'export', 'eve', '--output', 'eve.jsonl'])).toMatchObject({ code: 2 });
    expect(await runCli(['users', 'export', 'nobody'])).toMatchObject({ code: 1, out: '' });
  });

  it('[PRIVACY-3] users export --with-groups also writes the objects of the groups of the person, and of no other', async () => {
    await answer(['sources', 'declare', 'Board', '--partition-type', 'group']);
    for (const group of ['crew', 'harbour']) {
      const objects = JSON.stringify({ 1: { text: `words of ${group}` } });
      await answer(['push', 'objects', 'Board', '--group', group], objects);
    }
    const objectsOf = async (args: readonly string[]) => {
      const { out } = await runCli(['users', 'export', 'eve', ...args]);
      const facts = out.trim().split('\n');
      return facts.map((line) => JSON.parse(line) as object).filter((fact) => 'group' in fact);
    };
    expect(await objectsOf([])).toEqual([]);
    const object = { id: '1', seq: expect.any(Number), attributes: { text: 'words of crew' } };
    expect(await objectsOf(['--with-groups'])).toEqual([
      { kind: 'group_object', group: 'crew', source: 'Board', object: expect.objectContaining(object) },
    ]);
  });

  it('[PRIVACY-2] after users delete nothing about the person is left but audit entries and the activity of the last day', async () => {
    await answer(['users', 'delete', 'eve', '--yes']);
    await answer(['users', 'create', 'eve', '--password-stdin'], 'open sesame');
    const { out } = await runCli(['users', 'export', 'eve']);
    const kinds = out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { kind: string }).kind);
    expect([...new Set(kinds)].sort()).toEqual(['activity', 'audit', 'groups', 'receipt', 'user']);
    expect(out).not.toContain('secret of eve');
  });

  it('[CLI-17] commands show licence, backend, statistics, audit trail and when a source is due', async () => {
    expect(await answer(['license'])).toMatchObject({ license: 'Apache-2.0', seats: null });
    expect(await answer(['appserver', 'set', 'http://127.0.0.1:1/b'])).toEqual({ adapter_url: 'http://127.0.0.1:1/b' });
    expect(await answer(['appserver', 'set', '--none'])).toEqual({ adapter_url: null });
    expect(await answer(['read-state', 'Order', 'ada', '--in', '60'])).toEqual({ refresh_at: expect.any(String) });
    const names = (await answer(['stats', 'names', 'http:*'])) as string[];
    expect(names).toContain('http:GET:/rc/v1/system/license');
    expect(await answer(['stats', 'read', names[0] ?? ''])).toEqual([
      expect.objectContaining({ count: expect.any(Number) }),
    ]);
    const audit = (await answer(['audit', '--limit', '3'])) as { action: string }[];
    expect(audit.map(({ action }) => action)).toEqual(['read_state.set', 'appserver.set', 'appserver.set']);
  });

  it('[CLI-17] commands issue and revoke tokens, and report errors', async () => {
    const issued = (await answer(['tokens', 'create', '--name', 'r', '--scope', 'read', '--expires', '1h'])) as {
      id: string;
      token: string;
    };
    const env = { TIDEMARK_TOKEN: issued.token };
    expect(await answer(['users', 'list', '--limit', '1'], '', env)).toMatchObject([{ login: 'ada' }]);
    expect(await runCli(['users', 'delete', 'ada', '--yes'], '', env)).toMatchObject({ code: 77 });
    expect(await answer(['tokens', 'revoke', issued.id, '--yes'])).toEqual({ revoked: issued.id });
    expect(await runCli(['users', 'list'], '', env)).toMatchObject({ code: 77 });
    expect(await runCli(['users', 'show', 'anna'])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^tidemark: .*"anna".* \(user_not_found\)\n(.*\n)* {2}request: \S+\n$/),
    });
    expect(await runCli(['clients', 'show', 'none'])).toMatchObject({ code: 1 });
  });

  it('[OIDC-23] doctor shows who checks sign-ins of devices', async () => {
    const checks = (await answer(['doctor', '--data', 'data'])) as { name: string; detail: string }[];
    expect(checks.find(({ name }) => name === 'sign-in')?.detail).toBe('devices are checked by own_passwords');
  });

  it('[CLI-16] doctor sees the server and its process', async () => {
    const checks = (await answer(['doctor', '--data', 'data'])) as { name: string; status: string; detail: string }[];
    const detailOf = (name: string) => checks.find((check) => check.name === name)?.detail;
    expect(detailOf('server')).toBe(`version 0.1.0 answers at ${server.url}`);
    if (process.platform === 'linux') expect(detailOf('processes')).toBe(`process ${server.process.pid} uses it`);
    expect(detailOf('durability')).toMatch(/flush takes|in memory/);
  });
});

describe('backup and restore', () => {
  const objects = () => answer(['docs', 'get', 'md', '--source', 'Product', '--shared']);
  const markOf = (name: string) =>
    JSON.parse(readFileSync(join(at(name), 'tidemark.json'), 'utf8')) as { state: string };

  it('[CLI-14] a backup can be made and verified while the server runs, and stays a backup', async () => {
    expect(await answer(['backup', 'monday', '--data', 'data'])).toEqual({
      data: at('data'),
      backup: at('monday'),
      bytes: expect.any(Number),
      files: { files: 0, bytes: 0, wrong: 0 },
      deleted: [],
    });
    expect(statSync(at('monday')).mode & 0o777).toBe(0o700);
    expect(await answer(['verify', '--data', 'data'])).toEqual({ data: at('data'), findings: [] });
    expect(await runBuilt(['verify', '--data', 'monday'])).toMatchObject({
      code: 0,
      err: `${at('monday')} is undamaged.\n`,
    });
    expect(markOf('monday').state).toBe('backup');
    expect(await runCli(['backup', 'monday', '--data', 'data'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('is not empty'),
    });
    await answer(['push', 'objects', 'Product'], '{"3":{"name":"Anchor"}}');
  });

  it('[CLI-26] a backup with --keep deletes the older ones beside it, and says so', async () => {
    await answer(['backup', 'weekly/first', '--data', 'data']);
    const { deleted } = (await answer(['backup', 'weekly/second', '--data', 'data', '--keep', '1'])) as {
      deleted: string[];
    };
    expect([deleted, readdirSync(at('weekly'))]).toEqual([[at('weekly/first')], ['second']]);
    expect(await runCli(['backup', 'weekly/third', '--data', 'data', '--keep', '0'])).toMatchObject({ code: 2 });
  });

  it('[CLI-15] nothing is restored into a folder that is open', async () => {
    const refused = await runCli(['restore', 'monday', '--data', 'data', '--yes']);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(`open in process ${server.process.pid}`) });
    expect(Object.keys((await objects()) as object)).toEqual(['1', '3']);
  });

  it('[CLI-17] the server stops on a signal', async () => {
    expect(await stop(server)).toEqual({ code: 0, signal: null });
  });

  it('[CLI-6] restore replaces nothing without a terminal to confirm', async () => {
    const before = readdirSync(at('data'));
    const refused = await runCli(['restore', 'monday', '--data', 'data']);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('confirm with --yes') });
    expect(readdirSync(at('data'))).toEqual(before);
  });

  it('[CLI-15] a damaged backup replaces nothing', async () => {
    cpSync(at('monday'), at('torn'), { recursive: true });
    truncateSync(join(at('torn'), 'store.mdb'), Math.floor(statSync(join(at('torn'), 'store.mdb')).size / 3));
    const before = readdirSync(at('data'));
    const refused = await runCli(['restore', 'torn', '--data', 'data', '--yes']);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('damaged') });
    expect(readdirSync(at('data'))).toEqual(before);
    expect(await runCli(['verify', '--data', 'data'])).toMatchObject({ code: 0 });
  });

  it('[CLI-15] a restore replaces the data, keeps the old data aside, and begins a new epoch', async () => {
    const { replaced } = (await answer(['restore', 'monday', '--data', 'data', '--yes'])) as { replaced: string };
    expect(readdirSync(replaced)).toEqual(expect.arrayContaining(['store.mdb', 'tidemark.json']));
    expect(readdirSync(at('data')).some((name) => name.startsWith('restoring-'))).toBe(false);
    expect(markOf('monday').state).toBe('backup');
    server = await serve('data');
    await answer(['login', '--password-stdin'], PASSWORD);
    expect(Object.keys((await objects()) as object)).toEqual(['1']);
    await stop(server);
    expect(await runCli(['verify', '--data', replaced])).toMatchObject({ code: 0 });
  });

  it('[CLI-15] a folder that is new or empty needs no confirmation', async () => {
    mkdirSync(at('empty'));
    for (const target of ['fresh', 'empty']) {
      expect(await runCli(['restore', 'monday', '--data', target])).toMatchObject({ code: 0, out: `${at(target)}\n` });
      expect(await runCli(['verify', '--data', target])).toMatchObject({ code: 0 });
    }
  });

  it('[CLI-15] no server starts on an interrupted restore, and repeating the restore repairs it', async () => {
    const folderOf = (name: string, moved: readonly string[]) => {
      cpSync(at('fresh'), at(name), { recursive: true });
      const aside = join(at(name), 'replaced-2026-01-01T00-00-00-000Z');
      mkdirSync(aside);
      for (const file of moved) renameSync(join(at(name), file), join(aside, file));
      mkdirSync(join(at(name), 'restoring-1'));
      writeFileSync(join(at(name), 'restoring-1', 'store.mdb'), 'half');
    };
    const interrupted = [
      ['cut-2', ['tidemark.json', 'store.mdb']],
      ...(IS_LONG ? ([['cut-1', ['tidemark.json']]] as const) : []),
    ] as const;
    for (const [name, moved] of interrupted) {
      folderOf(name, moved);
      const started = await runBuilt(['serve', '--data', name, '--port', '0', '--log-level', 'error']);
      expect(started).toMatchObject({ code: 1, err: expect.stringContaining('is not a Tidemark data folder') });
      await answer(['restore', 'monday', '--data', name, '--yes']);
      expect(await runCli(['verify', '--data', name])).toMatchObject({ code: 0 });
      expect(existsSync(join(at(name), 'restoring-1'))).toBe(false);
      rmSync(at(name), { recursive: true });
    }
  });
});
