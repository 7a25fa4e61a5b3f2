import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('.', import.meta.url));

function sources(): readonly string[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => /(?<!\.test)\.ts$/.test(file));
}

function importsOf(file: string): readonly string[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  return [...text.matchAll(/from '([^'.][^']*)'/g)].map(([, specifier]) => String(specifier));
}

it('[BSDK-19] imports nothing but the protocol, and nothing of Node.js except for its types in mounts', () => {
  const files = sources();
  expect(files.length).toBeGreaterThan(30);
  const strangers = files.flatMap((file) => {
    const isMount = file.startsWith('mounts');
    return importsOf(file)
      .filter((name) => name !== '@tidemark/protocol' && !(isMount && name === 'node:http'))
      .map((name) => `${file}: ${name}`);
  });
  expect(strangers).toEqual([]);
  const names = files.filter((file) =>
    /\b(?:process\.[a-z]|Buffer\.|require\()/.test(readFileSync(join(SRC, file), 'utf8')),
  );
  expect(names).toEqual([]);
});

it('[BSDK-19] depends on nothing but the protocol, and gives out what it says', () => {
  const { dependencies, exports } = JSON.parse(readFileSync(join(SRC, '../package.json'), 'utf8'));
  expect(Object.keys(dependencies)).toEqual(['@tidemark/protocol']);
  const given = Object.values(exports as Record<string, { default: string }>).map((entry) => entry.default);
  const built = given.map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, '$1.ts'));
  expect(built.filter((file) => !sources().includes(file))).toEqual([]);
});
