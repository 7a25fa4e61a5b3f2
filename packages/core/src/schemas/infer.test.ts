import type { JsonValue } from '@tidemark/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admitSchema } from './admit-schema.ts';
import { CompiledSchema } from './compiled-schema.ts';
import { SchemaInference } from './infer.ts';

type Attributes = Readonly<Record<string, JsonValue>>;

function inferred(objects: readonly Attributes[]) {
  const inference = new SchemaInference();
  for (const attributes of objects) inference.add(attributes);
  return inference.finish();
}

/** The schema of one attribute that had these values. */
function schemaOf(...values: readonly JsonValue[]) {
  return inferred(values.map((a) => ({ a }))).schema.properties.a;
}

const FILE = { $file: { sha256: '0'.repeat(64), size: 1, type: 'image/png' } };

describe('a proposed schema', () => {
  it('[SCHEMA-20] it is admitted, and fits every object that it was made from', () => {
    const objects = fc.array(
      fc.dictionary(fc.constantFrom('a', 'b', 'c/d', 'valueOf'), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
    );
    fc.assert(
      fc.property(objects, (all) => {
        const { schema } = inferred(all as unknown as Attributes[]);
        expect(admitSchema(schema)).toEqual(schema);
        const check = new CompiledSchema(schema);
        for (const one of all) {
          expect(check.check(one as Attributes, new Set(Object.keys(one)))).toEqual([]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('[SCHEMA-20] each statement has the number of values that support it', () => {
    const { schema, support } = inferred([{ a: 1, b: { x: 'y' } }, { a: 2.5 }, { a: null }]);
    expect(schema).toEqual({
      properties: {
        a: { type: ['null', 'number'] },
        b: { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] },
      },
      required: ['a'],
    });
    expect(support).toEqual({
      ...{ '/properties/a/type': 3, '/required/0': 3, '/properties/b/type': 1 },
      ...{ '/properties/b/properties/x/type': 1, '/properties/b/required/0': 1 },
    });
  });

  it('[SCHEMA-20] formats, enums and files need enough values that agree', () => {
    const dates = ['2030-01-01', '2030-01-02', '2030-01-03'];
    expect(schemaOf(...dates)).toEqual({ type: 'string', format: 'date' });
    expect(schemaOf(...dates.slice(1))).toEqual({ type: 'string' });
    expect(schemaOf(...dates, 'soon')).toEqual({ type: 'string' });
    const states = ['open', 'done', 'open', 'open', 'done', 'open', 'done', 'open', 'done', 'done'];
    expect(schemaOf(...states)).toEqual({ type: 'string', enum: ['done', 'open'] });
    expect(schemaOf(...states.slice(1))).toEqual({ type: 'string' });
    expect(schemaOf(...states, null)).toEqual({ type: ['null', 'string'] });
    expect(schemaOf(FILE, FILE)).toEqual({ type: 'object', format: 'file' });
    expect(schemaOf(FILE, { x: 1 })).toEqual({ type: 'object' });
    expect(schemaOf([1], ['x'], [])).toEqual({ type: 'array', items: { type: ['integer', 'string'] } });
  });
});
