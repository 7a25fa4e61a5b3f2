import type { SchemaDiff } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import { devicesBefore, devicesOf, readSchema, statementsOf } from './schema-change.ts';

it('[CONSOLE-172] a schema and steps are read from JSON, and no steps are sent where there are none', () => {
  const schema = '{"properties": {}}';
  expect(readSchema({ schema, steps: '' })).toEqual({ changes: { schema: { properties: {} } }, problems: {} });
  expect(readSchema({ schema, steps: ' [] ' }).changes).toEqual({ schema: { properties: {} } });
  const steps = [{ step: 'remove', attribute: 'fax' }];
  expect(readSchema({ schema, steps: JSON.stringify(steps) }).changes).toEqual({ schema: { properties: {} }, steps });
});

it('[CONSOLE-172] what is no JSON, no schema or no list of steps is named by its text, and nothing is sent', () => {
  const { changes, problems } = readSchema({ schema: '{', steps: '{}' });
  expect(changes).toBeNull();
  expect(problems.schema).toMatch(/^It is not JSON: /);
  expect(problems.steps).toMatch(/^It must be a list/);
  expect(readSchema({ schema: '[]', steps: '' })).toMatchObject({
    changes: null,
    problems: { schema: expect.stringMatching(/^It must be an object/) },
  });
});

it('[CONSOLE-172] devices that have not said their version count among those that a schema can break', () => {
  const diff = { devices: { 1: 4, 2: 3, 10: 2 }, devices_without_version: 5 } as unknown as SchemaDiff;
  expect([devicesOf(diff), devicesBefore(diff, 2), devicesBefore(diff, 10)]).toEqual([14, 4, 7]);
});

it('[CONSOLE-171] each statement of a proposal is shown with its place, its value and its support', () => {
  const schema = { properties: { 'a/b': { type: 'string' as const } }, required: ['a/b'] };
  const support = { '/properties/a~1b/type': 7, '/required/0': 6 };
  expect(statementsOf({ source: 'Order', schema, objects: 7, support })).toEqual([
    { pointer: '/properties/a~1b/type', statement: '"string"', support: 7 },
    { pointer: '/required/0', statement: '"a/b"', support: 6 },
  ]);
});
