import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { TidemarkClient } from '@tidemark/backend';
import { useBrowser } from '@tidemark/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { filesBelow, packAll, packedFiles, publishedPackages, readManifest } from './pack.mjs';
import { ROOT } from './processes.mjs';
import { checksumsIn, copyOtherwise } from './reproducible.mjs';

const PASSWORD = 'a-password-for-tests';
const PACKAGES = publishedPackages();
// It is a program of three lines, and no module.
const LIBRARIES = PACKAGES.filter((path) => path !== 'packages/create-tidemark');
// The packages are ECMAScript modules: neither CommonJS nor TypeScript's resolution before `exports` can load them.
const UNSUPPORTED_RESOLUTIONS = ['node10', 'node16-cjs'];

// Strict: a dependency that does not run on this version of Node.js is a failure, not a warning.
const INSTALL = ['install', '--engine-strict', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'];

const browser = useBrowser();
let folder;
let installed;

// The packages as a user gets them: packed, and installed in an empty folder outside of the checkout.
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-pack-'));
  const tarballs = await packAll(join(folder, 'tarballs'));
  installed = join(folder, 'user');
  mkdirSync(installed);
  writeFileSync(join(installed, 'package.json'), '{ "name": "user", "private": true, "type": "module" }\n');
  const { status, output } = run('npm', [...INSTALL, ...tarballs]);
  if (status !== 0) throw new Error(`npm install failed:\n${output}`);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(program, args, cwd = installed) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', env: userEnvironment() });
  return { status, stdout, output: stdout + stderr };
}

/** Without what npm tells the programs it runs, which would make the others think they are part of this checkout. */
function userEnvironment() {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^npm_(?!config_(registry|cache|userconfig))/i.test(name),
  );
  return { ...Object.fromEntries(kept), NODE_ENV: '', VITEST: '', TIDEMARK_ADMIN_PASSWORD: PASSWORD };
}

function filesOf(path) {
  const root = join(installed, 'node_modules', readManifest(ROOT, path).name);
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1));
}

function readTarball(path) {
  const start = `${readManifest(ROOT, path).name.replace('@', '').replace('/', '-')}-`;
  const isIt = (file) => file.startsWith(start) && /^\d/.test(file.slice(start.length));
  return readFileSync(join(folder, 'tarballs', readdirSync(join(folder, 'tarballs')).find(isIt)));
}

describe('packages installed from tarballs', () => {
  it('[PACK-6] packing in another folder, with other times and modes, makes the same tarballs', async () => {
    const copy = join(folder, 'another', 'place');
    const paths = publishedPackages().flatMap((path) => filesBelow(ROOT, path));
    copyOtherwise(ROOT, copy, ['package.json', '.npmrc', ...paths]);
    await packAll(join(folder, 'again'), copy);
    expect(checksumsIn(join(folder, 'again'))).toEqual(checksumsIn(join(folder, 'tarballs')));
  });

  // The everyday tests look at these lists, because making tarballs takes long.
  it.each(PACKAGES)('[PACK-3] the tarball of %s holds exactly the files that are listed for it', (path) => {
    expect(filesOf(path).sort()).toEqual([...packedFiles(ROOT, path)].sort());
  });

  it.each(LIBRARIES)('[PACK-5] ECMAScript modules and bundlers resolve all types of %s', async (path) => {
    const { problems } = await checkPackage(createPackageFromTarballData(new Uint8Array(readTarball(path))));
    expect(problems.filter(({ resolutionKind }) => !UNSUPPORTED_RESOLUTIONS.includes(resolutionKind))).toEqual([]);
  });

  it('[PACK-4] tidemark init makes an app, tidemark dev serves it, and a device reads its data', async () => {
    const made = run('npx', ['--no-install', 'tidemark', 'init', 'app']);
    expect([made.status, made.output]).toEqual([0, expect.stringMatching(/app is an app\. In it, npm install/)]);
    const { dependencies } = JSON.parse(readFileSync(join(installed, 'app/package.json'), 'utf8'));
    expect(Object.values(dependencies).filter((from) => !from.startsWith(`file:${folder}/tarballs/`))).toEqual([]);
    const server = await startDev(join(installed, 'app'));
    try {
      writeFileSync(join(installed, 'device.mjs'), DEVICE);
      const device = run(process.execPath, ['device.mjs', server.url, PASSWORD]);
      expect(device).toMatchObject({ status: 0, stdout: 'Compass, Rope, 10 m\n' });
    } finally {
      await server.stop();
    }
  });

  it('[INIT-23] npm create tidemark makes the app that tidemark init makes', () => {
    const made = run('npm', ['create', 'tidemark', 'created', '--', '--template', 'modules']);
    expect([made.status, made.output]).toEqual([0, expect.stringMatching(/created is an app\. In it, npm install/)]);
    const files = (app) =>
      filesBelow(join(installed, app), '.').map((path) => [path, readFileSync(join(installed, app, path), 'utf8')]);
    run('npx', ['--no-install', 'tidemark', 'init', 'initialised', '--template', 'modules']);
    expect(files('created')).toEqual(files('initialised'));
  });

  it('[INIT-20] a web app of tidemark init installs from the tarballs that it was started from, is built and synchronises', async () => {
    const made = run('npx', ['--no-install', 'tidemark', 'init', '../web', '--template', 'web']);
    const app = join(folder, 'web');
    expect([made.status, made.output]).toEqual([0, expect.stringContaining(`${app} is an app. In it, npm install`)]);
    expect(run('npm', INSTALL, app)).toMatchObject({ status: 0 });
    expect(run('npm', ['run', 'build'], app)).toMatchObject({ status: 0 });
    expect(readFileSync(join(app, 'dist/index.html'), 'utf8')).toContain('<script type="module"');
    const { url, appUrl } = await startWebApp(app);
    const page = await browser.openPage(appUrl);
    await page.getByLabel('Login').fill('ada');
    await page.getByLabel('Password').fill('lovelace-1815');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('New note').fill('Buy a compass');
    await page.getByRole('button', { name: 'Add' }).click();
    const admin = await TidemarkClient.logIn({ url, login: 'admin', password: PASSWORD });
    const notes = async () => Object.values(await admin.documents.read({ source: 'Note', user: 'ada' }, 'md'));
    await expect.poll(notes, { timeout: 60_000 }).toEqual([expect.objectContaining({ text: 'Buy a compass' })]);
    await admin.push.objects('Note', { office: { text: 'From the office', done: true, at: '' } }, { user: 'ada' });
    await page.getByText('From the office').waitFor();
  });

  it('[INIT-21] npm run dev of an app ends with its parent', async () => {
    for (const [app, script] of [
      [join(installed, 'app'), 'tidemark dev'],
      [join(folder, 'web'), 'node dev.mjs'],
    ]) {
      const { scripts } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'));
      expect(scripts.dev).toBe(script);
    }
    const { url, appUrl, npm } = await startWebApp(join(folder, 'web'));
    const answers = () =>
      Promise.all(
        [url, appUrl].map((one) =>
          fetch(one).then(
            () => true,
            () => false,
          ),
        ),
      );
    expect(await answers()).toEqual([true, true]);
    npm.kill('SIGKILL');
    await expect.poll(answers, { timeout: 60_000 }).toEqual([false, false]);
  });
});

/** Runs `npm run dev` of a web app on free ports. */
async function startWebApp(cwd) {
  const port = await freePort();
  const appUrl = `http://localhost:${port}`;
  const places = { PORT: port, TIDEMARK_PORT: '0', TIDEMARK_DEVICES_ORIGINS: JSON.stringify([appUrl]) };
  const npm = spawn('npm', ['run', 'dev'], { cwd, env: { ...userEnvironment(), ...places }, detached: true });
  onTestFinished(() => {
    if (npm.exitCode === null && npm.signalCode === null) process.kill(-npm.pid, 'SIGTERM');
  });
  let said = '';
  npm.stderr.on('data', (text) => {
    said += text;
  });
  let url;
  for await (const line of createInterface({ input: npm.stdout })) {
    url ??= /is ready at (http:\S+)/.exec(line)?.[1];
    if (line.startsWith('The app is at')) return { url, appUrl, npm };
  }
  throw new Error(`the app did not start:\n${said}`);
}

async function freePort() {
  const probe = createServer().listen(0, 'localhost');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

async function startDev(cwd) {
  const program = join(installed, 'node_modules/.bin/tidemark');
  const child = spawn(program, ['dev', '--port', '0'], { cwd, env: userEnvironment() });
  const stop = async () => {
    const ended = once(child, 'close');
    child.kill('SIGTERM');
    await ended;
  };
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const [url] = /http:\S+/.exec(line) ?? [];
    if (url !== undefined) return { url, stop };
  }
  throw new Error(`the server did not start:\n${said}`);
}

/** An app of a user, on the packages alone: the backend's client makes a user, a device of that user pulls. */
const DEVICE = `
import { TidemarkClient } from '@tidemark/backend';
import { openDevice } from '@tidemark/client';
import { openFileStore } from '@tidemark/client/file-store';

const [url, password] = process.argv.slice(2);
const tidemark = await TidemarkClient.logIn({ url, login: 'admin', password });
await tidemark.users.create({ login: 'ada', password: 'lovelace-1815' });
const device = await openDevice({ url, store: await openFileStore('./device-data') });
await device.signIn({ login: 'ada', password: 'lovelace-1815' });
const products = device.source('Product');
await device.sync();
console.log(products.list().map(({ attributes }) => attributes.name).join(', '));
await device.close();
`;
