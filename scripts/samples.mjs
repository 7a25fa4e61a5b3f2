import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './processes.mjs';

const TIDEMARK = join(ROOT, 'packages/cli/bin/tidemark.mjs');

/** The blocks of code of a page: language, the word after it if there is one, and text. */
export function blocksOf(markdown) {
  return [...markdown.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```/gm)].map(([, language, name = null, text]) => ({
    language,
    name,
    text,
  }));
}

/** Times and ids differ from run to run, and nothing else may. */
export function timeless(text) {
  return text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'a moment')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'a request')
    .replace(/ on [\w-]{22}:/g, ' on a device:');
}

/** What a terminal shows: the commands (`$ …`) of a block, and the lines they print. */
export function sessionOf(text) {
  const lines = text.trimEnd().split('\n');
  return {
    commands: lines.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2)),
    printed: lines.filter((line) => !line.startsWith('$ ') && line !== ''),
  };
}

/** Runs the commands of a block in one shell and returns the lines they print. */
export async function runSession(commands, { env = {}, cwd = ROOT } = {}) {
  const script = commands.map((command) => `${inCheckout(command)}; echo`).join('\n');
  const { stdout } = await promisify(execFile)('bash', ['-c', `exec 2>&1\n${script}`], {
    cwd,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0', ...env },
  });
  return stdout.split('\n').filter((line) => line !== '');
}

/**
 * Starts a program by a command of a page, such as `A=1 npm start`, and resolves when it has printed so many lines.
 * The caller ends it with `stop`.
 */
export async function startProgram(command, { lines, env = {} }) {
  const child = spawn('bash', ['-c', inCheckout(command)], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    // In a process group of its own, so that the program ends together with the shell.
    detached: true,
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    process.kill(-child.pid, 'SIGTERM');
    child.stdout.resume();
    await closed;
  };
  let printed = '';
  while (printed.split('\n').length <= lines) {
    const [chunk] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => [null])]);
    if (chunk === null) throw new Error(`${command} has ended:\n${printed}`);
    printed += chunk;
  }
  return { printed: printed.trimEnd().split('\n'), stop };
}

/** In a test everything is built, so `npm` and `npx` have nothing to do but to start a program. */
function inCheckout(command) {
  return command
    .replaceAll('npx tidemark', `"${process.execPath}" "${TIDEMARK}"`)
    .replace('npm start', `"${process.execPath}" packages/cli/dist/main.js serve`)
    .replace(/npx vite\b/, `"${process.execPath}" node_modules/vite/bin/vite.js`);
}
