import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { temporaryFolder } from '@tidemark/testing';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { findBundle } from './find-bundle.ts';

let packages: string;
let from: string;

beforeEach(async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  packages = folder.path;
  from = pathToFileURL(join(packages, 'cli/dist/find-bundle.js')).href;
});

function write(path: string, changedS: number): void {
  const file = join(packages, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  utimesSync(file, changedS, changedS);
}

const found = () => pathToFileURL(join(packages, 'cli/bundle/run.js')).href;

it('[PACK-8] the bundle of an installed package is used, and without a bundle there is none', () => {
  mkdirSync(join(packages, 'server'));
  expect(findBundle(from, '')).toBe(null);
  write('cli/bundle/run.js', 1_000);
  expect(findBundle(from, '')).toBe(found());
});

it('[PACK-8] the bundle is used only if it is newer than every record of the compiler', () => {
  write('cli/bundle/run.js', 1_000);
  write('cli/tsconfig.tsbuildinfo', 998);
  write('core/tsconfig.tsbuildinfo', 999);
  expect(findBundle(from, '')).toBe(found());
  for (const changedS of [1_000, 1_001]) {
    write('core/tsconfig.tsbuildinfo', changedS);
    expect(findBundle(from, '')).toBe(null);
  }
});

it.each([
  '--import=./trace.mjs',
  '--import ./trace.mjs',
  '-r ./trace.cjs',
  '--enable-source-maps --require ./trace.cjs',
])('[PACK-8] the bundle is not used with the flags %s', (flags) => {
  write('cli/bundle/run.js', 1_000);
  expect(findBundle(from, flags)).toBe(null);
  expect(findBundle(from, '--enable-source-maps --max-old-space-size=300')).toBe(found());
});
