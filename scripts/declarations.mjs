import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const DECLARATION = /^(export )?(?:declare )?(?:abstract )?(?:class|interface|function|const|type) (\w+)/gm;
const NAMES_FROM = /^(import|export) (?:type )?\{([^}]*)\} from '([^']*)';$/gm;

/**
 * Reads what a declaration file of the compiler declares, imports and exports. The compiler writes one declaration for each
 * statement and no default exports, so this needs no parser of TypeScript.
 *
 * @param {string} file
 */
export function readDeclarations(file) {
  const text = readFileSync(file, 'utf8');
  const links = [...text.matchAll(NAMES_FROM)].flatMap(([, kind, list, from]) =>
    namesIn(list).map(([name, as]) => ({ isExport: kind === 'export', name, as, from })),
  );
  return { declarations: ownDeclarations(text), links };
}

/** The file that declares what `from` exports, seen from `file`; null: another package declares it. */
export function declaringFile(file, from) {
  if (!from.startsWith('.')) return null;
  const target = join(dirname(file), from.replace(/\.tsx?$/, '.d.ts'));
  return existsSync(target) ? target : null;
}

/** The declarations that a file exports, its own and those of the files that it exports from, in order. */
export function exportedDeclarations(file) {
  const { declarations, links } = readDeclarations(file);
  const others = links.flatMap(({ isExport, name, from }) => {
    const target = isExport ? declaringFile(file, from) : null;
    return target === null ? [] : exportedDeclarations(target).filter(({ title }) => title === name);
  });
  return [...declarations.filter(({ isExported }) => isExported), ...others];
}

/** The names in a list of an import or export: `type A, B as C`. */
function namesIn(list) {
  const names = list.split(',').map((name) => name.replace(/\btype\b/, '').trim());
  return names.filter((name) => name !== '').map((name) => [name.split(' as ')[0], name.split(' as ').at(-1)]);
}

function ownDeclarations(text) {
  return [...text.matchAll(DECLARATION)].map(({ index, 1: exported, 2: title }) => {
    const [, comment = ''] = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(text.slice(0, index)) ?? [];
    const code = text.slice(index, endOf(text, index)).replace(/^(?:export )?(?:declare )?/, '');
    const open = code.replace(/^\s*(?:#private|private .*);\n/gm, '').trimEnd();
    return { title, isExported: exported !== undefined, comment, code: open };
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
