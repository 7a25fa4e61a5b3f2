import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

const PROTOCOL = new URL('../../protocol/dist/index.js', import.meta.url);

/** Returns all modules that a built module loads: foreign ones by name, our own are followed. */
async function loadedBy(entry: URL): Promise<ReadonlySet<string>> {
  const foreign = new Set<string>();
  const seen = new Set<string>();
  const waiting = [entry];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (seen.has(next.href)) continue;
    seen.add(next.href);
    for (const specifier of importsOf(await readFile(next, 'utf8'))) {
      if (specifier.startsWith('.')) waiting.push(new URL(specifier, next));
      else if (specifier === '@tidemark/protocol') waiting.push(PROTOCOL);
      else foreign.add(specifier);
    }
  }
  return foreign;
}

function importsOf(text: string): readonly string[] {
  const statements = /^(?:import|export)\s(?:[\w$\s{},*]*\sfrom\s)?['"]([^'"]+)['"]/gm;
  return [...text.matchAll(statements)].map(([, name = '']) => name);
}

it('[SDK-13] the SDK and its browser store have no dependencies outside of the package', async () => {
  for (const entry of ['index.js', 'stores/indexeddb-store.js', 'stores/key-value-store.js']) {
    expect([...(await loadedBy(new URL(`../dist/${entry}`, import.meta.url)))], entry).toEqual([]);
  }
});

it('[SDK-13] the file store depends on built-ins of Node.js only', async () => {
  const foreign = await loadedBy(new URL('../dist/stores/file-store.js', import.meta.url));
  expect([...foreign].sort()).toEqual(['node:fs/promises', 'node:path']);
});
