/** Values of earlier answers of the same case: ids and tokens that the server chose. */
export type CapturedValues = Map<string, string>;

/** A part of an expected value that is not known in advance. */
export class Matcher {
  readonly name: string;
  readonly accepts: (value: unknown, kept: CapturedValues) => boolean;

  constructor(name: string, accepts: (value: unknown, kept: CapturedValues) => boolean) {
    this.name = name;
    this.accepts = accepts;
  }
}

function textMatcher(name: string, pattern: RegExp): Matcher {
  return new Matcher(name, (value) => typeof value === 'string' && pattern.test(value));
}

export const ANY_TEXT = textMatcher('a text that is not empty', /./s);
export const MOMENT = textMatcher(
  'a moment in UTC',
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/,
);
export const TOKEN = textMatcher('a token', /^tmk_[0-9A-Za-z]{49}$/);
export const TOKEN_ID = textMatcher('the id of a token', /^[0-9a-f]{16}$/);
export const REQUEST_ID = textMatcher('a request id', /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

export const NUMBER = new Matcher('a number', (value) => typeof value === 'number' && Number.isFinite(value));

export function wholeNumber(least: number): Matcher {
  return new Matcher(`a whole number from ${least}`, (value) => Number.isSafeInteger(value) && Number(value) >= least);
}

/** Accepts what the matcher accepts, and keeps it under the name. */
export function keep(name: string, matcher: Matcher): Matcher {
  return new Matcher(matcher.name, (value, kept) => {
    if (!matcher.accepts(value, kept)) return false;
    kept.set(name, String(value));
    return true;
  });
}

/** Accepts the value that was kept under the name. */
export function same(name: string): Matcher {
  return new Matcher(`the ${name} told before`, (value, kept) => value === kept.get(name));
}

/** Accepts a list that contains these items, in any order and among others. */
export function listWith(...items: readonly unknown[]): Matcher {
  return new Matcher(`a list with ${JSON.stringify(items)} in it`, (value, kept) => {
    if (!Array.isArray(value)) return false;
    return items.every((item) => value.some((one) => differences(item, one, kept).length === 0));
  });
}

export function listWithout(...items: readonly unknown[]): Matcher {
  return new Matcher(`a list without ${JSON.stringify(items)}`, (value, kept) => {
    if (!Array.isArray(value)) return false;
    return items.every((item) => value.every((one) => differences(item, one, kept).length > 0));
  });
}

/** Accepts a list of at least `least` items that all fit. */
export function listOf(item: unknown, least = 1): Matcher {
  return new Matcher(`a list of at least ${least} that fit`, (value, kept) => {
    if (!Array.isArray(value) || value.length < least) return false;
    return value.every((one) => differences(item, one, kept).length === 0);
  });
}

/** Compares whole values. Returns every difference: missing, additional and different members. */
export function differences(expected: unknown, actual: unknown, kept: CapturedValues, at = ''): readonly string[] {
  if (expected instanceof Matcher) {
    return expected.accepts(actual, kept) ? [] : [`${place(at)} is not ${expected.name}: ${shown(actual)}`];
  }
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length) {
    return expected.flatMap((item, index) => differences(item, actual[index], kept, `${at}/${index}`));
  }
  if (isRecord(expected) && isRecord(actual)) return memberDifferences(expected, actual, kept, at);
  return Object.is(expected, actual) ? [] : [`${place(at)} is ${shown(actual)}, not ${shown(expected)}`];
}

function memberDifferences(
  expected: Readonly<Record<string, unknown>>,
  actual: Readonly<Record<string, unknown>>,
  kept: CapturedValues,
  at: string,
): readonly string[] {
  const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
  return [...names].flatMap((name) => {
    const there = `${at}/${name}`;
    if (!Object.hasOwn(actual, name)) return [`${there} is missing`];
    if (!Object.hasOwn(expected, name)) return [`${there} is not expected: ${shown(actual[name])}`];
    return differences(expected[name], actual[name], kept, there);
  });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Matcher);
}

function place(at: string): string {
  return at === '' ? 'the answer' : at;
}

const SHOWN_UNITS_MAX = 200;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > SHOWN_UNITS_MAX ? `${text.slice(0, SHOWN_UNITS_MAX)}…` : text;
}

/** An object with these members, among others. */
export function having(members: Readonly<Record<string, unknown>>): Matcher {
  return new Matcher(JSON.stringify(members), (value, kept) =>
    Object.entries(members).every(([name, wanted]) => {
      const given = (value as Record<string, unknown>)[name];
      return wanted instanceof Matcher ? wanted.accepts(given, kept) : given === wanted;
    }),
  );
}
