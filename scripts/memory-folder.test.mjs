import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { makeMemoryFolder } from './memory-folder.mjs';

/** A folder that is said to be mounted with these options. */
async function mounted(options) {
  const { path: root, remove } = await temporaryFolder();
  onTestFinished(remove);
  const mounts = join(root, 'mounts');
  writeFileSync(mounts, `proc /proc proc rw 0 0\ntmpfs ${root} tmpfs ${options} 0 0\n`);
  return { root, mounts };
}

it('[TEST-4] tests get a folder in memory, without what runs that were killed have left there', async () => {
  const { root, mounts } = await mounted('rw,relatime');
  // No process has an id this large.
  const left = join(root, 'tidemark-tests-4194305');
  mkdirSync(left);
  const path = makeMemoryFolder({ root, mounts, freeBytesMin: 0 });
  expect(path).toBe(join(root, `tidemark-tests-${process.pid}`));
  expect([existsSync(path), existsSync(left)]).toEqual([true, false]);
  expect(makeMemoryFolder({ root, mounts, freeBytesMin: 0 })).toBe(path);
  rmSync(path, { recursive: true });
});

it('[TEST-4] tests use the disk where memory is not mounted, has no room, or runs no programs', async () => {
  const small = await mounted('rw,relatime');
  expect(makeMemoryFolder({ ...small, freeBytesMin: Number.MAX_SAFE_INTEGER })).toBe(null);
  expect(makeMemoryFolder({ ...small, mounts: '/nowhere/mounts', freeBytesMin: 0 })).toBe(null);
  expect(makeMemoryFolder({ ...small, root: '/nowhere', freeBytesMin: 0 })).toBe(null);
  expect(makeMemoryFolder({ ...(await mounted('rw,nosuid,noexec')), freeBytesMin: 0 })).toBe(null);
});
