import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Marked } from 'marked';
import { describe, expect, it } from 'vitest';
import { readPages, searchIndex } from '../build-docs.mjs';
import { ROOT } from '../processes.mjs';
import { renderPage } from './markdown.mjs';
import { search, wordsOf } from './search.mjs';

describe('the search', () => {
  it('[DOCS-40] any of the words finds a section, and those with more of them come first', () => {
    const sections = [
      ['a.html', 'Backups', '', 'of passwords and data'],
      ['b.html', 'Sign-in', 'Forgotten password', 'an invite'],
      ['c.html', 'Sizing', '', 'memory'],
    ];
    expect(search(sections, wordsOf('I forgot my passwords')).map(([path]) => path)).toEqual(['b.html', 'a.html']);
    expect(search(sections, wordsOf('nothing like it'))).toEqual([]);
  });

  it('[DOCS-40] words that say nothing are left out, unless there are no others, and plurals find the singular', () => {
    expect(wordsOf('How do I reset the passwords?')).toEqual(['reset', 'password']);
    expect(wordsOf('why')).toEqual(['why']);
  });

  it.each([
    ['nginx', 'operating/reverse-proxy.html'],
    ['reverse proxy tls', 'operating/reverse-proxy.html'],
    ['gdpr', 'operating/privacy.html'],
    ['delete all data of a person', 'operating/privacy.html'],
    ['kubernetes', 'operating/kubernetes.html'],
    ['forgot password', 'guides/sign-in.html#forgotten-password'],
    ['the console', 'operating/console.html'],
    ['keyboard shortcuts', 'operating/console.html#keyboard-shortcuts'],
    ['undo', 'operating/console.html#what-can-be-undone'],
  ])('[DOCS-40] the search of the documentation finds "%s" first at %s', (query, page) => {
    const pages = readPages(ROOT);
    const known = new Set(pages.keys());
    const rendered = [...pages].map(([path, text]) => ({ path, ...renderPage(Marked, { path, text, known }) }));
    expect(search(searchIndex(rendered), wordsOf(query))[0]?.[0]).toMatch(new RegExp(`^${page}`));
  });
});

it('[DOCS-41] llms-full.txt holds the pages of the site', () => {
  const text = readFileSync(join(ROOT, 'packages/server/docs/llms-full.txt'), 'utf8');
  for (const path of ['README.md', 'sdk/guide.md', 'operating/production.md']) {
    expect(text).toContain(readFileSync(join(ROOT, 'docs', path), 'utf8').trim());
  }
  expect(text).toContain('<!-- /docs/reference/rest.md -->');
});
