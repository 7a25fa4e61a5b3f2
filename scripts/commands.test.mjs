import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readTree } from './files.mjs';
import { ROOT } from './processes.mjs';

const SCRIPTS_MAX = 20;
/** Scripts of the apps that `tidemark init` makes. */
const SCRIPTS_OF_APPS = ['dev', 'build'];
const PAGES = ['README.md', 'CONTRIBUTING.md', 'AGENTS.md', 'CHANGELOG.md', 'SECURITY.md'];
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** Returns the commands `npm run …` in these texts that nothing runs: path and command. */
function unknownCommands(texts, known) {
  return [...texts].flatMap(([path, text]) => {
    const named = [...text.matchAll(/npm run ([a-z][a-z:-]*)/g)].map(([, name]) => name);
    return named.filter((name) => !known.includes(name)).map((name) => `${path}: npm run ${name}`);
  });
}

/** Returns what these texts call a command of `npm run sim -- …` without being one. */
function unknownSimulations(texts, known) {
  return [...texts].flatMap(([path, text]) => {
    const named = [...text.matchAll(/npm run sim -- ([a-z][a-z:-]*)/g)].map(([, name]) => name);
    return named.filter((name) => !known.includes(name)).map((name) => `${path}: npm run sim -- ${name}`);
  });
}

/** Returns what people read: pages, sources and scripts, but no copies of the pages in the built site. */
function readTexts() {
  const pages = PAGES.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]);
  const pattern = /(?<!scripts\/commands\.test)\.(?:md|ts|tsx|mjs)$/;
  const tree = readTree(ROOT, ['docs', 'packages', 'scripts', 'bench', 'examples', 'deploy'], pattern);
  return new Map([...pages, ...[...tree].filter(([path]) => !/packages\/(?:server\/docs|cli\/bundle)\//.test(path))]);
}

it('[TEST-1] the checkout has at most 20 npm scripts, and every one that a page or a comment names exists', () => {
  expect(Object.keys(scripts).length).toBeLessThanOrEqual(SCRIPTS_MAX);
  expect(unknownCommands(readTexts(), [...Object.keys(scripts), ...SCRIPTS_OF_APPS])).toEqual([]);
});

it('[TEST-1] every simulation that a page or a comment names exists', () => {
  const sources = readTree(ROOT, ['packages/sim/src'], /(?<!\.test)\.ts$/);
  const names = [...sources.values()].flatMap((text) =>
    [...text.matchAll(/Command: Command = \{\n {2}name: '([a-z:-]+)'/g)].map(([, name]) => name),
  );
  expect(names.length).toBeGreaterThan(10);
  expect(unknownSimulations(readTexts(), names)).toEqual([]);
});

it('[TEST-1] a command that nothing runs is found', () => {
  const texts = new Map([
    ['a.md', '`npm run chaos -- --minutes 5`, `npm run sim -- wipes --seed 1`, `npm run sim -- --seed 1`'],
  ]);
  expect(unknownCommands(texts, ['sim'])).toEqual(['a.md: npm run chaos']);
  expect(unknownSimulations(texts, ['chaos'])).toEqual(['a.md: npm run sim -- wipes']);
});
