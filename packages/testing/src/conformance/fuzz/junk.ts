import type { Rng } from '@tidemark/client-testing';

/** Returns a text that is likely to cause trouble where a text is expected. */
const TEXTS: readonly string[] = [
  '',
  ' ',
  '*',
  '**',
  '.',
  '..',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  '__shared__',
  'null',
  'NaN',
  '-1',
  '0',
  '1e999',
  '9007199254740993',
  'a/b',
  'a\\b',
  'a:b',
  'a\u0000b',
  'a\nb',
  'a\r\nset-cookie: x=y',
  '\u0085',
  '\u2028',
  '\u202e',
  '\ufeff',
  '\ufffd',
  '\ud800',
  'e\u0301',
  '🌊',
  '👩‍👩‍👧‍👦',
  "' OR 1=1 --",
  '{"$ne":null}',
  '{{7*7}}',
  '%s%n%x',
  '%00',
  '%2e%2e%2f',
  '<script>alert(1)</script>',
  'md',
  'cd',
  'ping',
  'type',
  'admin',
  '2030-01-31T12:00:00Z',
  'http://169.254.169.254/',
  'file:///etc/passwd',
  'http://user:password@h.example/',
];

const NUMBERS: readonly number[] = [
  0,
  -0,
  1,
  -1,
  1.5,
  -2,
  255,
  256,
  1e9,
  1e12,
  2 ** 31,
  2 ** 53 - 1,
  2 ** 53,
  1e300,
  5e-324,
];

export function junkText(rng: Rng): string {
  switch (rng.below(12)) {
    case 0:
    case 1:
      return 'x'.repeat(rng.pick([254, 255, 256, 511, 512, 513, 1_024, 2_000, 5_000, 7_000]));
    case 2:
      return '🌊'.repeat(rng.pick([63, 64, 127, 128, 1_000]));
    case 3:
      return String.fromCharCode(...Array.from({ length: rng.between(1, 8) }, () => rng.below(0x10000)));
    default:
      return rng.pick(TEXTS);
  }
}

/** Returns any JSON value. */
export function junkValue(rng: Rng, depth = 3): unknown {
  switch (rng.below(depth === 0 ? 6 : 9)) {
    case 0:
      return null;
    case 1:
      return rng.chance(50);
    case 2:
    case 3:
      return rng.pick(NUMBERS);
    case 4:
    case 5:
      return junkText(rng);
    case 6:
      return Array.from({ length: rng.below(4) }, () => junkValue(rng, depth - 1));
    case 7:
      return nested(rng.pick([10, 31, 32, 33, 40, 500]), rng.chance(50));
    default:
      return junkObject(rng, depth - 1);
  }
}

/** Without a prototype, so that `__proto__` is a member like others. */
export function junkObject(rng: Rng, depth: number): Record<string, unknown> {
  const object = Object.create(null) as Record<string, unknown>;
  for (let count = rng.below(4); count > 0; count--) object[junkText(rng)] = junkValue(rng, depth);
  return object;
}

function nested(depth: number, isList: boolean): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = isList ? [value] : { a: value };
  return value;
}
