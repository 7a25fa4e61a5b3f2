import { lintDocument } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { openApiText } from './openapi.ts';

it('[TYPES-26] the OpenAPI description of sources passes a strict linter, whatever the sources are called', async () => {
  const described = { version: 1, steps: [], references: {} };
  const text = openApiText([
    { ...described, name: 'Order', schema: { properties: { photo: { type: ['object', 'null'], format: 'file' } } } },
    { ...described, name: 'Ärger/7 {x}', schema: null },
  ]);
  // Whose data it is, and under which licence, only its owner knows.
  const licence = '#/info info-license: Info object should contain `license` field.';
  expect(await lintDocument(JSON.parse(text) as object)).toEqual([licence]);
});
