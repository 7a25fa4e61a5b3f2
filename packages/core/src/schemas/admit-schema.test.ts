import { Refusal, SCHEMA_ATTRIBUTES_MAX, SCHEMA_BYTES_MAX, SCHEMA_DEPTH_MAX } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { admitSchema } from './admit-schema.ts';

function refusalOf(run: () => unknown): Refusal {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

const ORDER = {
  title: 'Order',
  type: 'object',
  properties: {
    state: { type: 'string', enum: ['open', 'done'], description: 'Where it stands' },
    total: { type: ['number', 'null'], minimum: 0 },
    customer: { type: 'string', reference: 'Customer' },
    photo: { format: 'file' },
    lines: {
      type: 'array',
      items: { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] },
    },
    due: { type: 'string', format: 'date', deprecated: true },
  },
  required: ['state'],
  additionalProperties: false,
};

/** What is wrong, the pointer to it, and what is said of it. */
const MISTAKES: readonly (readonly [string, unknown, string, string])[] = [
  ['a schema without properties', {}, '/schema', 'needs "properties", the attributes of an object'],
  [
    'a keyword that is not in the subset',
    { properties: { a: { type: 'string', pattern: '^a' } } },
    '/schema/properties/a/pattern',
    'is not a keyword of schemas of sources',
  ],
  ['a keyword of values at the top', { properties: {}, enum: [] }, '/schema/enum', 'is not a keyword'],
  [
    'a type that does not exist',
    { properties: { a: { type: 'date' } } },
    '/schema/properties/a/type',
    'must be one of string, number',
  ],
  [
    'a type twice',
    { properties: { a: { type: ['string', 'string'] } } },
    '/schema/properties/a/type',
    'names a type twice',
  ],
  ['a type of the source that is not object', { type: 'array', properties: {} }, '/schema/type', 'must be "object"'],
  ['an empty enum', { properties: { a: { enum: [] } } }, '/schema/properties/a/enum', 'at least one value'],
  [
    'a value of an enum twice',
    { properties: { a: { enum: [{ x: 1 }, { x: 1 }] } } },
    '/schema/properties/a/enum',
    'has {"x":1} twice',
  ],
  [
    'a value of an enum of another type',
    { properties: { a: { type: 'string', enum: [1] } } },
    '/schema/properties/a/enum',
    'has "1", which is not of the type',
  ],
  [
    'a const of another type',
    { properties: { a: { type: 'integer', const: 1.5 } } },
    '/schema/properties/a/const',
    'not of the type',
  ],
  [
    'a format that does not exist',
    { properties: { a: { type: 'string', format: 'regex' } } },
    '/schema/properties/a/format',
    'must be one of date',
  ],
  [
    'a bound without a type',
    { properties: { a: { minimum: 1 } } },
    '/schema/properties/a/minimum',
    'needs a "type" that is number or integer',
  ],
  [
    'a bound of another type',
    { properties: { a: { type: 'string', maxItems: 1 } } },
    '/schema/properties/a/maxItems',
    'needs a "type" that is array',
  ],
  [
    'a lower bound above the upper one',
    { properties: { a: { type: 'number', minimum: 2, maximum: 1 } } },
    '/schema/properties/a/minimum',
    'is greater than maximum',
  ],
  [
    'a length that is negative',
    { properties: { a: { type: 'string', minLength: -1 } } },
    '/schema/properties/a/minLength',
    'a whole number from 0',
  ],
  [
    'a required name without a schema',
    { properties: {}, required: ['a'] },
    '/schema/required',
    'names "a", which is not in properties',
  ],
  ['a required name twice', { properties: { a: {} }, required: ['a', 'a'] }, '/schema/required', 'names "a" twice'],
  [
    'a required member without a schema',
    { properties: { a: { type: 'object', required: ['x'] } } },
    '/schema/properties/a/required',
    'names "x"',
  ],
  ['a name that no attribute can have', { properties: { '*': {} } }, '/schema/properties/*', 'it is reserved'],
  [
    'an empty name',
    { properties: { '': {} } },
    '/schema/properties/',
    'is a name that no attribute can have: it is empty',
  ],
  [
    'a reference to a name that no source can have',
    { properties: { a: { type: 'string', reference: '..' } } },
    '/schema/properties/a/reference',
    '',
  ],
  ['a description that is not a text', { properties: {}, description: 1 }, '/schema/description', 'must be a text'],
];

function nested(levels: number): unknown {
  return levels === 0 ? {} : { type: 'array', items: nested(levels - 1) };
}

describe('the admission of a schema', () => {
  it('[SCHEMA-12] a schema with every keyword of the subset is admitted as it is', () => {
    expect(admitSchema(ORDER)).toEqual(ORDER);
  });

  it.each(MISTAKES)(
    '[SCHEMA-12] %s is refused, and the refusal names the place and the reason',
    (_what, schema, at, detail) => {
      const { code, flaws } = refusalOf(() => admitSchema(schema));
      expect(code).toBe('invalid_value');
      expect(flaws).toEqual([{ pointer: at, detail: expect.stringContaining(detail) }]);
    },
  );

  it('[SCHEMA-12] what is not an object, or has the key "__proto__", is no schema', () => {
    expect(refusalOf(() => admitSchema(null)).code).toBe('invalid_request');
    const schema: unknown = JSON.parse('{"properties":{"__proto__":{}}}');
    expect(refusalOf(() => admitSchema(schema)).code).toBe('forbidden_key');
  });

  it('[SCHEMA-13] a schema has so many levels, attributes and bytes, and not one more', () => {
    const deep = (levels: number) => ({ properties: { a: nested(levels) } });
    const wide = (count: number) => ({
      properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, {}])),
    });
    const empty = JSON.stringify({ properties: {}, title: '' }).length;
    const long = (bytes: number) => ({ properties: {}, title: 'x'.repeat(bytes - empty) });
    for (const [fits, exceeds] of [
      [deep(SCHEMA_DEPTH_MAX), deep(SCHEMA_DEPTH_MAX + 1)],
      [wide(SCHEMA_ATTRIBUTES_MAX), wide(SCHEMA_ATTRIBUTES_MAX + 1)],
      [long(SCHEMA_BYTES_MAX), long(SCHEMA_BYTES_MAX + 1)],
    ]) {
      expect(admitSchema(fits)).toEqual(fits);
      expect(refusalOf(() => admitSchema(exceeds)).code).toBe('limit_exceeded');
    }
  });
});
