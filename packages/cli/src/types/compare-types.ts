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

function definitionsOf(text: string): ReadonlyMap<string, string> {
  try {
    const { $defs = {} } = parseJson(text) as { readonly $defs?: Readonly<Record<string, unknown>> };
    return new Map(Object.entries($defs).map(([name, schema]) => [name, JSON.stringify(schema)]));
  } catch {
    return new Map();
  }
}

/** The text without what formatters change: spaces, quotes, commas, semicolons, and the first bar of a union. */
function squeezed(text: string): string {
  return text
    .replace(/[\s,;]/g, '')
    .replaceAll('"', "'")
    .replace(/([:=(])\|/g, '$1');
}
