import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const PACKAGES = ['client', 'react', 'tanstack-db', 'devtools', 'client-testing', 'backend'];
const DECLARATION = /^export (?:declare )?(?:abstract )?(?:class|interface|function|const|type) (\w+)/gm;
const REEXPORT = /^export (?:type )?\{([^}]*)\} from '(\.[^']*)';$/gm;

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
    const declared = callsFirst(declarationsOf(join(folder, types))).map(
      ({ title, comment, code }) => `### ${title}\n\n${comment}\n\n\`\`\`ts\n${code}\n\`\`\`\n`,
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

/** The exported declarations of a file and of the files it exports from, in order. */
function declarationsOf(file) {
  const text = readFileSync(file, 'utf8');
  const own = ownDeclarations(text);
  const others = [...text.matchAll(REEXPORT)].flatMap(([, list, path]) => {
    const target = join(dirname(file), path.replace(/\.tsx?$/, '.d.ts'));
    if (!existsSync(target)) return [];
    const names = list.split(',').map((name) => name.replace(/\btype\b/, '').trim());
    return declarationsOf(target).filter(({ title }) => names.includes(title));
  });
  return [...own, ...others];
}

function ownDeclarations(text) {
  return [...text.matchAll(DECLARATION)].map(({ index, 1: title }) => {
    const [, comment = ''] = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(text.slice(0, index)) ?? [];
    const code = text.slice(index, endOf(text, index)).replace(/^export (?:declare )?/, '');
    return {
      title,
      comment: commentText(comment),
      code: code.replace(/^\s*(?:#private|private .*);\n/gm, '').trimEnd(),
    };
  });
}

/** Where the declaration that begins at `start` ends: behind its closing bracket or its semicolon. */
function endOf(text, start) {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (text.startsWith('/*', at)) at = text.indexOf('*/', at) + 1;
    else if ('{(['.includes(char)) depth += 1;
    else if ('})]'.includes(char)) depth -= 1;
    if (
      depth === 0 &&
      (char === ';' ||
        (char === '}' && /^\s*(?:export|\/\*\*|\/\/#|declare|type|interface|$)/.test(text.slice(at + 1))))
    )
      return at + 1;
  }
  return text.length;
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
