import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './processes.mjs';
import { readTree } from './tree.mjs';

const LINK = /\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)]*)?\)/g;

/** Links of a document to files that are not there. */
function deadLinks(path, text, exists) {
  const targets = [...text.matchAll(LINK)].map(([, target]) => target);
  return targets.filter((target) => !exists(join(dirname(path), target))).map((target) => `${path} → ${target}`);
}

describe('links between documents', () => {
  it('lead somewhere', () => {
    const pages = readTree(ROOT, ['.', 'docs', 'packages', 'examples'], /\.md$/);
    const own = [...pages].filter(([path]) => !path.startsWith('./') || path.split('/').length === 2);
    expect(own.length).toBeGreaterThan(30);
    expect(own.flatMap(([path, text]) => deadLinks(path, text, (file) => existsSync(join(ROOT, file))))).toEqual([]);
  });

  it('that lead nowhere are found', () => {
    const text = '[a](b.md) [c](../d/e.md#f) [g](https://example.test/h.md) [i](#j)';
    expect(deadLinks('docs/x.md', text, (file) => file === 'docs/b.md')).toEqual(['docs/x.md → ../d/e.md']);
  });
});
