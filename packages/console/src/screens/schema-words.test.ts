import type { Step, ValueSchema } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import { attributeLines, stepWords, typeWords } from './schema-words.ts';

it.each<readonly [ValueSchema, string]>([
  [{}, 'anything'],
  [{ type: 'string', minLength: 1, maxLength: 40 }, 'text, 1 to 40 characters'],
  [{ type: 'string', format: 'date' }, 'date'],
  [{ type: ['integer', 'null'], minimum: 0 }, 'whole number or null, at least 0'],
  [{ type: 'number', maximum: 9 }, 'number, at most 9'],
  [{ enum: ['open', 2, null] }, 'one of "open", 2, null'],
  [{ const: true }, 'always true'],
  [{ type: 'object', format: 'file' }, 'file'],
  [{ type: 'string', reference: 'Customer' }, 'id of an object of Customer'],
  [{ type: 'array' }, 'list'],
  [{ type: 'array', items: { type: 'string' }, maxItems: 3 }, 'list of (text), at most 3 items'],
])('[CONSOLE-170] the type of the value schema %j is told as: %s', (schema, words) => {
  expect(typeWords(schema)).toBe(words);
});

it('[CONSOLE-170] attributes are listed with their members, and with those of the objects in lists', () => {
  const lines = attributeLines({
    properties: {
      address: { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] },
      lines: { type: 'array', items: { type: 'object', properties: { sku: { title: 'SKU', description: 'Of us' } } } },
      fax: { type: 'string', deprecated: true },
    },
    required: ['lines'],
  });
  const plain = { isRequired: false, isDeprecated: false, description: '' };
  expect(lines).toEqual([
    { ...plain, path: ['address'], type: 'object' },
    { ...plain, path: ['address', 'street'], type: 'text', isRequired: true },
    { ...plain, path: ['lines'], type: 'list of (object)', isRequired: true },
    { ...plain, path: ['lines', 'sku'], type: 'anything', description: 'SKU: Of us' },
    { ...plain, path: ['fax'], type: 'text', isDeprecated: true },
  ]);
});

it.each<readonly [Step, string]>([
  [{ step: 'rename', attribute: 'title', to: 'name' }, '“title” is renamed to “name”.'],
  [{ step: 'add', attribute: 'priority', value: 3 }, '“priority” is added with the value 3.'],
  [
    { step: 'remove', attribute: 'fax', shown_as: '', otherwise: 'drop' },
    '“fax” is removed. Older apps see "" where they cannot express the value. What older apps write and this version cannot express is left out.',
  ],
  [
    { step: 'map', attribute: 'state', values: [['open', 'todo']], otherwise: { value: 'todo' } },
    'In “state”, "open" becomes "todo". What older apps write and this version cannot express is written as "todo".',
  ],
  [{ step: 'convert', attribute: 'phone', to: 'list' }, '“phone” becomes a list with the value in it.'],
  [{ step: 'nest', into: 'address', members: { town: 'city' } }, '“town” becomes the member “city” of “address”.'],
  [
    { step: 'unnest', attribute: 'address', members: { city: 'town' } },
    'In “address”, “city” becomes the attribute “town”.',
  ],
  [
    { step: 'split', attribute: 'contact', into: ['first', 'last'], separator: ' ' },
    '“contact” is split at " " into “first”, “last”.',
  ],
  [
    { step: 'join', attributes: ['first', 'last'], into: 'contact', separator: ' ' },
    '“first”, “last” are joined with " " into “contact”.',
  ],
])('[CONSOLE-173] the step %j is told as: %s', (step, words) => {
  expect(stepWords(step)).toBe(words);
});
