import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { buildConsole } from './build-console.mjs';
import { buildDocs } from './build-docs.mjs';
import { bundleCli } from './bundle-cli.mjs';
import { isEntry, ROOT, run, withLock } from './processes.mjs';

const NODE_MAJOR_MIN = 20;
// A build that has nothing to do takes less than this, and is not worth a line.
const BUILD_NOTICE_MS = 2_000;
// Nobody waits longer without a sign of life.
const SIGN_EVERY_MS = 10_000;
const OUTPUT = /(?:\.d\.ts|\.js)(?:\.map)?$/;
// What npm and the compiler say goes to stderr, so that the output of the command itself stays clean.
const TO_STDERR = { stdio: ['ignore', 2, 2] };

/** Installs the dependencies and builds the sources when they are stale; ends the process when that fails. */
export async function setup(root = ROOT) {
  // In the folder for temporary files, because the process id in it has a meaning on this machine only.
  const name = createHash('sha256').update(realpathSync(root)).digest('hex').slice(0, 16);
  const onWait = (pid) => say(`waiting for the setup of process ${pid}`);
  const problem = isSupported(process.versions.node)
    ? await withLock(join(tmpdir(), `tidemark-setup-${name}`), () => installAndBuild(root), { onWait })
    : `this is Node.js ${process.versions.node}; install version ${NODE_MAJOR_MIN} or newer`;
  if (problem === null) return;
  say(problem);
  process.exit(1);
}

export function isSupported(nodeVersion) {
  return Number.parseInt(nodeVersion, 10) >= NODE_MAJOR_MIN;
}

/** Returns what went wrong, or null. */
async function installAndBuild(root) {
  if (dependenciesAreStale(root)) {
    say('installing dependencies');
    const code = await withSigns('installing dependencies', () => install(root), { noticeMs: SIGN_EVERY_MS });
    if (code !== 0) return `npm install failed with exit code ${code}; fix the error above and try again`;
  }
  removeOrphans(root);
  const compile = () => run(process.execPath, ['node_modules/typescript/bin/tsc', '-b'], { cwd: root, ...TO_STDERR });
  const code = await withSigns('building the sources', compile);
  return code === 0 ? await bundlesProblem(root) : 'the sources do not compile; fix the errors above and try again';
}

/**
 * Says what is being done once it takes a moment, and again and again as long as it lasts. A thread of its own does so, because
 * the work may block this one for long.
 */
export async function withSigns(doing, work, { noticeMs = BUILD_NOTICE_MS, everyMs = SIGN_EVERY_MS, fd = 2 } = {}) {
  const signs = new Worker(SIGNS, { eval: true, workerData: { doing, noticeMs, everyMs, fd } });
  signs.unref();
  try {
    return await work();
  } finally {
    await signs.terminate();
  }
}

const SIGNS = `
const { writeSync } = require('node:fs');
const { workerData: { doing, noticeMs, everyMs, fd } } = require('node:worker_threads');
const startMs = Date.now();
const tell = (text) => writeSync(fd, 'tidemark: ' + text + '\\n');
setTimeout(tell, noticeMs, doing);
setInterval(() => tell('still ' + doing + ' (' + Math.round((Date.now() - startMs) / 1000) + ' s)'), everyMs);
`;

/** Builds what the compiler does not, where it is part of the checkout. Returns what went wrong, or null. */
async function bundlesProblem(root) {
  const builds = [
    ['the console', 'packages/console', buildConsole],
    ['the documentation', 'docs', buildDocs],
    ['the bundle of the command line', 'packages/cli', bundleCli],
  ];
  for (const [name, folder, build] of builds) {
    if (!existsSync(join(root, folder))) continue;
    try {
      await withSigns(`building ${name}`, () => build(root));
    } catch (error) {
      return `${name} could not be built: ${error.message}`;
    }
  }
  return null;
}

/** Returns whether npm's record of what it installed differs from the lock file. Optional packages may be missing. */
export function dependenciesAreStale(root) {
  const installed = readJson(join(root, 'node_modules/.package-lock.json'))?.packages;
  if (installed === undefined || isForeign(installed)) return true;
  return Object.entries(readJson(join(root, 'package-lock.json')).packages).some(([path, wanted]) => {
    if (!path.startsWith('node_modules/')) return false;
    const found = installed[path];
    if (found === undefined) return !wanted.optional && !wanted.devOptional;
    return found.version !== wanted.version || found.integrity !== wanted.integrity;
  });
}

/** Returns whether these packages were installed on another platform. */
function isForeign(installed) {
  return Object.values(installed).some(({ os = [process.platform] }) => {
    return os.every((name) => !name.startsWith('!') && name !== process.platform);
  });
}

/**
 * Installs what the lock file says. `npm ci` would refuse a lock file that lacks the optional packages of other platforms,
 * and npm writes such lock files when the registry does not have them (npm/cli#4828).
 */
async function install(root) {
  const installed = readJson(join(root, 'node_modules/.package-lock.json'))?.packages ?? {};
  if (isForeign(installed)) rmSync(join(root, 'node_modules'), { recursive: true });
  // Without the development dependencies nothing can be built, whatever NODE_ENV says.
  const args = ['install', '--no-save', '--include=dev', '--prefer-offline'];
  const npm = process.env.npm_execpath;
  if (npm?.endsWith('npm-cli.js')) return run(process.execPath, [npm, ...args], { cwd: root, ...TO_STDERR });
  return run('npm', args, { cwd: root, shell: process.platform === 'win32', ...TO_STDERR });
}

/** Removes what was built from sources that are gone, and the compiler's record of outputs that are gone. */
function removeOrphans(root) {
  for (const { path } of readJson(join(root, 'tsconfig.json')).references) {
    const dist = join(root, path, 'dist');
    if (!existsSync(dist)) rmSync(join(root, path, 'tsconfig.tsbuildinfo'), { force: true });
    for (const file of existsSync(dist) ? readdirSync(dist, { recursive: true }) : []) {
      const sources = ['.ts', '.tsx'].map((ending) => join(root, path, 'src', file.replace(OUTPUT, ending)));
      if (OUTPUT.test(file) && !sources.some((source) => existsSync(source))) rmSync(join(dist, file));
    }
  }
}

function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

function say(text) {
  process.stderr.write(`tidemark: ${text}\n`);
}

if (isEntry(import.meta.url)) await setup();
