import { chownSync, lstatSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Whose a file is. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The user this process runs as; null where the system has none, as on Windows. */
export function runningAs(): number | null {
  return process.getuid?.() ?? null;
}

/** The name of a user, or the number where it has none. */
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

/** What keeps somebody from a path: the path, or the nearest folder above it that can be looked at. */
export function ownershipOf(path: string): string {
  const stats = statsOf(path);
  if (stats === null) return dirname(path) === path ? `${path} is hidden` : ownershipOf(dirname(path));
  return `${path} belongs to ${userName(stats.uid)} (mode ${(stats.mode & 0o777).toString(8)})`;
}

/** Files directly in the folder that belong to somebody else than the folder does. */
export function strangersIn(folder: string): readonly string[] {
  const { uid } = statSync(folder);
  return readdirSync(folder).filter((name) => {
    const stats = statsOf(join(folder, name));
    return stats !== null && stats.uid !== uid;
  });
}

/** Gives a file, or a folder with everything in it, to the owner. Only root can, so for anybody else nothing happens. */
export function giveTo({ uid, gid }: Owner, path: string): void {
  if (runningAs() !== 0) return;
  const stats = lstatSync(path);
  if (stats.isDirectory()) for (const name of readdirSync(path)) giveTo({ uid, gid }, join(path, name));
  // A link leads elsewhere, and what it leads to is not ours to give.
  if (!stats.isSymbolicLink()) chownSync(path, uid, gid);
}

function statsOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}
