import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { withLock } from './with-lock.mjs';

let folder;
let lock;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-lock-'));
  lock = join(folder, 'lock');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The id of a process that has certainly ended. */
function deadPid() {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

it('one works at a time, and nothing is left behind', async () => {
  let inside = 0;
  const most = [];
  const work = async () => {
    most.push(++inside);
    await new Promise((done) => setImmediate(done));
    inside--;
  };
  await Promise.all([withLock(lock, work), withLock(lock, work), withLock(lock, work)]);
  expect(most).toEqual([1, 1, 1]);
  expect(readdirSync(folder)).toEqual([]);
});

it('gives what the work gives, and lets go when the work fails', async () => {
  await expect(withLock(lock, async () => Promise.reject(new Error('torn')))).rejects.toThrow('torn');
  expect(await withLock(lock, async () => 7)).toBe(7);
});

it('breaks the lock of a process that has died, for one of several', async () => {
  mkdirSync(lock);
  writeFileSync(join(lock, `${deadPid()}-0123`), '');
  let inside = 0;
  const work = async () => {
    expect(++inside).toBe(1);
    await new Promise((done) => setImmediate(done));
    inside--;
  };
  await Promise.all([withLock(lock, work), withLock(lock, work), withLock(lock, work)]);
  expect(existsSync(lock)).toBe(false);
});

it('an empty lock, which a process left that died while letting go, is free', async () => {
  mkdirSync(lock);
  expect(await withLock(lock, async () => 'free')).toBe('free');
});

it('does not wait for ever, and says for whom it waits', async () => {
  mkdirSync(lock);
  writeFileSync(join(lock, `${process.pid}-0123`), '');
  const waitedFor = [];
  const options = { onWait: (pid) => waitedFor.push(pid), waitMsMax: 10 };
  await expect(withLock(lock, async () => 'never', options)).rejects.toThrow('was not free in 0.01 s');
  expect(waitedFor).toEqual([process.pid]);
});
