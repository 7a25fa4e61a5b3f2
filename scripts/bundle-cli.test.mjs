import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { makeUser, openDevice, ServerProcess, temporaryFolder } from '@tidemark/testing';
import { logIn } from '@tidemark/testing/server';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { bundleCli, removeLastBundle } from './bundle-cli.mjs';
import { ROOT } from './processes.mjs';

const BUNDLE = join(ROOT, 'packages/cli/bundle');
/** LMDB and what it loads, and Argon2. */
const NATIVE =
  /^(?:@?lmdb|msgpackr|ordered-binary|weak-lru-cache|node-gyp-build-optional-packages|@harperfast\/extended-iterable|@node-rs\/argon2)/;

// The setup before a run of all tests has made it, so usually there is nothing to do.
beforeAll(() => bundleCli());

async function newFolder() {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  return folder.path;
}

/** Prints every module that is loaded after it. */
const PRINT_MODULES = `
  import { register } from 'node:module';
  register('data:text/javascript,' + encodeURIComponent(\`
    import { writeSync } from 'node:fs';
    export async function load(url, context, next) { writeSync(1, url + '\\\\n'); return next(url, context); }
  \`));
`;

it('[PACK-7] a server loads a bundle of few files, and of other packages only those with native code', async () => {
  const hook = `data:text/javascript,${encodeURIComponent(PRINT_MODULES)}`;
  const serve = `
    const { run } = await import('./packages/cli/bundle/run.js');
    const { env, stdin, stdout, stderr } = process;
    await run(['serve', '--port', '0', '--log-level', 'error'], { env, folder: '/', stdin, stdout, stderr });
  `;
  const args = ['--import', hook, '--input-type=module', '--eval', serve];
  const env = { ...process.env, TIDEMARK_DATA: await newFolder(), TIDEMARK_ADMIN_PASSWORD: 'kelp-forest-9341' };
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const loaded = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('is ready at')) break;
    if (line.startsWith('file:')) loaded.push(line);
  }
  const own = loaded.filter((url) => url.includes('/packages/'));
  expect(own.length).toBeGreaterThan(1);
  expect(own.length).toBeLessThan(70);
  expect(own.filter((url) => !url.includes('/packages/cli/bundle/'))).toEqual([]);
  const others = loaded.flatMap((url) => /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  expect([...new Set(others)].filter((name) => !NATIVE.test(name))).toEqual([]);
});

it('[PACK-9] the bundle brings the licence of every package whose code it contains', () => {
  const maps = readdirSync(BUNDLE).filter((file) => file.endsWith('.js.map'));
  const sources = maps.flatMap((file) => JSON.parse(readFileSync(join(BUNDLE, file), 'utf8')).sources);
  const names = sources.flatMap((source) => {
    const [, name] = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source) ?? [];
    return name === undefined ? [] : [name];
  });
  expect(names).toEqual(expect.arrayContaining(['fastify', 'typebox', 'ioredis', 'commander']));
  const texts = readFileSync(join(BUNDLE, 'LICENCES.txt'), 'utf8').split(`\n\n${'-'.repeat(80)}\n\n`);
  const licensed = texts.filter((text) => text.length > 400).map((text) => text.split(' ', 1)[0]);
  expect([...new Set(names)].filter((name) => !licensed.includes(name))).toEqual([]);
});

/** Makes a checkout with just what is bundled, whose command line loads the greeting only when it is asked for. */
async function newCheckout() {
  const root = await newFolder();
  const write = (path, text) => {
    const file = join(root, 'packages', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    writeFileSync(`${file}.map`, '{"version":3,"sources":[],"names":[],"mappings":""}');
  };
  write('store-embedded/dist/writer-thread.js', 'export {};');
  write('store-embedded/dist/read-all.js', 'export {};');
  write('server/dist/backups/verify-process.js', 'export {};');
  write('cli/dist/run.js', `export const greet = async () => (await import('./greeting.js')).greeting;`);
  const bundle = join(root, 'packages/cli/bundle');
  return {
    async build(greeting) {
      write('cli/dist/greeting.js', `export const greeting = '${greeting}';`);
      write('cli/tsconfig.tsbuildinfo', '{}');
      await bundleCli(root);
    },
    removeLastBundle: () => removeLastBundle(root),
    greetings: () => {
      const texts = readdirSync(bundle).map((file) => readFileSync(join(bundle, file), 'utf8'));
      return texts.flatMap((text) => /greeting = "(.*)"/.exec(text)?.[1] ?? []).sort();
    },
    /** Starts a process that has loaded the bundle, and prints the greeting when its input ends. */
    start: async () => {
      const code = `
        const { greet } = await import(${JSON.stringify(pathToFileURL(join(bundle, 'run.js')).href)});
        process.stdout.write('loaded ');
        process.stdin.resume().once('end', async () => process.stdout.write(await greet()));
      `;
      const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      let output = '';
      child.stdout.on('data', (chunk) => (output += chunk));
      await once(child.stdout, 'data');
      return async () => {
        child.stdin.end();
        await once(child, 'close');
        return output;
      };
    },
  };
}

it('[PACK-7] a process that has begun to load the bundle finds the rest of it after the bundle was replaced', async () => {
  const checkout = await newCheckout();
  await checkout.build('first');
  const greetOfFirst = await checkout.start();
  await checkout.build('second');
  const greetOfSecond = await checkout.start();
  expect([await greetOfFirst(), await greetOfSecond()]).toEqual(['loaded first', 'loaded second']);
});

it('[PACK-7] the bundle before the present one is kept, older ones are not, and packages have the present one only', async () => {
  const checkout = await newCheckout();
  const kept = [];
  for (const greeting of ['a', 'b', 'c']) {
    await checkout.build(greeting);
    kept.push(checkout.greetings().join());
  }
  checkout.removeLastBundle();
  kept.push(checkout.greetings().join());
  expect(kept).toEqual(['a', 'a,b', 'b,c', 'c']);
});

const NOTE = `
import { Refusal } from '@tidemark/protocol';
import { conflict, defineSource, rejected } from '@tidemark/server/app';

const ERRORS = {
  rejected: () => rejected('no such note'),
  conflict: () => conflict('somebody was faster'),
  refusal: () => new Refusal('source_not_found', 'thrown by a module'),
};

export default defineSource({
  partition_type: 'user',
  query: () => ({}),
  delete({ id }) {
    throw ERRORS[id]();
  },
});
`;

it.each(['mjs', 'ts'])('[MODULE-6] a bundled server recognises what a .%s module throws', async (ending) => {
  const folder = await newFolder();
  const modules = join(folder, 'app/node_modules/@tidemark');
  mkdirSync(join(folder, 'app/sources'), { recursive: true });
  mkdirSync(modules, { recursive: true });
  for (const name of ['protocol', 'server']) symlinkSync(join(ROOT, 'packages', name), join(modules, name));
  writeFileSync(join(folder, `app/sources/Note.${ending}`), NOTE);
  const server = new ServerProcess({ folder: join(folder, 'data'), args: ['--app', join(folder, 'app')] });
  onTestFinished(() => server.kill());
  const { url, adminPassword } = await server.start();
  const admin = { url, token: await logIn(url, adminPassword) };
  await makeUser(admin, 'ada');
  const { api, id: client_id } = await openDevice(admin, 'ada');
  const changes = ['rejected', 'conflict', 'refusal'].map((id) => ({ op_id: id, source: 'Note', op: 'delete', id }));
  const { body } = await api.post('/sync/v1/push', { client_id, changes });
  expect(body.outcomes.map(({ status, error }) => [status, error?.detail])).toEqual([
    ['rejected', 'no such note'],
    ['conflict', 'somebody was faster'],
    ['queued', undefined],
  ]);
  await expect.poll(() => server.stderr).toMatch(/"reason":"thrown by a module","stack":"Refusal: /);
});
