import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withLock } from './processes.mjs';

let folder;
let lock;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-lock-'));
  lock = join(folder, 'lock');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the lock between processes', () => {
  it.each([
    ['that is free', () => {}],
    ['whose owner has died', () => writeFileSync(lock, String(spawnSync(process.execPath, ['-e', '']).pid))],
  ])('lets one work at a time when it is a lock %s, and leaves nothing behind', async (_, prepare) => {
    prepare();
    let inside = 0;
    const seen = [];
    const work = async () => {
      seen.push(++inside);
      await new Promise((done) => setImmediate(done));
      inside--;
    };
    await Promise.all([withLock(lock, work), withLock(lock, work), withLock(lock, work)]);
    expect([seen, readdirSync(folder)]).toEqual([[1, 1, 1], []]);
  });

  it('returns what the work returns, and is released when the work fails', async () => {
    await expect(withLock(lock, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await withLock(lock, async () => 7)).toBe(7);
  });

  it('reports its owner to a process that waits, and is not waited for without end', async () => {
    writeFileSync(lock, String(process.pid));
    const owners = [];
    const options = { onWait: (pid) => owners.push(pid), waitMsMax: 10 };
    await expect(withLock(lock, async () => 'never', options)).rejects.toThrow(`process ${process.pid} held`);
    expect([owners, readdirSync(folder)]).toEqual([[process.pid], ['lock']]);
  });
});
