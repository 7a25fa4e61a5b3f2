import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SKIPPED = new Set(['node_modules', 'dist', 'coverage']);

/** Reads the files below some folders whose path matches: path relative to the root, with `/` → text. */
export function readTree(root, folders, pattern) {
  const entries = folders.flatMap((folder) => {
    return readdirSync(join(root, folder), { withFileTypes: true }).map((entry) => [`${folder}/${entry.name}`, entry]);
  });
  const below = entries.filter(([, entry]) => entry.isDirectory() && !SKIPPED.has(entry.name)).map(([path]) => path);
  const files = entries.filter(([path, entry]) => entry.isFile() && pattern.test(path)).map(([path]) => path);
  const here = files.map((path) => [path, readFileSync(join(root, path), 'utf8')]);
  return new Map([...here, ...(below.length > 0 ? readTree(root, below, pattern) : [])]);
}

/** Prints what a check found, and makes the command fail when that is something. */
export function report(problems, allIsWell) {
  process.stdout.write(`${problems.length === 0 ? allIsWell : problems.join('\n')}\n`);
  if (problems.length > 0) process.exitCode = 1;
}
