import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const NAME = /^tidemark-tests-(\d+)$/;
/** The tests were seen to use 0.4 GB at once. */
const FREE_BYTES_MIN = 4 * 2 ** 30;

/**
 * Makes a folder for the temporary files of a test run in the memory of a Linux machine, and returns its path; null: there is no
 * room, or programs may not be run there. Tests kill processes and cut no power, so what they show does not depend on the
 * disk; but a disk that is busy with other work can take minutes for one flush, which no test would wait for.
 */
export function makeMemoryFolder({ root = '/dev/shm', mounts = '/proc/mounts', freeBytesMin = FREE_BYTES_MIN } = {}) {
  try {
    if (!runsPrograms(root, readFileSync(mounts, 'utf8'))) return null;
    removeLeftovers(root);
    const { bavail, bsize } = statfsSync(root);
    if (bavail * bsize < freeBytesMin) return null;
    const path = join(root, `tidemark-tests-${process.pid}`);
    mkdirSync(path, { recursive: true });
    // Postgres runs as a user of its own.
    chmodSync(path, 0o1777);
    return path;
  } catch {
    return null;
  }
}

function runsPrograms(root, mounts) {
  const line = mounts.split('\n').find((mount) => mount.split(' ')[1] === root);
  return line !== undefined && !line.split(' ')[3].split(',').includes('noexec');
}

/** Removes the folders of runs that were killed. */
function removeLeftovers(root) {
  for (const name of readdirSync(root)) {
    const [, pid] = NAME.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(root, name), { recursive: true, force: true });
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
