import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLock } from './licences.mjs';
import { publishedPackages, readManifest } from './pack.mjs';
import { ROOT } from './processes.mjs';

const REPOSITORY = 'https://github.com/tidemark-sync/tidemark';
const NODE_MAJOR_MIN = 20;
const packages = publishedPackages();
const packagesOfTests = ['packages/testing', 'bench'];

describe('all packages', () => {
  it('have in package-lock.json the dependencies that their package.json names, so that npm installs what is locked', () => {
    const { packages } = readLock(ROOT);
    const folders = Object.keys(packages).filter((path) => !path.includes('node_modules/'));
    expect(folders).toEqual(expect.arrayContaining(['', ...packagesOfTests, ...publishedPackages()]));
    const kinds = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];
    const named = (manifest) => kinds.map((kind) => manifest[kind] ?? {});
    for (const folder of folders) expect(named(packages[folder])).toEqual(named(readManifest(ROOT, folder)));
  });
});

describe('published packages', () => {
  it('are all packages except those for tests', () => {
    expect(packages).toHaveLength(17);
    expect(packages).not.toContain('packages/testing');
    expect(packages).not.toContain('packages/sim');
  });

  it.each(packages)('[PACK-1] %s names its licence, its repository and its place in it', (folder) => {
    const { license, repository, homepage, bugs, engines } = readManifest(ROOT, folder);
    expect({ license, repository, homepage, bugs, engines }).toEqual({
      license: 'Apache-2.0',
      repository: { type: 'git', url: `git+${REPOSITORY}.git`, directory: folder },
      homepage: `${REPOSITORY}#readme`,
      bugs: `${REPOSITORY}/issues`,
      engines: { node: `>=${NODE_MAJOR_MIN}` },
    });
  });

  it.each(packages)('[PACK-1] %s carries the licence of the repository', (folder) => {
    expect(read(`${folder}/LICENSE`)).toBe(read('LICENSE'));
  });

  it.each(packages)(
    '[PACK-1] %s has a README whose links work outside the repository and lead to files in it',
    (folder) => {
      const links = [...read(`${folder}/README.md`).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
      expect(links.filter((target) => !target.startsWith('https://'))).toEqual([]);
      const files = links.filter((target) => target.startsWith(`${REPOSITORY}/`));
      const paths = files.map((target) =>
        target
          .slice(REPOSITORY.length)
          .replace(/^\/(blob|tree)\/main\//, '')
          .replace(/#.*/, ''),
      );
      expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    },
  );

  it('[PACK-2] every dependency that is installed with them runs on the oldest version of Node.js they name', () => {
    const shipped = Object.entries(readLock(ROOT).packages).filter(([path, entry]) => {
      return path.includes('node_modules/') && !entry.dev && !entry.link;
    });
    expect(shipped.length).toBeGreaterThan(50);
    const refused = shipped.filter(([, { engines }]) => !allowsOldestNode(engines?.node ?? '*'));
    expect(refused.map(([path, { engines }]) => `${path} wants ${engines.node}`)).toEqual([]);
  });

  it('a range of versions is compared with the oldest version of Node.js', () => {
    const ranges = [
      '>=22',
      '^22.0.0',
      '>=20.19',
      '>= 0.8',
      '*',
      '^20.19.0 || >=22.12.0',
      '18 || 20 || >=22',
      '>=18 <20',
    ];
    expect(ranges.map(allowsOldestNode)).toEqual([false, false, true, true, true, true, true, false]);
  });
});

/** Understands the ranges that manifests use for Node.js: alternatives of bounds on the major version. */
function allowsOldestNode(range) {
  return range.split('||').some((alternative) =>
    alternative
      .trim()
      .split(/\s+(?=[<>^~=])/)
      .every(allowsMajor),
  );
}

function allowsMajor(bound) {
  const [, operator, major] = /^([<>=^~]*)\s*(\d+|\*|x)/.exec(bound.trim()) ?? [];
  if (major === '*' || major === 'x') return true;
  if (operator === '>=' || operator === '>') return Number(major) <= NODE_MAJOR_MIN;
  if (operator === '<' || operator === '<=') return Number(major) > NODE_MAJOR_MIN;
  return Number(major) === NODE_MAJOR_MIN;
}

function read(path) {
  return readFileSync(join(ROOT, path), 'utf8');
}
