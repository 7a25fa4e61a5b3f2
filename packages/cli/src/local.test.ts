import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { sharedPartition } from '@tidemark/core';
import type { Config } from '@tidemark/server/config/config';
import { SETTINGS } from '@tidemark/server/config/settings';
import { openStore } from '@tidemark/server/open-engines';
import { temporaryFolder } from '@tidemark/testing';
import { type Outcome, runInProcess } from '@tidemark/testing/server';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { checkListenQueue } from './local/checks.ts';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

let folder: string;

beforeEach(async () => {
  const temporary = await temporaryFolder();
  onTestFinished(temporary.remove);
  folder = temporary.path;
});

function environment(env: Readonly<Record<string, string>>): Record<string, string> {
  return { HOME: folder, TIDEMARK_URL: 'http://127.0.0.1:1', ...env };
}

function runCli(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  return runInProcess(args, { env: environment(env), folder });
}

/** Runs the program as it is shipped: what was built, in a process of its own. `npm test` builds before it runs this. */
async function runBuilt(args: readonly string[]): Promise<Outcome> {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH, ...environment({}) },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number | null, out, err };
}

describe('this program', () => {
  it('[CLI-11] version prints the version and how to run the benchmarks', async () => {
    expect(await runBuilt(['version'])).toEqual({ code: 0, out: '0.1.0\n', err: '' });
    expect(await runCli(['--version'])).toEqual({ code: 0, out: '0.1.0\n', err: '' });
    expect(JSON.parse((await runCli(['version', '--json'])).out)).toEqual({
      name: 'tidemark',
      version: '0.1.0',
      node: process.versions.node,
    });
    expect(await runCli(['bench'])).toMatchObject({ code: 0, out: 'npm run bench\n' });
  });

  it('[CLI-11] requested help goes to the standard output', async () => {
    const { code, out, err } = await runBuilt(['users', '--help']);
    expect({ code, err, begin: out.slice(0, 9) }).toEqual({ code: 0, err: '', begin: 'Examples:' });
  });
});

describe('verify', () => {
  /** Writes something over a place that every page of a store has. */
  function damagePages(file: string, at: number, bytes: readonly number[]): void {
    const handle = openSync(file, 'r+');
    const pages = statSync(file).size / PAGE_BYTES;
    for (let page = 2; page < pages; page++)
      writeSync(handle, Buffer.from(bytes), 0, bytes.length, page * PAGE_BYTES + at);
    closeSync(handle);
  }
  const PAGE_BYTES = 4_096;

  it.each([
    ['the flags of its pages', 18, [0x13, 0xff]],
    ['the first entry of its pages', 20, [0x26, 0xff]],
    ['the second entry of its pages', 24, [0x4c, 0xff]],
  ])(
    '[CLI-25] a store damaged in %s is called damaged with exit code 1, also when reading it is fatal',
    async (_what, at, bytes) => {
      const dataFolder = join(folder, 'data');
      const store = await openStore({ store: 'embedded', dataFolder } as Config);
      const changes = Array.from({ length: 5_000 }, (_, index) => ({
        id: `o${index}`,
        record: `"o${index}":{"t":"${'x'.repeat(200)}"}`,
        checksum: index,
      }));
      await store.commit({ partition: sharedPartition('s'), changes, guards: [] });
      await store.close();
      damagePages(join(dataFolder, 'store.mdb'), at, bytes);
      const { code, out, err } = await runCli(['verify', '--data', dataFolder]);
      expect(code).toBe(1);
      expect(err).toMatch(/^tidemark: \/.* is damaged in (?:1 place|(?!1 )\d+ places)\n$/);
      expect(out).toMatch(/unreadable|wrong_/);
    },
  );
});

describe('config', () => {
  it('[CLI-12] config check reports success, or every problem with exit code 78', async () => {
    const sound = await runCli(['config', 'check'], { TIDEMARK_PORT: '0' });
    expect(sound).toMatchObject({ code: 0, out: '', err: expect.stringMatching(/The configuration is valid\.\n$/) });
    const wrong = await runCli(['config', 'check', '--body-bytes-max', '-1'], {
      TIDEMARK_PORT: 'many',
      TIDEMARK_HSOT: 'x',
    });
    expect(wrong).toEqual({
      code: 78,
      out: '',
      err:
        'tidemark: the configuration has 3 problems:\n' +
        '  TIDEMARK_HSOT is not a setting; did you mean TIDEMARK_HOST?\n' +
        '  TIDEMARK_PORT must be a whole number from 0 to 65535, not "many"\n' +
        '  --body-bytes-max must be a whole number from 1024 to 500000000, not -1\n',
    });
    const json = await runCli(['config', 'check', '--json'], { TIDEMARK_PORT: 'many' });
    expect({ code: json.code, ...JSON.parse(json.out) }).toMatchObject({
      code: 78,
      ok: false,
      problems: [{ setting: 'port', origin: 'TIDEMARK_PORT' }],
    });
  });

  it('[CLI-12] config print shows every setting with its origin, and masks secrets', async () => {
    writeFileSync(join(folder, 'tidemark.config.json'), '{"licensee":"Harbour","sources":[{"name":"A"}]}');
    const env = { TIDEMARK_ADMIN_PASSWORD: 'geheim', TIDEMARK_HOST: '::1' };
    const { code, out } = await runCli(['config', 'print', '--port', '7', '--no-allow-reset', '--trust-proxy'], env);
    expect({ code, isHidden: !out.includes('geheim') }).toEqual({ code: 0, isHidden: true });
    const rows = new Map(out.split('\n').map((line) => [line.split(/ +/)[0], line.split(/ +/).slice(1)]));
    const names = ['host', 'port', 'allow_reset', 'trust_proxy', 'admin_password', 'licensee'];
    expect(names.map((name) => rows.get(name))).toEqual([
      ['::1', 'TIDEMARK_HOST'],
      ['7', '--port'],
      ['false', '--allow-reset'],
      ['true', '--trust-proxy'],
      ['***', 'TIDEMARK_ADMIN_PASSWORD'],
      ['Harbour', 'tidemark.config.json'],
    ]);
    const json = JSON.parse((await runCli(['config', 'print', '--json'], env)).out) as {
      name: string;
      value: unknown;
    }[];
    expect(json.map(({ name }) => name)).toEqual(SETTINGS.map(({ name }) => name));
    expect(json.find(({ name }) => name === 'admin_password')?.value).toBe('***');
    expect(json.find(({ name }) => name === 'sources')?.value).toEqual([{ name: 'A' }]);
  });

  it('[CLI-12] a start with a world-readable secret file fails with 78 and names the setting', async () => {
    writeFileSync(join(folder, 'pw'), 'geheim');
    chmodSync(join(folder, 'pw'), 0o644);
    const { code, out, err } = await runCli(['serve'], { TIDEMARK_ADMIN_PASSWORD_FILE: 'pw' });
    expect({ code, out }).toEqual({ code: 78, out: '' });
    expect(err).toMatch(/^tidemark: TIDEMARK_ADMIN_PASSWORD_FILE \(admin_password\): pw can be read .*\n$/);
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });
});

describe('serve', () => {
  it('[CLI-13] a port in use, a host of another machine and a foreign folder are each reported in one line', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as { port: number };
    const quiet = ['serve', '--log-level', 'error'];
    const taken = await runBuilt([...quiet, '--port', String(port)]);
    expect(taken).toEqual({
      code: 1,
      out: '',
      err: `tidemark: port ${port} on 127.0.0.1 is in use; stop the program that has it, or set TIDEMARK_PORT to another\n`,
    });
    const nowhere = await runBuilt([...quiet, '--port', '0', '--host', '192.0.2.1']);
    expect(nowhere).toEqual({
      code: 1,
      out: '',
      err: 'tidemark: TIDEMARK_HOST "192.0.2.1" is no address of this machine\n',
    });
    mkdirSync(join(folder, 'photos'));
    writeFileSync(join(folder, 'photos', 'holiday.jpg'), '');
    const foreign = await runBuilt([...quiet, '--data', 'photos']);
    expect(foreign).toMatchObject({ code: 1, err: expect.stringMatching(/^tidemark: .*photos.* holiday\.jpg.*\n$/) });
  });
});

describe('on a data folder', () => {
  it.each(['backup out', 'verify'])('[CLI-14] %s creates no data folder where there is none', async (command) => {
    const missing = await runCli([...command.split(' '), '--data', 'gone']);
    expect(missing).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining(`${join(folder, 'gone')} does not exist`),
    });
    mkdirSync(join(folder, 'other'));
    const foreign = await runCli([...command.split(' '), '--data', 'other']);
    expect(foreign).toMatchObject({ code: 1, err: expect.stringContaining('is not a Tidemark data folder') });
    expect([existsSync(join(folder, 'gone')), existsSync(join(folder, 'out'))]).toEqual([false, false]);
  });

  it('[CLI-15] restore accepts only backups, and does not touch foreign folders', async () => {
    mkdirSync(join(folder, 'photos'));
    writeFileSync(join(folder, 'photos', 'holiday.jpg'), '');
    const none = await runCli(['restore', 'photos', '--yes']);
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('photos is not a backup') });
    const mark = { product: 'tidemark', engine: 'embedded', format: 1, state: 'backup' };
    mkdirSync(join(folder, 'copy'));
    writeFileSync(join(folder, 'copy', 'tidemark.json'), JSON.stringify(mark));
    const foreign = await runCli(['restore', 'copy', '--data', 'photos', '--yes']);
    expect(foreign).toMatchObject({
      code: 1,
      err: expect.stringContaining("is not Tidemark's; choose another folder"),
    });
    writeFileSync(join(folder, 'copy', 'tidemark.json'), JSON.stringify({ ...mark, state: 'ready' }));
    const used = await runCli(['restore', 'copy', '--yes']);
    expect(used).toMatchObject({
      code: 1,
      err: expect.stringContaining('is a data folder that was opened, not a backup'),
    });
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });

  it('[CLI-16] doctor checks Node, configuration, folder, disk, durability, processes and server', async () => {
    const { code, out } = await runCli(['doctor', '--json']);
    const checks = JSON.parse(out) as { name: string; status: string; detail: string }[];
    expect(code).toBe(0);
    expect([...new Set(checks.map(({ name }) => name))]).toEqual([
      'node',
      'configuration',
      'data',
      'disk',
      'durability',
      'processes',
      ...(process.platform === 'linux' ? ['connections'] : []),
      'apns',
      'fcm',
      'webpush',
      'server',
    ]);
    expect(checks.find(({ name }) => name === 'data')?.detail).toContain('holds nothing yet');
    expect(checks.find(({ name }) => name === 'server')?.detail).toBe('none answers at http://127.0.0.1:1');
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });

  it('[CLI-41] doctor tells when the system lets fewer connections wait than the setting asks for, and how many were dropped', async () => {
    const files = (somaxconn: number, drops: number) => async (path: string) =>
      path.endsWith('somaxconn')
        ? `${somaxconn}\n`
        : `TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 7 8 ${drops}\nIpExt: a\nIpExt: 1\n`;
    const checked = async (backlog: number, read: (path: string) => Promise<string | null>) =>
      (await checkListenQueue(backlog, read)).map(({ status, detail }) => `${status} ${detail}`);
    expect(await checked(4_096, files(4_096, 0))).toEqual(['ok 4096 may wait to be accepted']);
    expect(await checked(4_096, files(128, 0))).toEqual([
      'warning 128 may wait to be accepted, because net.core.somaxconn is 128; run sysctl -w net.core.somaxconn=4096',
    ]);
    expect(await checked(512, files(4_096, 31))).toEqual([
      expect.stringMatching(
        /^warning 512 may wait to be accepted; servers on this machine have missed 31 since it started/,
      ),
    ]);
    expect(await checked(4_096, async () => null)).toEqual([]);
  });

  it('[CLI-16] doctor ends with 1 when something would keep a server from running', async () => {
    const config = await runCli(['doctor'], { TIDEMARK_PORT: 'many' });
    expect(config).toMatchObject({ code: 1, err: expect.stringMatching(/^tidemark: 1 of \d checks failed\n$/) });
    expect(config.out).toContain('failed   configuration: TIDEMARK_PORT must be a whole number');
    mkdirSync(join(folder, 'photos'));
    writeFileSync(join(folder, 'photos', 'holiday.jpg'), '');
    const foreign = await runCli(['doctor', '--data', 'photos']);
    expect(foreign).toMatchObject({ code: 1, out: expect.stringContaining("holds something that is not Tidemark's") });
    const file = await runCli(['doctor', '--data', join('photos', 'holiday.jpg')]);
    expect(file).toMatchObject({ code: 1, out: expect.stringContaining('holiday.jpg is a file, not a folder') });
  });
});
