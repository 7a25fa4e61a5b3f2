import { chownSync, lstatSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CliFailure } from '../cli-failure.ts';

/** The owner of a file. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The user this process runs as; null on Windows. */
export function runningAs(): number | null {
  return process.getuid?.() ?? null;
}

/** Returns the name of a user, or its number if it has none. */
export function userName(uid: number): string {
  try {
    const line = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((one) => one.split(':')[2] === String(uid));
    const [name = ''] = (line ?? '').split(':');
    return name === '' ? `uid ${uid}` : name;
  } catch {
    return `uid ${uid}`;
  }
}

/** Returns the path, or its nearest parent that this process can inspect. */
export function ownershipOf(path: string): string {
  const stats = statsOf(path);
  if (stats === null) return dirname(path) === path ? `${path} is hidden` : ownershipOf(dirname(path));
  return `${path} belongs to ${userName(stats.uid)} (mode ${(stats.mode & 0o777).toString(8)})`;
}

/** Lists the files in the folder whose owner is not the folder's owner. */
export function strangersIn(folder: string): readonly string[] {
  const { uid } = statSync(folder);
  return readdirSync(folder).filter((name) => {
    const stats = statsOf(join(folder, name));
    return stats !== null && stats.uid !== uid;
  });
}

/** Changes the owner of a file or a whole folder. Only root can do that; for others it does nothing. */
export function giveTo({ uid, gid }: Owner, path: string): void {
  if (runningAs() !== 0) return;
  const stats = lstatSync(path);
  if (stats.isDirectory()) for (const name of readdirSync(path)) giveTo({ uid, gid }, join(path, name));
  // The target of a link may lie outside the folder.
  if (!stats.isSymbolicLink()) chownSync(path, uid, gid);
}

function statsOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

const DENIED: ReadonlySet<string> = new Set(['EACCES', 'EPERM']);
/** LMDB reports a number or no code at all, with the system's message. */
const DENIED_BY_ENGINE = /^Permission denied|^Operation not permitted/;

/**
 * Explains a permission error: which path, who owns it, and which user this process runs as. Null: it is another error,
 * or one about a port. `folder` is named where the error names no path.
 */
export function permissionFailure(error: unknown, folder?: string): CliFailure | null {
  if (!(error instanceof Error)) return null;
  const { code, syscall, path = folder } = error as NodeJS.ErrnoException;
  const isDenied = typeof code === 'string' ? DENIED.has(code) : DENIED_BY_ENGINE.test(error.message);
  if (!isDenied || syscall === 'listen' || syscall === 'bind' || path === undefined) return null;
  const uid = runningAs();
  const who = uid === null ? 'this process' : `this process, which runs as ${userName(uid)},`;
  return new CliFailure(`permission denied: ${who} may not use ${path}; ${ownershipOf(path)}`, {
    hint: uid === null ? 'change its permissions' : `run as its owner, or run chown -R ${userName(uid)} on it`,
  });
}
