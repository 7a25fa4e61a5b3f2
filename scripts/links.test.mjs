import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPages as readSitePages, sidebarOf } from './build-docs.mjs';
import { readTree } from './files.mjs';
import { ROOT } from './processes.mjs';
import { slugOf } from './site/markdown.mjs';
import { GENERATED } from './site/reference.mjs';

const ANCHOR_LINK = /\]\((?!https?:)([^)\s#]*)#([^)\s]+)\)/g;
const LINK = /\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)]*)?\)/g;

/** Links of a document to files that are not there. */
function deadLinks(path, text, exists) {
  const targets = [...text.matchAll(LINK)].map(([, target]) => target);
  return targets.filter((target) => !exists(join(dirname(path), target))).map((target) => `${path} → ${target}`);
}

/** The anchors of a document: those of its headings, as GitHub makes them, and those of rules in the site. */
function anchorsOf(text) {
  const headings = [...text.replace(/^```.*?^```/gms, '').matchAll(/^#+ (.*)$/gm)].map(([, title]) => slugOf(title));
  const rules = [...text.matchAll(/^- \*\*\[([A-Z-]+\d+)\]\*\*/gm)].map(([, id]) => id.toLowerCase());
  return [...headings, ...rules];
}

/** The pages that people write, without copies of them in the built site. */
function readPages(folders) {
  return new Map([...readTree(ROOT, folders, /\.md$/)].filter(([path]) => !/packages\/server\/docs\//.test(path)));
}

/** Links of a document to headings that are not there. `read` returns the text of a document, or undefined. */
function deadAnchors(path, text, read) {
  const links = [...text.matchAll(ANCHOR_LINK)];
  const dead = links.filter(([, file, anchor]) => {
    const target = file === '' ? text : read(join(dirname(path), file));
    return target !== undefined && !anchorsOf(target).includes(anchor);
  });
  return dead.map(([, file, anchor]) => `${path} → ${file}#${anchor}`);
}

describe('links between documents', () => {
  it('lead somewhere', () => {
    const pages = readPages(['.', 'docs', 'packages', 'examples']);
    const own = [...pages].filter(([path]) => !path.startsWith('./') || path.split('/').length === 2);
    expect(own.length).toBeGreaterThan(30);
    expect(own.flatMap(([path, text]) => deadLinks(path, text, (file) => existsSync(join(ROOT, file))))).toEqual([]);
  });

  it('that lead nowhere are found', () => {
    const text = '[a](b.md) [c](../d/e.md#f) [g](https://example.test/h.md) [i](#j)';
    expect(deadLinks('docs/x.md', text, (file) => file === 'docs/b.md')).toEqual(['docs/x.md → ../d/e.md']);
  });

  it('links to headings lead to a heading', () => {
    const pages = readPages(['docs', 'packages', 'examples']);
    for (const name of ['README.md', 'CONTRIBUTING.md']) pages.set(name, readFileSync(join(ROOT, name), 'utf8'));
    expect([...pages].flatMap(([path, text]) => deadAnchors(path, text, (file) => pages.get(file)))).toEqual([]);
  });

  it('links to headings that do not exist are found', () => {
    const text = '# One: two\n[a](#one-two) [b](#three) [c](d.md#e) [f](d.md#g)';
    expect(deadAnchors('docs/x.md', text, () => '## E\n')).toEqual(['docs/x.md → #three', 'docs/x.md → d.md#g']);
  });

  it('[DOCS-3] every page is in the sidebar or in the index of decisions, and every entry is a page', () => {
    const pages = readSitePages(ROOT);
    const listed = sidebarOf(pages).flatMap(({ pages: own, records = [] }) => [...own, ...records]);
    const written = listed.map(([path]) => path).filter((path) => !GENERATED.includes(path));
    expect(written.sort()).toEqual([...pages.keys()].sort());
  });

  it('[DOCS-86] the top level of docs has what everybody reads first and the rules; all other pages are in folders', () => {
    const top = [...readSitePages(ROOT).keys()].filter((path) => !path.includes('/'));
    expect(top.sort()).toEqual(['README.md', 'architecture.md', 'rules.md', 'tutorial.md']);
  });
});
