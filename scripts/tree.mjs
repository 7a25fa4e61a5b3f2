import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const NEVER_ENTERED = new Set(['node_modules', 'dist', 'coverage']);

/** The text files under some folders whose path matches, as a map of path → text; paths relative, with `/`. */
export function readTree(root, folders, pattern) {
  const files = new Map();
  for (const folder of folders) collect(root, folder, pattern, files);
  return files;
}

function collect(root, folder, pattern, files) {
  for (const entry of entriesOf(join(root, folder))) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory() && !NEVER_ENTERED.has(entry.name)) collect(root, path, pattern, files);
    if (entry.isFile() && pattern.test(path)) files.set(path, readFileSync(join(root, path), 'utf8'));
  }
}

function entriesOf(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Prints what a check found and makes the command fail when it found something. */
export function report(problems, allIsWell) {
  if (problems.length === 0) {
    process.stdout.write(`${allIsWell}\n`);
    return;
  }
  process.stdout.write(`${problems.join('\n')}\n`);
  process.exitCode = 1;
}
