import { parseJson } from '@tidemark/protocol';

/** Returns what differs between two texts of types, a sentence each. Only formatting is no difference. */
export function differencesBetween(before: string, after: string): readonly string[] {
  if (squeezed(before) === squeezed(after)) return [];
  const [old, fresh] = [partsOf(before), partsOf(after)];
  const names = [...new Set([...old.keys(), ...fresh.keys()])].sort();
  const found = names.flatMap((name) => {
    if (!fresh.has(name)) return [`${name} is in the file, and no source has it`];
    if (!old.has(name)) return [`${name} is missing in the file`];
    return old.get(name) === fresh.get(name) ? [] : [`${name} differs`];
  });
  // What belongs to no part, such as a comment at the beginning.
  return found.length === 0 ? ['the text around the types differs'] : found;
}

/** The exports of a file of code, or the definitions of a JSON Schema, by their names. */
function partsOf(text: string): ReadonlyMap<string, string> {
  if (text.trimStart().startsWith('{')) return definitionsOf(text);
  const starts = [
    ...text.matchAll(/^(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*)?export (?:type|const|interface) ([^\s=:]+)/gm),
  ];
  const parts = new Map<string, string>();
  for (const [at, start] of starts.entries()) {
    const [, name = ''] = start;
    // A schema of Zod and its type have one name.
    parts.set(name, `${parts.get(name) ?? ''}${squeezed(text.slice(start.index, starts[at + 1]?.index))}`);
  }
  return parts;
}

interface Definitions {
  readonly $defs?: Readonly<Record<string, unknown>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
}

function definitionsOf(text: string): ReadonlyMap<string, string> {
  try {
    const { $defs, components } = parseJson(text) as Definitions;
    return new Map(
      Object.entries($defs ?? components?.schemas ?? {}).map(([name, schema]) => [name, JSON.stringify(schema)]),
    );
  } catch {
    return new Map();
  }
}

/** A comment, or a text in quotes. */
const COMMENT_OR_TEXT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g;

/** The text without what formatters change: spaces, quotes, commas, semicolons, and the first bar of a union. */
function squeezed(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(COMMENT_OR_TEXT)) {
    parts.push(squeezedCode(text.slice(from, index)), found.startsWith('/') ? squeezedCode(found) : plainText(found));
    from = index + found.length;
  }
  return [...parts, squeezedCode(text.slice(from))].join('').replaceAll(/([:=(])\|/g, '$1');
}

function squeezedCode(text: string): string {
  return text.replaceAll(/[\s,;]/g, '');
}

/** A text in quotes as it is, whichever quotes it has. */
function plainText(quoted: string): string {
  return JSON.stringify(quoted.slice(1, -1).replaceAll(/\\(['"])/g, '$1'));
}
