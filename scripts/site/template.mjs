import { posix } from 'node:path';
import { escapeHtml } from './highlight.mjs';
import { pageOf } from './markdown.mjs';
import { SERVER_LINKS } from './sidebar.mjs';

const MENU = '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 6h16M4 12h16M4 18h16"/></svg>';
const LENS =
  '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="11" cy="11" r="7"/><path d="m16.5 16.5 4.5 4.5"/></svg>';
const MOON =
  '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z"/></svg>';

/**
 * The HTML of a page.
 *
 * @param {{path: string, title: string, html: string, headings: object[], description: string}} page
 * @param {{sidebar: object[], assets: Record<string, string>}} site
 */
export function pageHtml(page, { sidebar, assets }) {
  const up = '../'.repeat(page.path.split('/').length - 1);
  const name = page.path === 'README.md' ? 'Tidemark documentation' : `${page.title} · Tidemark`;
  return `<!doctype html>
<html lang="en" data-root="${up}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(name)}</title>
<meta name="description" content="${escapeHtml(page.description)}">
<link rel="icon" href="${up}${assets.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${up}${assets.css}">
<script src="${up}${assets.theme}"></script>
<script src="${up}${assets.js}" data-search="${up}${assets.search}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<button type="button" class="icon menu" aria-label="Menu" aria-expanded="false" aria-controls="sidebar">${MENU}</button>
<a class="brand" href="${up}index.html"><img src="${up}${assets.icon}" alt="" width="24" height="24">Tidemark</a>
<button type="button" class="search" aria-label="Search" aria-keyshortcuts="/">${LENS}<span>Search</span><kbd>/</kbd></button>
<button type="button" class="icon theme" aria-label="Dark mode" aria-pressed="false">${MOON}</button>
</header>
<nav id="sidebar" class="sidebar" aria-label="Pages">
${sidebar.map((group) => groupHtml(group, page.path, up)).join('\n')}
</nav>
<div class="page">
<main id="content" tabindex="-1">
${page.html}${neighbours(sidebar, page.path, up)}</main>
${contents(page.headings)}
</div>
<dialog class="finder" aria-label="Search">
<input type="search" placeholder="Search the documentation" aria-label="Search the documentation" autocomplete="off" spellcheck="false">
<p class="found" role="status"></p>
<ul></ul>
</dialog>
</body>
</html>
`;
}

function groupHtml({ title, pages, records = [] }, path, up) {
  const isHere = [...pages, ...records].some(([page]) => page === path);
  const isRecord = records.some(([page]) => page === path);
  const shown =
    isRecord || pages.some(([page]) => page === path && page === 'decisions/README.md')
      ? [...pages, ...records]
      : pages;
  const links = shown.map(([page, name]) => linkHtml(`${up}${pageOf(page)}`, name, page === path));
  const extra = title === 'Reference' ? SERVER_LINKS.map(([href, name]) => linkHtml(`${up}${href}`, name, false)) : [];
  return `<details${isHere || path === 'README.md' ? ' open' : ''}>
<summary>${escapeHtml(title)}</summary>
<ul>
${[...links, ...extra].join('\n')}
</ul>
</details>`;
}

function linkHtml(href, name, isCurrent) {
  return `<li><a href="${href}"${isCurrent ? ' aria-current="page"' : ''}>${escapeHtml(name)}</a></li>`;
}

/** Links to the pages before and after this one in the sidebar. */
function neighbours(sidebar, path, up) {
  const pages = sidebar.flatMap(({ pages: own, records = [] }) => [...own, ...records]);
  const index = pages.findIndex(([page]) => page === path);
  const link = (rel, words, entry) =>
    entry === undefined
      ? ''
      : `<a rel="${rel}" href="${up}${pageOf(entry[0])}"><small>${words}</small>${escapeHtml(entry[1])}</a>`;
  return `<nav class="neighbours" aria-label="Neighbouring pages">${link('prev', 'Previous', pages[index - 1])}${link('next', 'Next', pages[index + 1])}</nav>\n`;
}

/** The headings of the page. */
function contents(headings) {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (shown.length < 2) return '';
  const links = shown.map(
    ({ depth, text, id }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="contents" aria-label="On this page"><p>On this page</p><ul>\n${links.join('\n')}\n</ul></nav>`;
}

/** The links of a page, as paths in the site, to check them. */
export function linksOf(html, output) {
  return [...html.matchAll(/ (?:href|src)="([^"]*)"/g)]
    .map(([, href]) => href.replaceAll('&amp;', '&'))
    .filter((href) => !/^[a-z]+:/.test(href))
    .map((href) => {
      const [file, anchor] = href.split('#');
      return { href, file: file === '' ? output : posix.join(posix.dirname(output), file), anchor };
    });
}
