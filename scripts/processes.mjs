import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The checkout that these scripts belong to. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const FORWARDED_SIGNALS = ['SIGINT', 'SIGTERM'];
const LOCK_WAIT_MS_MAX = 900_000;
const LOCK_RETRY_MS = 100;

/** Returns whether Node.js was started with this module, rather than a module that imports it. */
export function isEntry(moduleUrl) {
  return process.argv[1] !== undefined && pathToFileURL(resolve(process.argv[1])).href === moduleUrl;
}

/** Runs a program in this terminal, passes signals on to it, and returns its exit code. */
export async function run(command, args, options = {}) {
  const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit', ...options });
  const forward = (signal) => child.kill(signal);
  for (const signal of FORWARDED_SIGNALS) process.on(signal, forward);
  try {
    const [code, signal] = await once(child, 'close');
    return code ?? 128 + constants.signals[signal];
  } finally {
    for (const signal of FORWARDED_SIGNALS) process.off(signal, forward);
  }
}

/**
 * Does the work while no other process of this machine does it. The lock is a file that holds the id of its owner; it is
 * linked into place, so it never exists without that id. The lock of a process that has died is removed.
 */
export async function withLock(file, work, { onWait = () => {}, waitMsMax = LOCK_WAIT_MS_MAX } = {}) {
  const own = `${file}.${process.pid}.${Math.random()}`;
  writeFileSync(own, String(process.pid));
  const deadlineMs = Date.now() + waitMsMax;
  try {
    for (let isFirst = true; !tryLink(own, file); isFirst = false) {
      const owner = ownerOf(file);
      if (owner !== null && isFirst) onWait(owner);
      if (owner === null) rmSync(file, { force: true });
      else if (Date.now() > deadlineMs) throw new Error(`process ${owner} held ${file} for ${waitMsMax / 1_000} s`);
      else await sleep(LOCK_RETRY_MS);
    }
  } finally {
    rmSync(own);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function tryLink(own, file) {
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Returns the id of the process that owns the lock; null when it has died or let go. */
function ownerOf(file) {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    return isAlive(pid) ? pid : null;
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}
