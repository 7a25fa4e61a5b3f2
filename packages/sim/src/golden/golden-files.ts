import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';

/** Data as one version of a format has stored it: files of a folder, and what is known about their content. */
export interface GoldenFolder<Facts> {
  readonly facts: Facts;
  /** Path in the folder → content in base64. */
  readonly files: Readonly<Record<string, string>>;
}

// The path starts at the package, because the build does not copy these files to dist.
const FOLDER = fileURLToPath(new URL('../../golden/', import.meta.url));
const ENDING = '.json.gz';
const LOCK = /(?:^|[-.])lock$/;

/** Returns the names of all golden folders, such as `embedded-4`. */
export async function goldenNames(): Promise<readonly string[]> {
  const names = await readdir(FOLDER);
  return names.filter((name) => name.endsWith(ENDING)).map((name) => name.slice(0, -ENDING.length));
}

/** Keeps the files of a folder. A golden folder that exists is never changed. Returns whether it is new. */
export async function keepGolden(name: string, folder: string, facts: object): Promise<boolean> {
  const path = join(FOLDER, name + ENDING);
  if (existsSync(path)) return false;
  const files: Record<string, string> = {};
  for (const file of (await readdir(folder)).sort()) {
    if (!LOCK.test(file)) files[file] = (await readFile(join(folder, file))).toString('base64');
  }
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, gzipSync(JSON.stringify({ facts, files }), { level: 9 }));
  return true;
}

/** Writes the files of a golden folder into an empty one, and returns its facts. */
export async function unpackGolden<Facts>(name: string, folder: string): Promise<Facts> {
  const text = gunzipSync(await readFile(join(FOLDER, name + ENDING))).toString('utf8');
  const { facts, files } = JSON.parse(text) as GoldenFolder<Facts>;
  for (const [file, content] of Object.entries(files))
    await writeFile(join(folder, file), Buffer.from(content, 'base64'));
  return facts;
}
