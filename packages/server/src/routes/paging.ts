import { pointer, Refusal } from '@tidemark/protocol';

/** Returns `after` and `limit` of a query; the core checks the limit. */
export function pageOf(query: { readonly after?: string; readonly limit?: string }): {
  after?: string;
  limit?: number;
} {
  const { after, limit } = query;
  return {
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit: wholeNumber('limit', limit) }),
  };
}

/** Reads a number of a query. */
export function wholeNumber(name: string, text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  const detail = 'must be a whole number';
  throw new Refusal('invalid_request', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}

/** Reads a moment of a query, in milliseconds; undefined if it is not given. */
export function momentIn(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{4}-\d\d-\d\d(T|$)/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  const detail = 'must be a moment such as 2030-01-31T12:00:00Z, or a day such as 2030-01-31';
  throw new Refusal('invalid_value', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}

/** Returns the numbers of a query by their names, without those that are absent. */
export function numbersOf<Name extends string>(
  query: { readonly [name in Name]?: string | undefined },
  ...names: readonly Name[]
): { [name in Name]?: number } {
  const numbers: { [name in Name]?: number } = {};
  for (const name of names) {
    const text = query[name];
    if (text !== undefined) numbers[name] = wholeNumber(name, text);
  }
  return numbers;
}

/** Returns the flags of a query by their names, without those that are absent. */
export function flagsOf<Name extends string>(
  query: { readonly [name in Name]?: string | undefined },
  ...names: readonly Name[]
): { [name in Name]?: boolean } {
  const flags: { [name in Name]?: boolean } = {};
  for (const name of names) {
    const text = query[name];
    if (text !== undefined) flags[name] = text === 'true';
  }
  return flags;
}

/** Returns the texts of a query by their names, without those that are absent. */
export function textsOf<Name extends string>(
  query: { readonly [name in Name]?: string | undefined },
  ...names: readonly Name[]
): { [name in Name]?: string } {
  const texts: { [name in Name]?: string } = {};
  for (const name of names) {
    const text = query[name];
    if (text !== undefined) texts[name] = text;
  }
  return texts;
}
