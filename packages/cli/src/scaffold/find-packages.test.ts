import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readVersion } from '@tidemark/server/version';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { dependenciesOf, findPackages, tarballsIn } from './find-packages.ts';
import { WEB_DEPENDENCIES, WEB_DEV_DEPENDENCIES, webFiles } from './web-files.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '');

/** Makes an installation of the command line in an empty folder, as npm leaves it. */
async function installation(resolved: string | null): Promise<{ readonly folder: string; readonly program: string }> {
  const { path: folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const program = join(folder, 'node_modules/@tidemark/cli/dist/scaffold/find-packages.js');
  mkdirSync(dirname(program), { recursive: true });
  writeFileSync(join(folder, 'node_modules/@tidemark/cli/package.json'), '{"name":"@tidemark/cli"}');
  const packages = { 'node_modules/@tidemark/cli': { version: readVersion(), resolved } };
  if (resolved !== null) writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));
  return { folder, program };
}

it('[INIT-22] an app of a checkout installs from its tarballs, and says when they are not made yet', () => {
  const { tarballs, advice } = findPackages();
  expect(tarballs).toBe(join(ROOT, 'tarballs'));
  expect(advice).toContain(`not published yet, so it installs them from ${ROOT}/tarballs`);
});

it('[INIT-22] an app of a program that was installed from tarballs installs from the same tarballs', async () => {
  const { folder, program } = await installation('file:../downloads/tidemark-cli-0.1.0.tgz');
  const origin = findPackages(program);
  const tarballs = join(dirname(folder), 'downloads');
  expect(origin).toEqual({ tarballs, advice: null });
  const dependencies = dependenciesOf(['client', 'react'], origin);
  expect(dependencies['@tidemark/react']).toBe(`file:${tarballs}/tidemark-react-${readVersion()}.tgz`);
  // All that they need is listed, since npm would look for it in the registry.
  const names = ['protocol', 'core', 'store-embedded', 'store-valkey', 'client', 'backend', 'server', 'cli', 'react'];
  expect(Object.keys(dependencies)).toEqual(names.map((name) => `@tidemark/${name}`));
});

it.each([null, 'https://packages.example/@tidemark/cli/-/cli-0.1.0.tgz'])(
  '[INIT-22] an app of a program that came from a registry installs its version from there: %s',
  async (resolved) => {
    const origin = findPackages((await installation(resolved)).program);
    expect(dependenciesOf(['cli'], origin)).toEqual({ '@tidemark/cli': readVersion() });
  },
);

it('[INIT-22] a folder that was named for tarballs must have them', async () => {
  const { folder } = await installation(null);
  expect(() => tarballsIn(folder)).toThrow(`there is no ${folder}/tidemark-cli-${readVersion()}.tgz; npm run pack`);
  writeFileSync(join(folder, `tidemark-cli-${readVersion()}.tgz`), '');
  expect(tarballsIn(folder)).toEqual({ tarballs: folder, advice: null });
});

it('[INIT-20] the web app uses the versions of React and Vite that Tidemark is tested with', () => {
  for (const [name, range] of Object.entries({ ...WEB_DEPENDENCIES, ...WEB_DEV_DEPENDENCIES })) {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'));
    expect([name, range]).toEqual([name, `^${version}`]);
  }
  expect([...webFiles({}).keys()]).toContain('src/error-boundary.tsx');
});
