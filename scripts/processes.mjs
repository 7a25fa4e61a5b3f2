import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The checkout these scripts belong to. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** The tools by the file Node runs, so that no shell and no `.cmd` wrapper stands between on any platform. */
export const TOOLS = {
  biome: 'node_modules/@biomejs/biome/bin/biome',
  tsc: 'node_modules/typescript/bin/tsc',
  vitest: 'node_modules/vitest/vitest.mjs',
};

const OUTPUT_CHARS_MAX = 1_000_000;
const PARENT_CHECK_MS = 250;
const FORWARDED_SIGNALS = ['SIGINT', 'SIGTERM'];

/** Was this module started by itself, rather than imported? */
export function isEntry(moduleUrl) {
  return process.argv[1] !== undefined && pathToFileURL(resolve(process.argv[1])).href === moduleUrl;
}

/** Runs a tool of TOOLS in this terminal and gives its exit code. */
export async function runTool(tool, args, root = ROOT) {
  const child = spawn(process.execPath, [join(root, tool), ...args], { cwd: root, stdio: 'inherit' });
  return exitCodeOf(child);
}

/** Runs a command without showing anything and gives its exit code and what it said, bounded to the last part. */
export async function runQuietly(command, args, options) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text) => {
      output = (output + text).slice(-OUTPUT_CHARS_MAX);
    });
  }
  return { code: await exitCodeOf(child), output };
}

/**
 * A SIGTERM for `npm start` ends npm and its shell, but the shell does not pass it on: the server would live on without
 * anybody knowing. So whoever is started by npm ends when its parent has gone.
 */
export function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, PARENT_CHECK_MS);
  watch.unref();
}

/** Goes on as another program in this very process: signals, exit code and terminal are the program's own. */
export async function become(file, args) {
  process.argv = [process.execPath, resolve(file), ...args];
  await import(pathToFileURL(resolve(file)).href);
}

function exitCodeOf(child) {
  return new Promise((done, failed) => {
    const forward = (signal) => child.kill(signal);
    const stopForwarding = () => {
      for (const signal of FORWARDED_SIGNALS) process.off(signal, forward);
    };
    for (const signal of FORWARDED_SIGNALS) process.on(signal, forward);
    child.once('error', (error) => {
      stopForwarding();
      failed(error);
    });
    child.once('close', (code, signal) => {
      stopForwarding();
      done(code ?? 128 + constants.signals[signal]);
    });
  });
}
