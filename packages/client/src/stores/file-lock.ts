import { open, readFile, rm } from 'node:fs/promises';
import { clientError } from '../client-error.ts';

const TAKEOVERS_MAX = 3;

/**
 * Folders that this process has open. A lock with its process id may also be left over from an earlier process with
 * the same id.
 */
const held = new Set<string>();

/**
 * Ensures that one device at a time uses a folder, by a file with the process id. The lock of a dead process is void.
 * Resolves to the function that releases the lock.
 */
export async function lockFile(path: string): Promise<() => Promise<void>> {
  for (let attempt = 0; attempt <= TAKEOVERS_MAX; attempt++) {
    if (await written(path)) {
      held.add(path);
      return async () => {
        held.delete(path);
        await rm(path, { force: true });
      };
    }
    const holder = await holderOf(path);
    if (holder !== null) throw inUse(path, holder);
    await rm(path, { force: true });
  }
  throw clientError('store_in_use', `${path} is locked by other processes again and again`);
}

async function written(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(`${process.pid}\n`);
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Returns the process that holds the lock, if it is alive. */
async function holderOf(path: string): Promise<number | null> {
  const pid = Number.parseInt(await readFile(path, 'utf8').catch(() => ''), 10);
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  if (pid === process.pid) return held.has(path) ? pid : null;
  try {
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    // The process is alive but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? pid : null;
  }
}

function inUse(path: string, pid: number): Error {
  const detail = `process ${pid} works on this folder; if it is not a device, remove ${path}`;
  return clientError('store_in_use', detail);
}
