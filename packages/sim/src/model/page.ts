import { type JsonValue, type Page, parseJson } from '@tidemark/protocol';
import { demand } from '../runner/violation.ts';

const KEYS: ReadonlySet<string> = new Set([
  'token',
  'more',
  'reset',
  'delete',
  'put',
  'drop',
  'patch',
  'size',
  'checksum',
]);

/** A page as a device reads it. */
export type PageRead = Omit<Page, 'put' | 'patch'> & {
  readonly put?: Readonly<Record<string, Readonly<Record<string, JsonValue>>>>;
  readonly patch?: Readonly<Record<string, Readonly<Record<string, JsonValue>>>>;
};

/**
 * Parses a page and checks its form. The server concatenates the text, so a key could occur twice; parsing would hide
 * that, but the result written as JSON again would be shorter. Throws a violation when the text is not a page.
 */
export function readPage(text: string): PageRead {
  const page = parse(text);
  const malformed = (problem: string) => () => `${problem} in the page ${text}`;
  demand(JSON.stringify(page).length === text.length, 'SIM-6', malformed('a duplicate key or needless white space'));
  demand(
    Object.keys(page).every((key) => KEYS.has(key)),
    'SIM-6',
    malformed('an unknown key'),
  );
  demand(typeof page.token === 'string' && typeof page.more === 'boolean', 'SIM-6', malformed('a wrong token or more'));
  demand(page.reset === undefined || page.reset === true, 'SIM-6', malformed('a wrong reset'));
  demand(Number.isSafeInteger(page.size), 'SIM-6', malformed('a wrong size'));
  demand((page.checksum === undefined) === page.more, 'SIM-6', malformed('a misplaced checksum'));
  demand(
    (page.delete ?? []).every((id) => typeof id === 'string'),
    'SIM-6',
    malformed('a wrong delete'),
  );
  for (const objects of [page.put, page.patch]) {
    demand(Object.values(objects ?? {}).every(holdsSomething), 'SIM-6', malformed('an object without attributes'));
  }
  demand(Object.values(page.drop ?? {}).every(isListOfNames), 'SIM-6', malformed('a wrong drop'));
  return page;
}

function parse(text: string): PageRead {
  try {
    return parseJson(text) as PageRead;
  } catch {
    demand(false, 'SIM-6', () => `the page is not JSON: ${text}`);
  }
}

function holdsSomething(object: unknown): boolean {
  return typeof object === 'object' && object !== null && !Array.isArray(object) && Object.keys(object).length > 0;
}

function isListOfNames(names: unknown): boolean {
  return Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === 'string');
}

/** Returns every id that a page names, once per mention; a patch and a drop of one object are one mention. */
export function mentions(page: PageRead): string[] {
  const patched = new Set([...Object.keys(page.patch ?? {}), ...Object.keys(page.drop ?? {})]);
  return [...(page.delete ?? []), ...Object.keys(page.put ?? {}), ...patched];
}
