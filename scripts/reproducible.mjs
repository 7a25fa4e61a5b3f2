import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packAll } from './pack.mjs';
import { isEntry, ROOT, run } from './processes.mjs';
import { sha256 } from './release.mjs';
import { setup } from './setup.mjs';

/** Copies the files of a checkout into another folder, with other times and modes. */
export function copyOtherwise(from, to, paths) {
  for (const [index, path] of paths.entries()) {
    mkdirSync(join(to, dirname(path)), { recursive: true });
    cpSync(join(from, path), join(to, path), { dereference: false });
    chmodSync(join(to, path), (statSync(join(from, path)).mode & 0o100) === 0 ? 0o600 : 0o700);
    utimesSync(join(to, path), 1_000_000_000 + index, 1_000_000_000 + index);
  }
}

/** Returns the checksum of each tarball in a folder, by its name. */
export function checksumsIn(folder) {
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [name, sha256(readFileSync(join(folder, name)))]),
  );
}

/** Builds and packs a copy of the checkout somewhere else and compares the tarballs. Returns those that differ. */
async function differences(root) {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-reproducible-'));
  try {
    const copy = join(folder, 'another', 'place');
    const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
    copyOtherwise(root, copy, files);
    cpSync(join(root, 'node_modules'), join(copy, 'node_modules'), { recursive: true, verbatimSymlinks: true });
    const code = await run(process.execPath, ['scripts/setup.mjs'], { cwd: copy });
    if (code !== 0) throw new Error(`the copy in ${copy} was not built`);
    await packAll(join(folder, 'here'), root);
    await packAll(join(folder, 'there'), copy);
    const [here, there] = [checksumsIn(join(folder, 'here')), checksumsIn(join(folder, 'there'))];
    return Object.keys({ ...here, ...there }).filter((name) => here[name] !== there[name]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (isEntry(import.meta.url)) {
  await setup();
  const different = await differences(ROOT);
  const same = 'tarballs built and packed in another folder, with other times and modes, have the same checksums';
  process.stdout.write(different.length === 0 ? `${same}\n` : `different: ${different.join(', ')}\n`);
  if (different.length > 0) process.exitCode = 1;
}
