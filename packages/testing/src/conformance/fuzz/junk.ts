import type { Dice } from '@tidemark/client-testing';

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

export function junkText(dice: Dice): string {
  switch (dice.below(12)) {
    case 0:
    case 1:
      return 'x'.repeat(dice.pick([254, 255, 256, 511, 512, 513, 1_024, 2_000, 5_000, 7_000]));
    case 2:
      return '🌊'.repeat(dice.pick([63, 64, 127, 128, 1_000]));
    case 3:
      return String.fromCharCode(...Array.from({ length: dice.between(1, 8) }, () => dice.below(0x10000)));
    default:
      return dice.pick(TEXTS);
  }
}

/** Returns any JSON value. */
export function junkValue(dice: Dice, depth = 3): unknown {
  switch (dice.below(depth === 0 ? 6 : 9)) {
    case 0:
      return null;
    case 1:
      return dice.chance(50);
    case 2:
    case 3:
      return dice.pick(NUMBERS);
    case 4:
    case 5:
      return junkText(dice);
    case 6:
      return Array.from({ length: dice.below(4) }, () => junkValue(dice, depth - 1));
    case 7:
      return nested(dice.pick([10, 31, 32, 33, 40, 500]), dice.chance(50));
    default:
      return junkObject(dice, depth - 1);
  }
}

/** Without a prototype, so that `__proto__` is a member like others. */
export function junkObject(dice: Dice, depth: number): Record<string, unknown> {
  const object = Object.create(null) as Record<string, unknown>;
  for (let count = dice.below(4); count > 0; count--) object[junkText(dice)] = junkValue(dice, depth);
  return object;
}

function nested(depth: number, isList: boolean): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = isList ? [value] : { a: value };
  return value;
}
