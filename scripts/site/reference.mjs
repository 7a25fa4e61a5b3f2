import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { exportedDeclarations } from '../declarations.mjs';

const PACKAGES = ['client', 'react', 'tanstack-db', 'sqlite', 'react-native', 'devtools', 'client-testing', 'backend'];

const REST_PAGE = 'reference/rest.md';
const pathOf = (name) => `reference/${name}.md`;

/** The paths of the pages that are generated. */
export const GENERATED = [REST_PAGE, ...PACKAGES.map(pathOf)];

/** The pages that are generated from what the compiler has made: path → Markdown. */
export async function referencePages(root) {
  const sdk = PACKAGES.map((name) => [pathOf(name), packagePage(join(root, 'packages', name))]);
  return new Map([[REST_PAGE, await restPage(root)], ...sdk]);
}

/** The routes by section, from the same values that `/openapi.json` is made of. */
async function restPage(root) {
  const load = (file) => import(pathToFileURL(join(root, 'packages/server/dist', file)).href);
  const [{ allRoutes }, { operationSchema }] = await Promise.all([
    load('routes/all-routes.js'),
    load('http/route-schema.js'),
  ]);
  const sections = new Map();
  for (const route of allRoutes) {
    const { tags, summary, description } = operationSchema(route);
    const row = `| \`${route.method} ${route.path}\` | ${scopeOf(route)} | ${cell([summary, description])} |`;
    sections.set(tags[0], [...(sections.get(tags[0]) ?? []), row]);
  }
  const tables = [...sections].map(
    ([name, rows]) => `## ${name}\n\n| Route | Scope | What it does |\n|---|---|---|\n${rows.join('\n')}\n`,
  );
  return `# REST API

Every route that takes a token, with the scope that the token needs. A running server has the details of parameters, bodies, answers and errors: \`/docs/api/\` is a viewer
that also tries calls, \`/openapi.json\` the description for tools. This page is generated from the routes themselves.

${tables.join('\n')}`;
}

function scopeOf({ scope, path }) {
  if (path.startsWith('/sync/v1')) return 'device';
  return scope === 'public' ? 'none' : `\`${scope}\``;
}

function cell(texts) {
  const sentences = texts.filter((text) => text !== undefined && text !== '').map((text) => text.replace(/\.?$/, '.'));
  // The column beside it says so.
  const text = sentences.join(' ').replace(/\s*Needs (?:no token|a token[^.]*)\.$/, '');
  return escaped(text).replaceAll('|', '\\|').replace(/\s+/g, ' ');
}

/** What a package exports, from its declaration files with their comments. */
function packagePage(folder) {
  const { name, description, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const entries = Object.entries(exports).map(([path, { types }]) => {
    const declared = callsFirst(exportedDeclarations(join(folder, types))).map(
      ({ title, comment, code }) => `### ${title}\n\n${commentText(comment)}\n\n\`\`\`ts\n${code}\n\`\`\`\n`,
    );
    return `## ${name}${path.slice(1)}\n\n${declared.join('\n')}`;
  });
  return `# ${name}\n\n${description}. This page is generated from the types of the package.\n\n${entries.join('\n')}`;
}

/** What an app calls comes before the types of its parameters. */
function callsFirst(declarations) {
  const isCalled = ({ code }) => /^(?:function|class|const) /.test(code);
  return [...declarations.filter(isCalled), ...declarations.filter((one) => !isCalled(one))];
}

function commentText(comment) {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trim());
  return escaped(lines.join('\n').trim());
}

/** Text in which `<` outside of code is no HTML. */
function escaped(text) {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 0 ? part.replaceAll('<', '&lt;') : part))
    .join('');
}
