import { posix } from 'node:path';
import { escapeHtml, highlight } from './highlight.mjs';

const REPOSITORY = 'https://github.com/tidemark-sync/tidemark/blob/main';
const RULE_ID = /^\[([A-Z]+(?:-[A-Z]+)*-\d+)\]$/;

/** The path of the page in the site: `README.md` is the index of its folder. */
export function pageOf(path) {
  return path.replace(/(^|\/)README\.md$/, '$1index.md').replace(/\.md$/, '.html');
}

/** The anchor of a heading, as GitHub makes it. */
export function slugOf(title) {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

/**
 * Renders a page.
 *
 * @param {typeof import('marked').Marked} Marked
 * @param {{path: string, text: string, known: ReadonlySet<string>}} page `known` are the paths of all pages
 * @returns {{title: string, html: string, headings: {depth: number, text: string, id: string}[], sections: object[], anchors: Set<string>}}
 */
export function renderPage(Marked, { path, text, known }) {
  const marked = new Marked();
  const anchors = new Set();
  const headings = [];
  const idOf = (title) => {
    const slug = slugOf(title);
    let id = slug;
    for (let number = 1; anchors.has(id); number += 1) id = `${slug}-${number}`;
    anchors.add(id);
    return id;
  };
  marked.use({ renderer: renderer({ path, known, headings, idOf, anchors }) });
  const tokens = marked.lexer(text);
  const html = marked.parser(tokens);
  const title = headings.find(({ depth }) => depth === 1)?.text;
  if (title === undefined) throw new Error(`${path} has no title`);
  return { title, html, headings, anchors, sections: sectionsOf(tokens, headings) };
}

function renderer({ path, known, headings, idOf, anchors }) {
  return {
    heading({ tokens, depth }) {
      const text = plainText(tokens);
      const id = idOf(text);
      headings.push({ depth, text, id });
      const inner = this.parser.parseInline(tokens);
      if (depth === 1) return `<h1 id="${id}">${inner}</h1>\n`;
      return `<h${depth} id="${id}">${inner} <a class="anchor" href="#${id}" aria-label="Link to ${escapeHtml(text)}">#</a></h${depth}>\n`;
    },
    code({ text, lang = '' }) {
      const [language = ''] = lang.split(/\s/);
      return `<div class="code"><pre tabindex="0" data-language="${escapeHtml(language)}"><code>${highlight(text, language)}</code></pre></div>\n`;
    },
    link({ href, tokens }) {
      return `<a href="${escapeHtml(targetOf(href, path, known))}">${this.parser.parseInline(tokens)}</a>`;
    },
    image({ href, text }) {
      return `<img src="${escapeHtml(href)}" alt="${escapeHtml(text)}" loading="lazy">`;
    },
    strong({ tokens }) {
      const [, rule] = RULE_ID.exec(plainText(tokens)) ?? [];
      const inner = this.parser.parseInline(tokens);
      if (rule === undefined) return `<strong>${inner}</strong>`;
      const id = rule.toLowerCase();
      anchors.add(id);
      return `<strong id="${id}">${inner}</strong>`;
    },
    table(token) {
      const cell = (tag) => (entry) => `<${tag}>${this.parser.parseInline(entry.tokens)}</${tag}>`;
      const row = (entries, tag) => `<tr>${entries.map(cell(tag)).join('')}</tr>\n`;
      const head = token.header.every((entry) => entry.text === '') ? '' : `<thead>${row(token.header, 'th')}</thead>`;
      const body = token.rows.map((entries) => row(entries, 'td')).join('');
      return `<div class="table" tabindex="0" role="group" aria-label="Table"><table>${head}<tbody>${body}</tbody></table></div>\n`;
    },
    html({ text }) {
      throw new Error(`${path}: HTML is not allowed in pages: ${text.trim()}`);
    },
  };
}

/** Links between pages stay in the site; those to other files of the repository lead to where it is published. */
function targetOf(href, path, known) {
  if (/^(?:[a-z]+:|#)/.test(href)) return href;
  const [file, anchor] = href.split('#');
  const target = posix.join(posix.dirname(path), file);
  const hash = anchor === undefined ? '' : `#${anchor}`;
  const folderIndex = posix.join(target, 'README.md');
  for (const page of [target, folderIndex]) {
    if (known.has(page)) return posix.relative(posix.dirname(path), pageOf(page)) + hash;
  }
  return `${REPOSITORY}/${posix.join('docs', target)}${hash}`;
}

function plainText(tokens = []) {
  return tokens
    .map((token) => {
      if (token.type === 'code' || token.type === 'codespan') return token.text;
      if (token.type === 'table')
        return [token.header, ...token.rows]
          .flat()
          .map((cell) => plainText(cell.tokens))
          .join(' ');
      if (token.items !== undefined) return token.items.map((item) => plainText(item.tokens)).join(' ');
      return token.tokens === undefined
        ? token.type === 'br'
          ? ' '
          : unescapeHtml(token.text ?? '')
        : plainText(token.tokens);
    })
    .join(tokens.some(({ type }) => type === 'paragraph') ? ' ' : '');
}

function unescapeHtml(text) {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

/** The text below each heading, for the search. */
function sectionsOf(tokens, headings) {
  const sections = [];
  let next = 0;
  for (const token of tokens) {
    if (token.type === 'heading') {
      const { text, id } = headings[next];
      sections.push({ heading: text, id, text: '' });
      next += 1;
    } else if (sections.length > 0 && token.type !== 'space') {
      sections.at(-1).text += `${plainText([token])} `;
    }
  }
  return sections.map((section) => ({ ...section, text: section.text.replace(/\s+/g, ' ').trim() }));
}
