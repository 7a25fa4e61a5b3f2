import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Page, PullAnswer } from '@tidemark/protocol';
import { makeUser, openDevice, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { ADMIN_PASSWORD, logIn } from '../test-server.ts';

// The program as it is shipped: what was built, in a process of its own. `npm test` builds before it runs this.
const SERVER = join(dirname(fileURLToPath(import.meta.url)), '../..');
const MAIN = join(SERVER, 'dist/cli/main.js');
// What runs these tests must not make the others think that they are part of them.
const ENV = { PATH: process.env.PATH ?? '' };

let app: string;
let folder: TemporaryFolder;

beforeAll(async () => {
  folder = await temporaryFolder();
  const made = spawnSync(process.execPath, [MAIN, 'init', 'my-app'], { cwd: folder.path, encoding: 'utf8', env: ENV });
  app = join(folder.path, 'my-app');
  expect([made.status, made.stdout.startsWith(`${app} is an app`), made.stderr]).toEqual([0, true, '']);
  // As `npm install` would.
  mkdirSync(join(app, 'node_modules/@tidemark'), { recursive: true });
  symlinkSync(SERVER, join(app, 'node_modules/@tidemark/server'));
});

afterAll(() => folder.remove());

async function dev(): Promise<{ readonly url: string; readonly log: Interface }> {
  const env = { ...ENV, TIDEMARK_ADMIN_PASSWORD: ADMIN_PASSWORD };
  const args = [MAIN, 'dev', '--port', '0', '--log-level', 'info', '--log-format', 'json'];
  const child: ChildProcess = spawn(process.execPath, args, { cwd: app, env });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'close');
  });
  const [stdout, stderr] = [child.stdout, child.stderr].map((input) => {
    return createInterface({ input: input as NodeJS.ReadableStream });
  }) as [Interface, Interface];
  for await (const line of stdout) {
    const [url] = /http:\S+/.exec(line) ?? [];
    if (url !== undefined) return { url, log: stderr };
  }
  throw new Error('the server did not start');
}

it('[MODULE-5] tidemark init makes an app whose tests pass', async () => {
  const { scripts } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8')) as { scripts: { test: string } };
  expect(scripts.test).toBe('node --test');
  const tests = spawnSync(process.execPath, ['--test'], {
    cwd: app,
    encoding: 'utf8',
    timeout: 500_000,
    env: ENV,
  });
  expect([tests.status, tests.stdout.includes('fail 0'), tests.stderr]).toEqual([0, true, '']);
});

it('[MODULE-4] tidemark dev: what changes in a source module is there at the next refresh of a device', async () => {
  const { url, log } = await dev();
  const server = { url, token: await logIn(url) };
  await makeUser(server, 'ada');
  const ada = await openDevice(server, 'ada');
  const products = async () => {
    const reply = await ada.api.post('/sync/v1/pull', { client_id: ada.id, sources: { Product: {} } });
    return ((reply.body as PullAnswer).sources.Product as Page).put;
  };
  expect(await products()).toMatchObject({ 1: { name: 'Compass', price: 12 } });

  const file = join(app, 'sources/product.ts');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('price: 12', 'price: 13').replace('poll_interval: 60', 'poll_interval: 0'));
  for await (const line of log) if (line.includes('sources_reloaded')) break;
  expect(await products()).toMatchObject({ 1: { name: 'Compass', price: 13 } });
});
