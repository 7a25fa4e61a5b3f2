import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { buildOnce, hashOf } from './built-files.mjs';
import { readTree } from './files.mjs';
import { isEntry, ROOT } from './processes.mjs';
import { pageOf, renderPage } from './site/markdown.mjs';
import { referencePages } from './site/reference.mjs';
import { SERVER_LINKS, SIDEBAR } from './site/sidebar.mjs';
import { linksOf, pageHtml } from './site/template.mjs';

/** What the site is made of, relative to the root. */
const INPUTS = [
  'docs',
  'scripts/site',
  'scripts/build-docs.mjs',
  'scripts/built-files.mjs',
  'scripts/declarations.mjs',
  'packages/console/src/icon.svg',
  'packages/client/src',
  'packages/react/src',
  'packages/tanstack-db/src',
  'packages/sqlite/src',
  'packages/react-native/src',
  'packages/devtools/src',
  'packages/client-testing/src',
  'packages/backend/src',
  'packages/server/src/routes',
];
/** Inside the server package, which is published with it. */
const OUTPUT = 'packages/server/docs';
const DESCRIPTION_UNITS_MAX = 160;

/** Builds the documentation site unless its inputs are those of the last build. Returns whether it was built. */
export async function buildDocs(root = ROOT) {
  const output = join(root, OUTPUT);
  return buildOnce({ root, inputs: INPUTS, output, build: () => writeSite(root, output) });
}

/** Reads the pages: path below `docs` → text. */
export function readPages(root) {
  const pages = [...readTree(root, ['docs'], /\.md$/)];
  return new Map(pages.map(([path, text]) => [path.replace(/^docs\//, ''), text]));
}

/** The sidebar with the records of decisions, which have a row in the index instead of one in the sidebar. */
export function sidebarOf(pages) {
  const records = [...pages.keys()].filter((path) => /^decisions\/\d/.test(path)).sort();
  const titled = records.map((path) => [path, /^# (.*)$/m.exec(pages.get(path))[1]]);
  return SIDEBAR.map((group) =>
    group.pages.some(([path]) => path === 'decisions/README.md') ? { ...group, records: titled } : group,
  );
}

async function writeSite(root, output) {
  const { Marked } = await import('marked');
  const pages = new Map([...readPages(root), ...(await referencePages(root))]);
  const known = new Set(pages.keys());
  const sidebar = sidebarOf(pages);
  const rendered = [...pages].map(([path, text]) => ({ path, ...renderPage(Marked, { path, text, known }) }));
  rmSync(output, { recursive: true, force: true });
  const write = (file, content) => {
    mkdirSync(dirname(join(output, file)), { recursive: true });
    writeFileSync(join(output, file), content);
  };
  cpSync(join(root, 'docs/images'), join(output, 'images'), { recursive: true });
  const assets = writeAssets(root, write, searchIndex(rendered));
  const written = new Map();
  for (const page of rendered) {
    const html = pageHtml({ ...page, description: descriptionOf(page) }, { sidebar, assets });
    write(pageOf(page.path), html);
    written.set(pageOf(page.path), { html, anchors: page.anchors });
    // Records of decisions are for people; leaving out their Markdown makes the package smaller.
    if (!/^decisions\/\d/.test(page.path)) write(page.path, pages.get(page.path));
  }
  write('llms.txt', llmsText(rendered, sidebar));
  write('llms-full.txt', llmsFullText(pages, sidebar));
  const dead = deadLinksOf(written, (file) => existsSync(join(output, file)));
  if (dead.length > 0) throw new Error(`these links lead nowhere:\n${dead.join('\n')}`);
}

/** Writes scripts, styles and the index with a hash of their content in the name. */
function writeAssets(root, write, index) {
  const own = (name) => readFileSync(join(root, 'scripts/site', name));
  const files = {
    css: ['site.css', own('site.css')],
    js: ['site.js', `${String(own('search.mjs')).replaceAll(/^export /gm, '')}\n${own('site.js')}`],
    theme: ['theme.js', own('theme.js')],
    icon: ['icon.svg', readFileSync(join(root, 'packages/console/src/icon.svg'))],
    search: ['search.json', JSON.stringify(index)],
  };
  const named = Object.entries(files).map(([key, [name, content]]) => {
    const ending = extname(name);
    const file = `assets/${name.slice(0, -ending.length)}-${hashOf(content).slice(0, 10)}${ending}`;
    write(file, content);
    return [key, file];
  });
  return Object.fromEntries(named);
}

/** What the search reads: one entry for each section of each page. */
export function searchIndex(rendered) {
  return rendered.flatMap(({ path, title, sections }) =>
    sections.map(({ heading, id, text }, index) => [
      `${pageOf(path)}${index === 0 ? '' : `#${id}`}`,
      title,
      index === 0 ? '' : heading,
      text,
    ]),
  );
}

function descriptionOf({ sections }) {
  const [{ text }] = sections;
  return text.length <= DESCRIPTION_UNITS_MAX
    ? text
    : `${text.slice(0, DESCRIPTION_UNITS_MAX).replace(/\s+\S*$/, '')} …`;
}

/** An index of the pages as Markdown, for language models (https://llmstxt.org). */
function llmsText(rendered, sidebar) {
  const byPath = new Map(rendered.map((page) => [page.path, page]));
  const line = ([path, name]) => `- [${name}](/docs/${path}): ${descriptionOf(byPath.get(path))}`;
  const groups = sidebar.map(({ title, pages }) => `## ${title}\n\n${pages.map(line).join('\n')}\n`);
  const summary = descriptionOf(byPath.get('README.md'));
  return `# Tidemark\n\n> ${summary}\n\n${groups.join('\n')}\n## API\n\n- [All pages in one file](/llms-full.txt)\n- [OpenAPI description](/openapi.json): every REST route and every device route\n`;
}

/** What only people who change Tidemark read. */
const LEFT_OUT_OF_LLMS_FULL = ['rules.md', 'decisions/README.md'];

/** The pages of the sidebar as one Markdown file, for language models. */
function llmsFullText(pages, sidebar) {
  const listed = sidebar.flatMap(({ pages: own }) => own.map(([path]) => path));
  const paths = listed.filter((path) => !LEFT_OUT_OF_LLMS_FULL.includes(path));
  return paths.map((path) => `<!-- /docs/${path} -->\n\n${pages.get(path).trim()}\n`).join('\n');
}

/** The links of the site that lead nowhere. `written` are its pages; `exists` says whether it has another file. */
export function deadLinksOf(written, exists) {
  const isServed = (file) => SERVER_LINKS.some(([href]) => file === href);
  const isDead = ({ file, anchor }) => {
    if (isServed(file)) return false;
    const page = written.get(file);
    if (page === undefined) return !exists(file);
    return anchor !== undefined && anchor !== 'content' && !page.anchors.has(anchor);
  };
  return [...written].flatMap(([output, { html }]) =>
    linksOf(html, output)
      .filter(isDead)
      .map(({ href }) => `${output} → ${href}`),
  );
}

if (isEntry(import.meta.url)) {
  const isNew = await buildDocs();
  const pages = readdirSync(join(ROOT, OUTPUT), { recursive: true }).filter((file) => file.endsWith('.html')).length;
  process.stdout.write(
    `${isNew ? 'Built' : 'Found'} ${pages} pages in ${join(ROOT, OUTPUT)}; a server shows them at /docs/\n`,
  );
}
