import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { TidemarkClient } from '@tidemark/backend';
import type { Page, PullAnswer } from '@tidemark/protocol';
import { makeUser, openDevice, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { ADMIN_PASSWORD, logIn, runInProcess } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';

// The program as it is shipped: what was built, in a process of its own. `npm test` builds before it runs this.
const PACKAGES = join(dirname(fileURLToPath(import.meta.url)), '../..');
const MAIN = join(PACKAGES, 'cli/dist/main.js');
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
  symlinkSync(join(PACKAGES, 'server'), join(app, 'node_modules/@tidemark/server'));
});

afterAll(() => folder.remove());

async function dev(...more: readonly string[]): Promise<{ readonly url: string; readonly log: AsyncIterator<string> }> {
  const env = { ...ENV, TIDEMARK_ADMIN_PASSWORD: ADMIN_PASSWORD };
  const args = [MAIN, 'dev', '--port', '0', '--log-level', 'info', '--log-format', 'json', ...more];
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
    if (url !== undefined) return { url, log: stderr[Symbol.asyncIterator]() };
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

/** A source of one shared object, in JavaScript that is also TypeScript. */
const sourceOf = (n: number) =>
  `export default { partition_type: 'app', poll_interval: 3600, query: async () => ({ one: { n: ${n} } }) };\n`;

it('[MODULE-4] tidemark dev serves what a changed module answers at once, be it .ts, .mjs or .js, whatever its poll_interval', async () => {
  const files = ['Typed.ts', 'Esm.mjs', 'Plain.js'].map((name) => join(app, 'sources', name));
  const names = ['Typed', 'Esm', 'Plain'];
  for (const file of files) writeFileSync(file, sourceOf(1));
  const { url, log } = await dev();
  const server = { url, token: await logIn(url) };
  await makeUser(server, 'ada');
  const ada = await openDevice(server, 'ada');
  const pull = async () => {
    const sources = Object.fromEntries(names.map((name) => [name, {}]));
    const reply = await ada.api.post('/sync/v1/pull', { client_id: ada.id, sources });
    const pages = (reply.body as PullAnswer).sources;
    return names.map((name) => (pages[name] as Page).put);
  };
  const heard = async (event: string) => {
    for (;;) {
      const { value, done } = await log.next();
      if (done === true) throw new Error('the log has ended');
      if (value.includes(event)) return JSON.parse(value) as Record<string, unknown>;
    }
  };
  expect(await pull()).toEqual(names.map(() => ({ one: { n: 1 } })));
  for (const n of [2, 3]) {
    for (const file of files) writeFileSync(file, sourceOf(n));
    const expected = names.map(() => ({ one: { n } }));
    // Files are written one by one, so they may be taken over in several steps.
    do await heard('sources_reloaded');
    while (!isDeepStrictEqual(await pull(), expected));
  }

  writeFileSync(join(app, 'sources/Esm.mjs'), 'export default {\n  query() {\n    return missing.thing;\n  },\n};\n');
  const failed = await heard('source_module_failed');
  expect(failed).toMatchObject({ source: 'Esm', call: 'query', reason: 'missing is not defined' });
  expect(failed.stack).toContain('Esm.mjs:3');
  writeFileSync(join(app, 'sources/Esm.mjs'), 'throw new Error("on the way up");\n');
  const broken = await heard('sources_not_reloaded');
  expect([broken.reason, broken.stack]).toEqual([
    expect.stringContaining('Esm.mjs: on the way up'),
    expect.stringContaining('Esm.mjs:1'),
  ]);
});

it('[TYPES-32] the types that tidemark dev writes follow the schemas of its server, and tidemark types finds nothing to add', async () => {
  // What another test has left does not load.
  rmSync(join(app, 'sources'), { recursive: true, force: true });
  const file = join(app, 'src/tidemark.ts');
  const { url, log } = await dev('--types', 'src/tidemark.ts');
  const token = await logIn(url);
  const tidemark = new TidemarkClient({ url, token });
  const written = async () => {
    for (;;) {
      const { value, done } = await log.next();
      if (done === true) throw new Error('the log has ended');
      if (value === 'Wrote src/tidemark.ts.') return readFileSync(file, 'utf8');
    }
  };
  expect(await written()).toContain('export type Sources = {');
  await tidemark.sources.declare({ name: 'Order' });
  expect(await written()).toMatch(/readonly Order: \{\s+readonly attributes: JsonObject;/);
  const schema = {
    properties: { sum: { type: 'number' }, customer: { type: 'string', reference: 'Customer' } },
  } as const;
  await tidemark.sources.setSchema('Order', { schema });
  expect(await written()).toContain('readonly sum?: number;');
  const { sum, ...rest } = schema.properties;
  const steps = [{ step: 'rename', attribute: 'sum', to: 'total' }] as const;
  await tidemark.sources.setSchema('Order', { schema: { properties: { ...rest, total: sum } }, steps });
  const types = await written();
  expect(types).toContain("  Order: { version: 2, steps: [[{ step: 'rename', attribute: 'sum', to: 'total' }]] },");
  expect(types).toMatch(/readonly references: \{\s+readonly customer: 'Customer';/);
  const env = { HOME: folder.path, TIDEMARK_URL: url, TIDEMARK_TOKEN: token };
  const checked = await runInProcess(['types', '--out', 'src/tidemark.ts', '--check'], { env, folder: app });
  expect(checked).toEqual({ code: 0, out: '', err: 'src/tidemark.ts is up to date.\n' });
  const { out } = await runInProcess(['types'], { env, folder: app });
  expect(out).toBe(types);
});
