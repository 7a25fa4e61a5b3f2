import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dependenciesAreStale, forgetDependencies, lacksOnlyOptional, stampDependencies } from './dependencies.mjs';
import { clearStaleOutputs, fingerprintSources, outputsAreStale, stampOutputs } from './outputs.mjs';
import { isEntry, ROOT, runQuietly, TOOLS } from './processes.mjs';
import { withProgress } from './progress.mjs';
import { withLock } from './with-lock.mjs';

const NODE_MAJOR_MIN = 20;
const TAIL_LINES = 40;

/** What went wrong, the end of what the tool said, and how to mend it. */
export class SetupFailure extends Error {
  constructor(message, mend, output = '') {
    super(message);
    this.name = 'SetupFailure';
    this.mend = mend;
    this.tail = output.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  }
}

/** Makes a clone ready to run: dependencies installed, sources built. Does nothing when nothing is to do. */
export async function setup({ root = ROOT, say = (text) => process.stderr.write(text) } = {}) {
  checkNode(process.versions.node);
  if (!dependenciesAreStale(root) && !outputsAreStale(root)) return;
  const onWait = (pid) => say(`tidemark: waiting for the setup of process ${pid}\n`);
  const work = async () => {
    if (dependenciesAreStale(root)) await withProgress(say, 'installing dependencies', () => install(root));
    if (outputsAreStale(root)) await withProgress(say, 'building', () => build(root));
  };
  await withLock(lockOf(root), work, { onWait });
}

/** The form for commands: a failure is told and ends the process. */
export async function setupOrExit() {
  try {
    await setup();
  } catch (error) {
    if (!(error instanceof SetupFailure)) throw error;
    const lines = [error.tail, `tidemark: ${error.message}`, `tidemark: ${error.mend}`];
    process.stderr.write(`${lines.filter((line) => line !== '').join('\n')}\n`);
    process.exit(1);
  }
}

export function checkNode(version) {
  if (Number.parseInt(version, 10) >= NODE_MAJOR_MIN) return;
  throw new SetupFailure(
    `Node.js ${NODE_MAJOR_MIN} or newer is needed, this is ${version}`,
    `install a newer Node.js (the file .nvmrc names the version we use) and try again`,
  );
}

async function install(root) {
  forgetDependencies(root);
  let { code, output } = await npm(root, 'ci');
  if (code !== 0 && lacksOnlyOptional(root, output)) ({ code, output } = await npm(root, 'install', '--no-save'));
  if (code !== 0)
    throw new SetupFailure(`npm failed with exit code ${code}`, mendInstall(output), withoutUsage(output));
  stampDependencies(root);
}

async function build(root) {
  const fingerprints = fingerprintSources(root);
  clearStaleOutputs(root);
  const { code, output } = await runQuietly(process.execPath, [join(root, TOOLS.tsc), '-b'], { cwd: root });
  if (code !== 0) {
    throw new SetupFailure('the sources do not compile', 'mend the errors above; npx tsc -b shows them all', output);
  }
  stampOutputs(root, fingerprints);
}

async function npm(root, ...command) {
  // Without the development dependencies nothing could be built, whatever NODE_ENV says.
  const args = [...command, '--include=dev'];
  const runningNpm = process.env.npm_execpath;
  try {
    if (runningNpm?.endsWith('npm-cli.js'))
      return await runQuietly(process.execPath, [runningNpm, ...args], { cwd: root });
    return await runQuietly('npm', args, { cwd: root, shell: process.platform === 'win32' });
  } catch (error) {
    throw new SetupFailure(`npm could not be started (${error.code})`, 'install npm, it comes with Node.js');
  }
}

/** npm ends a complaint about the lock file with a page of its own options, which would hide the complaint. */
function withoutUsage(output) {
  return output.replace(/^npm error (?:Clean install a project|Usage:)[\s\S]*/m, '');
}

export function mendInstall(output) {
  if (/EUSAGE|in sync/.test(output)) {
    return 'package.json and package-lock.json disagree: run npm install and commit the lock file';
  }
  if (/ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ERR_SOCKET_TIMEOUT/.test(output)) {
    return 'the package registry was not reached: check the network and npm config get registry, then try again';
  }
  if (/\bE40[134]\b/.test(output)) {
    return 'the package registry refused a package: check npm config get registry and your login there';
  }
  if (/EACCES|EPERM/.test(output)) return 'a file could not be written: check who owns this folder and node_modules';
  if (/ENOSPC/.test(output)) return 'the disk is full: make room and try again';
  return 'run npm ci by hand to see everything it says';
}

/** In the machine's own temporary folder, because the process ids in it mean something on this machine only. */
function lockOf(root) {
  const name = createHash('sha256').update(realpathSync(root)).digest('hex').slice(0, 16);
  return join(tmpdir(), `tidemark-setup-${name}`);
}

if (isEntry(import.meta.url)) await setupOrExit();
