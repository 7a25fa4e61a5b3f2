import {
  type JsonValue,
  type KeyRange,
  keysAbove,
  keysBelow,
  keysOf,
  keysOfExisting,
  keysWithPrefix,
  sortKey,
  textKey,
  textOfKey,
} from '@tidemark/protocol';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareValues } from './value-order.ts';
import { compileWhere } from './where.ts';

const CHARACTERS = [
  '',
  'a',
  'b',
  '\0',
  '\u0001',
  '\u0002',
  '\u0003',
  'é',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '😀',
  '\u{10000}',
];
const text = fc.oneof(
  fc.array(fc.constantFrom(...CHARACTERS, '\u{10fffe}', '\u{10ffff}'), { maxLength: 4 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 3 }).filter((drawn) => !/[\ud800-\udfff]/u.test(drawn)),
);
const number = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, 0.1, 0.1 + 0.2, 5e-324, -5e-324, 2 ** 53 - 1, 1 - 2 ** 53, 1e-7),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
);
const value = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text,
    number,
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(text, tie('value'), { maxKeys: 3 }),
  ),
})).value;
const anything = fc.option(value, { nil: undefined });
const compareBytes = (left: string, right: string) => Buffer.compare(Buffer.from(left), Buffer.from(right));

it('[DISK-1] keys of values compare by their bytes as the values do in queries, and equal values have equal keys', () => {
  fc.assert(
    fc.property(anything, anything, (left, right) => {
      const [one, other] = [sortKey(left), sortKey(right)];
      expect(Math.sign(compareBytes(one, other))).toBe(Math.sign(compareValues(left, right)));
      expect(one.includes('\0')).toBe(false);
    }),
    { numRuns: 3_000 },
  );
});

it('[DISK-1] keys of texts sort by UTF-16 code units, and any text is found in its key again', () => {
  fc.assert(
    fc.property(text, text, (left, right) => {
      expect(Math.sign(compareBytes(textKey(left), textKey(right)))).toBe(left < right ? -1 : Number(left > right));
      expect(textOfKey(textKey(left))).toBe(left);
    }),
  );
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 0xffff })), (units) => {
      const drawn = String.fromCharCode(...units);
      expect(textOfKey(textKey(drawn))).toBe(drawn);
    }),
  );
});

it('[DISK-1] a range of keys has exactly the values that fulfil the condition', () => {
  const isIn = ({ from, to }: KeyRange, key: string) => compareBytes(from, key) <= 0 && compareBytes(key, to) < 0;
  fc.assert(
    fc.property(anything, value, text, fc.boolean(), (found, operand, prefix, exists) => {
      const ranges: readonly (readonly [object, KeyRange])[] = [
        [{ eq: operand }, keysOf(operand)],
        [{ lt: operand }, keysBelow(operand, false)],
        [{ lte: operand }, keysBelow(operand, true)],
        [{ gt: operand }, keysAbove(operand, false)],
        [{ gte: operand }, keysAbove(operand, true)],
        [{ prefix }, keysWithPrefix(prefix)],
        [{ exists }, keysOfExisting(exists)],
      ];
      for (const [condition, range] of ranges) {
        const { matches } = compileWhere({ a: condition });
        expect([condition, isIn(range, sortKey(found))]).toEqual([
          condition,
          matches(found === undefined ? {} : { a: found }),
        ]);
      }
    }),
    { numRuns: 2_000 },
  );
});
