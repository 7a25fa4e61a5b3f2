import { expect, it } from 'vitest';
import { sampleAttributes } from './schema-sample.ts';

it('[CONSOLE-170] the example of a push has the attributes that the schema requires, with values that it allows', () => {
  const sample = sampleAttributes({
    properties: {
      name: { type: 'string', maxLength: 3 },
      state: { enum: ['open', 'done'] },
      kind: { const: null },
      due: { type: 'string', format: 'date' },
      count: { type: 'integer', minimum: 2.5 },
      share: { type: 'number', maximum: 0.5 },
      done: { type: 'boolean' },
      gone: { type: ['null', 'string'] },
      code: { type: 'string', minLength: 6 },
      any: {},
      tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
      lines: { type: 'array' },
      address: { type: 'object', properties: { city: { type: 'string' }, zip: {} }, required: ['city'] },
      photo: { type: 'object', format: 'file' },
      note: { type: 'string' },
    },
    required: [
      ...['name', 'state', 'kind', 'due', 'count', 'share', 'done', 'gone', 'code', 'any', 'tags', 'lines'],
      ...['address', 'photo'],
    ],
  });
  expect(sample).toEqual({
    ...{ name: 'nam', state: 'open', kind: null, due: '2030-01-31', count: 3, share: 0.5, done: true, gone: null },
    ...{ code: 'code..', any: 'any', tags: ['tags'], lines: [], address: { city: 'city' }, photo: { $file: {} } },
  });
});

it('[CONSOLE-170] the example of a push has the first attribute where the schema requires none', () => {
  expect(sampleAttributes({ properties: { name: { type: 'string' }, count: { type: 'integer' } } })).toEqual({
    name: 'name',
  });
  expect(sampleAttributes({ properties: {} })).toEqual({});
});
