import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, lstatSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { compose } from '@tidemark/server';
import { Caller, IS_LONG, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { type Outcome, runInProcess, silentLog, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';

// Servers, and commands under another user: what was built, in processes of their own. `npm test` builds before it runs this.
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const PASSWORD = 'a harbour at dawn';
const OTHER = 'a lighthouse in fog';
const isRoot = process.getuid?.() === 0;
/** Nobody, where this is root: root may open everything. */
const UNPRIVILEGED = isRoot ? { uid: 65_534, gid: 65_534 } : {};

const children: ChildProcess[] = [];
let folder: string;
let data: string;
/** Holds the data of a server that was started once with `PASSWORD`, and stopped. */
let template: TemporaryFolder;
/** What that server wrote to the standard error output. */
let firstStart: string;

beforeAll(async () => {
  template = await temporaryFolder();
  folder = template.path;
  data = join(folder, 'data');
  firstStart = await served({ TIDEMARK_ADMIN_PASSWORD: PASSWORD });
});

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await template.remove();
});

/** Gives the test data of its own, without the start of a server. */
function copyData(): void {
  cpSync(join(template.path, 'data'), data, { recursive: true });
}

beforeEach(async () => {
  const temporary = await temporaryFolder();
  onTestFinished(temporary.remove);
  folder = temporary.path;
  data = join(folder, 'data');
  chmodSync(folder, 0o755);
});

type As = { readonly uid?: number; readonly gid?: number };

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}, as: As = {}): ChildProcess {
  const { PATH = '' } = process.env;
  const settings = { PATH, HOME: folder, TIDEMARK_URL: 'http://127.0.0.1:1', ...env };
  return spawn(process.execPath, [MAIN, ...args], { env: settings, cwd: folder, ...as });
}

function runCli(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  return runInProcess(args, { env: { HOME: folder, TIDEMARK_URL: 'http://127.0.0.1:1', ...env }, folder });
}

/** Runs a command as a user who may not open everything. */
async function runUnprivileged(args: readonly string[]): Promise<Outcome> {
  const child = start(args, {}, UNPRIVILEGED);
  child.stdin?.end();
  const streams = [child.stdout, child.stderr].map((stream) => text(stream as NodeJS.ReadableStream));
  const [[out = '', err = ''], [code]] = await Promise.all([Promise.all(streams), once(child, 'close')]);
  return { code: code as number | null, out, err };
}

/** Runs a server until it is ready, and stops it. Returns what it wrote to the standard error output. */
async function served(env: Readonly<Record<string, string>>): Promise<string> {
  const child = start(['serve', '--port', '0', '--data', data], env);
  children.push(child);
  const errors = text(child.stderr as NodeJS.ReadableStream);
  let url: string | undefined;
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    [url] = /http:\S+/.exec(line) ?? [];
    if (url !== undefined) break;
  }
  if (url === undefined) throw new Error(`the server did not start: ${await errors}`);
  child.kill('SIGTERM');
  await once(child, 'close');
  return errors;
}

/** Calls back with a server on the data, inside this process. */
async function composed(work: (url: string) => Promise<void>): Promise<void> {
  const server = await compose(testConfig(data), silentLog());
  try {
    await work(server.url);
  } finally {
    await server.close();
  }
}

async function token(url: string, password: string): Promise<string | null> {
  const { status, text: answer } = await new Caller(url, null).post('/rc/v1/system/login', {
    login: 'admin',
    password,
  });
  return status === 200 ? answer : null;
}

describe('the password of the administrator', () => {
  it('[CLI-29] admin reset-password sets the password without a server and names the tokens that are still good', async () => {
    copyData();
    await composed(async (url) => {
      const admin = new Caller(url, await token(url, PASSWORD));
      await admin.post('/rc/v1/tokens', { name: 'erp', scopes: ['push'] });
    });
    const reset = ['admin', 'reset-password', '--data', data];
    const { code, out, err } = await runCli(reset, { TIDEMARK_NEW_PASSWORD: OTHER });
    expect([code, out]).toEqual([0, '']);
    expect(err).toMatch(
      /^The password of admin is changed.*\nThese named tokens stay valid.*\n {2}\w+ {2}erp {2}\(push\)\n/,
    );
    expect(err).not.toContain(OTHER);
    await composed(async (url) => {
      expect(await token(url, PASSWORD)).toBeNull();
      const admin = new Caller(url, await token(url, OTHER));
      expect((await admin.get('/rc/v1/tokens')).text).toContain('erp');
      expect((await admin.get('/rc/v1/audit')).text).toContain('admin.reset_password');
    });
    const revoked = await runCli([...reset, '--revoke-tokens', '--json'], { TIDEMARK_NEW_PASSWORD: PASSWORD });
    expect([revoked.code, JSON.parse(revoked.out)]).toEqual([0, { login: 'admin', kept_tokens: [] }]);
  });

  it('[CLI-29] admin reset-password refuses a folder without data, an unknown administrator and an invalid password, and changes nothing', async () => {
    const reset = ['admin', 'reset-password', '--data', data];
    const env = { TIDEMARK_NEW_PASSWORD: OTHER };
    expect((await runCli(reset, env)).err).toContain('does not exist');
    copyData();
    expect((await runCli([...reset, 'ada'], env)).err).toMatch(
      /ada is no administrator\n {2}hint: the administrators are admin\n/,
    );
    expect((await runCli(reset)).code).toBe(2);
    expect((await runCli(reset, { TIDEMARK_NEW_PASSWORD: 'x'.repeat(5_000) })).code).toBe(1);
  });

  it('[CLI-30] a start warns when the configured administrator password differs from the stored one, and only then', async () => {
    const hint = 'warning: TIDEMARK_ADMIN_PASSWORD is not the password of the administrator admin';
    expect(firstStart).not.toContain(hint);
    copyData();
    expect(await served({ TIDEMARK_ADMIN_PASSWORD: PASSWORD })).not.toContain(hint);
    const output = await served({ TIDEMARK_ADMIN_PASSWORD: OTHER });
    expect(output.split('\n').filter((line) => line.startsWith(hint)).length).toBe(1);
    expect(output).not.toContain(OTHER);
    expect(await served({})).not.toContain(hint);
  });
});

describe('what this process may not open', () => {
  const serve = ['serve', '--port', '0', '--log-level', 'error'];

  const commands = () => [serve, ['verify'], ['backup', join(folder, 'copy')]];

  // Each is tried with one command every day, and with all of them in the long run.
  it.each([
    ['a data folder that nobody else may open', 0, () => chmodSync(data, 0o000)],
    ['a mark that nobody else may read', 1, () => chmodSync(join(data, 'tidemark.json'), 0o000)],
    [
      'data that nobody else may write',
      2,
      () => {
        chmodSync(data, 0o555);
        for (const name of readdirSync(data)) chmodSync(join(data, name), name === 'bus' ? 0o555 : 0o444);
      },
    ],
  ])('[CLI-31] %s is output as that, and not as a problem of the port', async (_what, everyday, lock) => {
    copyData();
    lock();
    onTestFinished(() => chmodSync(data, 0o755));
    for (const command of IS_LONG ? commands() : commands().slice(everyday, everyday + 1)) {
      if (command[0] === 'backup') chmodSync(folder, 0o777);
      const { code, err } = await runUnprivileged([...command, '--data', data]);
      expect([command[0], code]).toEqual([command[0], 1]);
      expect(err).toMatch(
        /^tidemark: permission denied: this process, which runs as \S+, may not use \S*data.*belongs to \S+ \(mode \d+\)\n {2}hint: .*\n$/,
      );
      expect(err).not.toContain('port');
    }
  });

  it('[CLI-31] a folder that cannot be created and an app that cannot be read are reported with their paths', async () => {
    const closed = join(folder, 'closed');
    mkdirSync(join(closed, 'sources'), { recursive: true });
    chmodSync(closed, 0o000);
    onTestFinished(() => chmodSync(closed, 0o755));
    const made = await runUnprivileged([...serve, '--data', join(closed, 'data')]);
    expect([made.code, made.err]).toEqual([1, expect.stringContaining(`may not use ${closed}`)]);
    const open = join(folder, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    const app = await runUnprivileged([...serve, '--data', join(open, 'data'), '--app', closed]);
    expect([app.code, app.err]).toEqual([1, expect.stringContaining(`may not use ${join(closed, 'sources')}`)]);
  });
});

describe('whose the data is', () => {
  const owner = (path: string) => lstatSync(path).uid;
  const ownersIn = (path: string) =>
    new Set(readdirSync(path, { recursive: true }).map((name) => owner(join(path, String(name)))));

  // Only root can give files away; everybody else owns what they restore, which is what is expected, too.
  const [uid, gid] = isRoot ? [65_534, 65_534] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0];

  function giveAway(path: string): void {
    chownSync(path, uid, gid);
    for (const name of readdirSync(path, { recursive: true })) chownSync(join(path, String(name)), uid, gid);
  }

  it('[CLI-32] the owner of the data stays the same after a restore, also for the replaced data', async () => {
    copyData();
    const backup = join(folder, 'backup');
    expect((await runCli(['backup', backup, '--data', data])).code).toBe(0);
    giveAway(data);
    expect((await runCli(['restore', backup, '--data', data, '--yes'])).code).toBe(0);
    expect([owner(data), ownersIn(data)]).toEqual([uid, new Set([uid])]);
    const fresh = join(folder, 'fresh');
    mkdirSync(fresh);
    chownSync(fresh, uid, gid);
    expect((await runCli(['restore', backup, '--data', fresh])).code).toBe(0);
    expect(ownersIn(fresh)).toEqual(new Set([uid]));
  });

  it('[CLI-33] doctor says who owns the data folder, with the files that belong to somebody else', async () => {
    copyData();
    const doctor = async () => (await runCli(['doctor', '--data', data, '--json'])).out;
    const check = async () => (JSON.parse(await doctor()) as { name: string }[]).find(({ name }) => name === 'owner');
    const own = { name: 'owner', status: 'ok', detail: expect.stringContaining(`${data} belongs to `) };
    expect(await check()).toEqual(own);
    if (!isRoot) return;
    giveAway(data);
    expect(await check()).toMatchObject({
      status: 'warning',
      detail: expect.stringContaining('run the server as that user'),
    });
    writeFileSync(join(data, 'by-root'), '');
    expect(statSync(join(data, 'by-root')).uid).toBe(0);
    expect(await check()).toMatchObject({
      status: 'warning',
      detail: expect.stringContaining('by-root; run chown -R'),
    });
  });
});
