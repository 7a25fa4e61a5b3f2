import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const WAIT_MS_MAX = 900_000;
const RETRY_MS = 100;

/**
 * Does the work while no other process of this machine does the same.
 *
 * The lock is a folder with one file, named after its owner. It is made elsewhere and renamed into place, so it never
 * exists without its owner. A lock whose owner has died is broken by unlinking that owner's file by name: whoever comes
 * too late finds another name there and breaks nothing.
 */
export async function withLock(folder, work, { onWait = () => {}, waitMsMax = WAIT_MS_MAX } = {}) {
  const owner = `${process.pid}-${randomBytes(6).toString('hex')}`;
  const deadline = Date.now() + waitMsMax;
  let waiting = false;
  while (!tryTake(folder, owner)) {
    const holder = holderOf(folder);
    const isHeld = holder !== null && isAlive(holder.pid);
    if (!isHeld) clear(folder, holder?.name);
    else if (!waiting) onWait(holder.pid);
    waiting ||= isHeld;
    if (Date.now() > deadline) throw new Error(`the lock ${folder} was not free in ${waitMsMax / 1000} s`);
    if (isHeld) await sleep(RETRY_MS);
  }
  try {
    return await work();
  } finally {
    clear(folder, owner);
  }
}

function tryTake(folder, owner) {
  const prepared = `${folder}.${owner}`;
  mkdirSync(prepared);
  writeFileSync(join(prepared, owner), '');
  try {
    renameSync(prepared, folder);
    return true;
  } catch (error) {
    rmSync(prepared, { recursive: true });
    if (['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(error.code)) return false;
    throw error;
  }
}

function holderOf(folder) {
  try {
    const [name] = readdirSync(folder);
    return name === undefined ? null : { name, pid: Number.parseInt(name, 10) };
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

function clear(folder, name) {
  if (name !== undefined) ignoring(['ENOENT'], () => unlinkSync(join(folder, name)));
  ignoring(['ENOENT', 'ENOTEMPTY', 'EEXIST'], () => rmdirSync(folder));
}

function ignoring(codes, action) {
  try {
    action();
  } catch (error) {
    if (!codes.includes(error.code)) throw error;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
