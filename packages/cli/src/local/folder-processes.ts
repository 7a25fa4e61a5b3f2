import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Lists the other processes that have files of the folder open; null when the system does not say. Processes of other
 * users are found by their locks; processes in another container are not found.
 */
export async function processesUsing(folder: string): Promise<readonly number[] | null> {
  const files = filesIn(folder);
  if (files.length === 0) return [];
  const found = process.platform === 'linux' ? linuxProcesses(files) : await listedByLsof(files);
  return found === null ? null : [...new Set(found)].filter((pid) => pid !== process.pid).sort((a, b) => a - b);
}

interface FileIdentity {
  readonly path: string;
  readonly device: number;
  readonly inode: number;
}

function filesIn(folder: string): readonly FileIdentity[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => {
      const path = join(folder, name);
      const { dev, ino } = statSync(path);
      return { path, device: dev, inode: ino };
    });
}

function linuxProcesses(files: readonly FileIdentity[]): readonly number[] {
  return [...holdersOfLocks(files), ...holdersOfFiles(files)];
}

/** `1: POSIX  ADVISORY  READ 20699 fe:00:2196195 0 0` */
const LOCK = /^\d+: \S+ +\S+ +\S+ +(\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) /;

function holdersOfLocks(files: readonly FileIdentity[]): readonly number[] {
  const lines = attempt(() => readFileSync('/proc/locks', 'utf8').split('\n'), []);
  return lines.flatMap((line) => {
    const [, pid, major = '', minor = '', inode] = LOCK.exec(line) ?? [];
    const isOurs = files.some((file) => file.inode === Number(inode) && isDevice(file.device, major, minor));
    return isOurs && Number(pid) > 0 ? [Number(pid)] : [];
  });
}

/** Encodes major and minor device number as Linux does. */
function isDevice(device: number, major: string, minor: string): boolean {
  const low = Number.parseInt(minor, 16);
  return device === Number.parseInt(major, 16) * 256 + (low % 256) + Math.floor(low / 256) * 2 ** 20;
}

function holdersOfFiles(files: readonly FileIdentity[]): readonly number[] {
  const pids = attempt(() => readdirSync('/proc'), []).filter((name) => /^[0-9]+$/.test(name));
  return pids.filter((pid) => hasOpen(pid, files)).map(Number);
}

function hasOpen(pid: string, files: readonly FileIdentity[]): boolean {
  const folder = join('/proc', pid, 'fd');
  return attempt(() => readdirSync(folder), []).some((fd) => {
    const open = attempt(() => statSync(join(folder, fd)), null);
    return open !== null && files.some(({ device, inode }) => open.dev === device && open.ino === inode);
  });
}

/** Windows refuses to move open files, so no check is needed there. */
async function listedByLsof(files: readonly FileIdentity[]): Promise<readonly number[] | null> {
  if (process.platform === 'win32') return [];
  try {
    const { stdout } = await promisify(execFile)('lsof', ['-t', '--', ...files.map(({ path }) => path)]);
    return stdout.split('\n').filter(Boolean).map(Number);
  } catch (error) {
    // Exit code 1 means that no process has any of them open.
    const { code, stdout } = error as { readonly code?: unknown; readonly stdout?: string };
    return code === 1 && !stdout ? [] : null;
  }
}

/** Ignores processes that have ended meanwhile or that this user may not inspect. */
function attempt<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
