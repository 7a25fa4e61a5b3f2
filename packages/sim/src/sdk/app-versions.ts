import type { BuiltWith } from '@tidemark/client';
import type { SourceSchema, Step } from '@tidemark/protocol';
import { type Attributes, attributeOf, DEVICE_USERS } from './step.ts';

/**
 * Every version of a schema has names of its own for all attributes, and every third one lists of one value for some. So a name and a
 * value tell of which version they are, and nothing here needs the code that translates between versions.
 */
const CHANGED = ['last', ...DEVICE_USERS.map((_, index) => attributeOf(index))];
const NAMES = ['made', 'of', 'g', ...CHANGED];
const LISTS_EVERY = 3;

function hasLists(version: number): boolean {
  return version % LISTS_EVERY === 0;
}

function isList(name: string, version: number): boolean {
  return hasLists(version) && CHANGED.includes(name);
}

/** What a version calls an attribute. */
export function nameIn(version: number, name: string): string {
  return version === 1 ? name : `${name}@${version}`;
}

/** The name of an attribute in the first version, whatever version its name is of. */
export function canonicalName(name: string): string {
  const [first = ''] = name.split('@');
  return first;
}

/** States attributes as a version does. */
export function statedIn(version: number, attributes: Attributes): Attributes {
  const stated = Object.entries(attributes).map(([name, value]) => {
    return [nameIn(version, name), isList(name, version) && value !== undefined ? [value] : value];
  });
  return Object.fromEntries(stated);
}

export function schemaOf(version: number): SourceSchema {
  const properties = NAMES.map((name) => {
    const text = { type: 'string' } as const;
    return [nameIn(version, name), isList(name, version) ? { type: 'array' as const, items: text } : text] as const;
  });
  return { properties: Object.fromEntries(properties), additionalProperties: false };
}

/** The steps from the version before. */
export function stepsTo(version: number): readonly Step[] {
  const renames = NAMES.map((name): Step => {
    return { step: 'rename', attribute: nameIn(version - 1, name), to: nameIn(version, name) };
  });
  if (hasLists(version) === hasLists(version - 1)) return renames;
  const to = hasLists(version) ? 'list' : 'one';
  return [...renames, ...CHANGED.map((name): Step => ({ step: 'convert', attribute: nameIn(version, name), to }))];
}

/** What an app of that version was built with. */
export function builtWith(version: number): BuiltWith {
  return { version, steps: Array.from({ length: version - 1 }, (_, index) => stepsTo(index + 2)) };
}

/**
 * Returns attributes by the names and with the values that the ledger knows. Where there are two of one name, that of the first of
 * the versions counts. Null: some are of another version.
 */
export function canonical(attributes: Attributes, versions: readonly number[]): Attributes | null {
  const found = new Map<string, unknown>();
  for (const version of versions.toReversed()) {
    for (const name of NAMES) {
      const value = attributes[nameIn(version, name)];
      if (value === undefined) continue;
      const one = isList(name, version) ? onlyOne(value) : value;
      if (typeof one !== 'string') return null;
      found.set(name, one);
    }
  }
  const known = new Set(versions.flatMap((version) => NAMES.map((name) => nameIn(version, name))));
  return Object.keys(attributes).every((name) => known.has(name)) ? Object.fromEntries(found) : null;
}

function onlyOne(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : null;
}
