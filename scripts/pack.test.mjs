import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { expect, it, onTestFinished } from 'vitest';
import { packedFiles, publishedPackages } from './pack.mjs';
import { ROOT } from './processes.mjs';

// These tests look at what would be packed. packed.long.test.mjs packs and installs it, also before every release.
const PACKAGES = publishedPackages();
// It is a program of three lines, and no module.
const LIBRARIES = PACKAGES.filter((path) => path !== 'packages/create-tidemark');

/** Returns the files that are no part of a package: helpers of tests and what the compiler remembers. */
function foreignFiles(files) {
  // Pages of the documentation may be about tests.
  const code = files.filter((file) => !file.startsWith('docs/'));
  return code.filter((file) => /(^|[/.-])(test|tests|fake|fixture)s?[.-]|tsbuildinfo/.test(file));
}

it.each(PACKAGES)('[PACK-3] %s packs its licence, its README and no helper of tests', (folder) => {
  const files = packedFiles(ROOT, folder);
  expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
  expect(foreignFiles(files)).toEqual([]);
});

it('[PACK-3] helpers of tests in a package are found', () => {
  const files = ['dist/index.js', 'dist/push.test.js', 'dist/fake-clock.js', 'docs/guides/tests-of-apps.html'];
  expect(foreignFiles(files)).toEqual(['dist/push.test.js', 'dist/fake-clock.js']);
});

it('[PACK-3] the server packs its console and its documentation', () => {
  const pages = ['console/index.html', 'docs/index.html', 'docs/llms.txt', 'docs/files.json'];
  expect(packedFiles(ROOT, 'packages/server')).toEqual(expect.arrayContaining(pages));
});

it.each(LIBRARIES)('[PACK-3] %s packs source maps that bring their sources', (folder) => {
  const files = packedFiles(ROOT, folder);
  const maps = files.filter((file) => file.endsWith('.js.map'));
  expect(maps.length).toBeGreaterThan(0);
  const empty = maps.filter((file) => {
    const { sources, sourcesContent = [] } = JSON.parse(readFileSync(join(ROOT, folder, file), 'utf8'));
    return sources.some((source, index) => {
      return typeof sourcesContent[index] !== 'string' && !files.includes(join(dirname(file), source));
    });
  });
  expect(empty).toEqual([]);
});

it.each(PACKAGES)('[PACK-5] publint finds no fault in %s', async (folder) => {
  const files = packedFiles(ROOT, folder).map((file) => {
    return { name: `package/${file}`, data: readFileSync(join(ROOT, folder, file)) };
  });
  const { messages, pkg } = await publint({ pkgDir: 'package', pack: { files }, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
});

it('[INIT-23] create-tidemark gives tidemark init the folder and the options that it was started with', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-create-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = join(ROOT, 'packages/create-tidemark/bin/create-tidemark.mjs');
  const options = { cwd: folder, encoding: 'utf8' };
  const made = spawnSync(process.execPath, [program, 'app', '--template', 'modules'], options);
  expect([made.status, made.stderr]).toEqual([0, '']);
  expect(existsSync(join(folder, 'app', 'tidemark.config.json'))).toBe(true);
});
