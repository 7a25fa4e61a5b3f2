import type { SourceSchema, ValueSchema } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { CompiledSchema } from './compiled-schema.ts';

const FILE = { $file: { sha256: '0'.repeat(64), size: 1, type: 'image/png' } };

type Row = readonly [ValueSchema, good: unknown, bad: unknown, at: string, detail: string];

/** A schema of a value, a value that fits it, one that does not, and what is said about that. */
const ROWS: readonly Row[] = [
  [{ type: 'string' }, 'x', 1, '', 'must be a text'],
  [{ type: 'number' }, 1.5, '1', '', 'must be a number'],
  [{ type: 'integer' }, 1, 1.5, '', 'must be a whole number'],
  [{ type: 'boolean' }, false, 0, '', 'must be true or false'],
  [{ type: 'null' }, null, 0, '', 'must be null'],
  [{ type: 'object' }, {}, [], '', 'must be an object'],
  [{ type: 'array' }, [], {}, '', 'must be a list'],
  [{ type: ['string', 'null'] }, null, 1, '', 'must be a text or null'],
  [{ enum: ['open', 'done'] }, 'open', 'late', '', 'must be one of "open", "done"'],
  [{ const: 1 }, 1, 2, '', 'must be 1'],
  [{ type: 'string', format: 'date' }, '2030-02-28', '2030-02-30', '', 'must be a date such as "2030-01-31"'],
  [
    { type: 'string', format: 'date-time' },
    '2030-01-31T12:00:00Z',
    '2030-01-31',
    '',
    'must be a time with a date and a zone, such as "2030-01-31T12:00:00Z"',
  ],
  [{ type: 'string', format: 'time' }, '12:00:00Z', '25:00:00Z', '', 'must be a time with a zone, such as "12:00:00Z"'],
  [{ type: 'string', format: 'email' }, 'a@example.com', 'a', '', 'must be an email address'],
  [
    { type: 'string', format: 'uri' },
    'https://example.com/',
    'example',
    '',
    'must be a URI such as "https://example.com/"',
  ],
  [
    { type: 'string', format: 'uuid' },
    '6f0c1b0e-9a53-4c0f-8a4e-2f6f3f0b7a11',
    '6f0c',
    '',
    'must be a UUID such as "6f0c1b0e-9a53-4c0f-8a4e-2f6f3f0b7a11"',
  ],
  [{ format: 'file' }, FILE, {}, '', 'must refer to a file, as {"$file": …} does'],
  [{ type: ['object', 'null'], format: 'file' }, null, 'x', '', 'must be an object or null'],
  [{ type: 'number', minimum: 0 }, 0, -1, '', 'must be at least 0'],
  [{ type: 'number', maximum: 5 }, 5, 6, '', 'must be at most 5'],
  [{ type: 'string', minLength: 1 }, '€', '', '', 'must have at least 1 character'],
  [{ type: 'string', maxLength: 2 }, '😀😀', 'abc', '', 'must have at most 2 characters'],
  [{ type: 'array', minItems: 1 }, [1], [], '', 'must have at least 1 item'],
  [{ type: 'array', maxItems: 1 }, [1], [1, 2], '', 'must have at most 1 item'],
  [{ type: 'array', items: { type: 'string' } }, ['x'], ['x', 1], '/1', 'must be a text'],
  [
    { type: 'object', properties: { 'a/b': { type: 'string' } } },
    { 'a/b': 'x' },
    { 'a/b': 1 },
    '/a~1b',
    'must be a text',
  ],
  [{ type: 'object', properties: { x: {} }, required: ['x'] }, { x: null }, {}, '', 'must have "x"'],
  [{ type: 'object', properties: { x: {} }, additionalProperties: false }, { x: 1 }, { y: 1 }, '', 'must not have "y"'],
  [
    { type: 'object', properties: { toString: { type: 'string' } as const } },
    {},
    { toString: 1 },
    '/toString',
    'must be a text',
  ],
];

const of = (schema: Partial<SourceSchema>) => new CompiledSchema({ properties: {}, ...schema });

describe('the check of attributes', () => {
  it.each(ROWS)(
    '[SCHEMA-4] with %j, %j fits and %j does not, and a sentence says why',
    (schema, good, bad, at, detail) => {
      const check = of({ properties: { a: schema } });
      expect(check.check({ a: good }, null)).toEqual([]);
      expect(check.check({ a: bad }, null)).toEqual([{ attribute: 'a', at, detail }]);
    },
  );

  it('[SCHEMA-4] every attribute that does not fit is named, and the others are not', () => {
    const check = of({ properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string' } } });
    expect(check.check({ a: 1, b: 'x', c: null, d: 1 }, null)).toEqual([
      { attribute: 'a', at: '', detail: 'must be a text' },
      { attribute: 'c', at: '', detail: 'must be a text' },
    ]);
  });

  it('[SCHEMA-4] other attributes are allowed, unless additionalProperties is false', () => {
    expect(of({}).check({ a: 1 }, null)).toEqual([]);
    expect(of({ additionalProperties: false }).check({ a: 1 }, null)).toEqual([
      { attribute: 'a', at: '', detail: 'is not an attribute of the schema' },
    ]);
  });

  it('[SCHEMA-5] an attribute is required of what the object has in the end, not of what a change sets', () => {
    const check = of({ properties: { a: {}, b: {} }, required: ['a'] });
    expect(check.check({ b: 1 }, new Set(['a', 'b']))).toEqual([]);
    expect(check.check({ b: 1 }, new Set(['b']))).toEqual([
      { attribute: 'a', at: '', detail: 'is required and missing' },
    ]);
  });

  it('[SCHEMA-4] attributes may have the names of members that every object inherits', () => {
    const check = of({ properties: { constructor: { type: 'string' } as const, valueOf: {} }, required: ['valueOf'] });
    expect(check.check({}, null)).toEqual([]);
    expect(check.missing((name) => Object.hasOwn({}, name))).toHaveLength(1);
    expect(check.check({ constructor: 1 }, null)).toEqual([
      { attribute: 'constructor', at: '', detail: 'must be a text' },
    ]);
  });

  it('[SCHEMA-4] a sentence names ten values of an enum and the number of the others', () => {
    const check = of({ properties: { a: { enum: Array.from({ length: 12 }, (_, index) => index) } } });
    expect(check.check({ a: 'x' }, null)[0]?.detail).toBe('must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more');
  });
});
