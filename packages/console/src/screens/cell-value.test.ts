import { expect, it } from 'vitest';
import { isEditedInPlace, kindOf, parseCell, shownText } from './cell-value.ts';

it('[CONSOLE-62] a cell knows the kind of its value, and what is typed keeps that kind', () => {
  const values = [undefined, null, 7, true, '2030-01-31', '2030-01-31T12:00:00Z', '2030-99-99', 'text', [1], { a: 1 }];
  expect(values.map(kindOf)).toEqual([
    ...['missing', 'null', 'number', 'boolean', 'date', 'date', 'text', 'text', 'json', 'json'],
  ]);
  expect([undefined, 7, '2030-01-31', { a: 1 }].map(shownText)).toEqual(['', '7', '2030-01-31', '{"a":1}']);
  expect(shownText('2030-01-31T12:00:00Z')).toBe(
    new Date('2030-01-31T12:00:00Z').toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'short' }),
  );
  expect([7, 'x'.repeat(200), 'x'.repeat(201), 'a\nb', null, undefined, [1]].map(isEditedInPlace)).toEqual([
    ...[true, true, false, false, true, true, false],
  ]);
  expect(parseCell('old', '7')).toEqual({ value: '7' });
  expect(parseCell(4, '7.5')).toEqual({ value: 7.5 });
  expect(parseCell(4, 'seven')).toEqual({ problem: 'It must be a number.' });
  expect(parseCell(true, 'false')).toEqual({ value: false });
  expect(parseCell(true, 'no')).toEqual({ problem: 'It must be true or false.' });
  expect(parseCell(undefined, '')).toEqual({ value: undefined });
  expect(['7', 'true', 'null', 'text', '{"a":1}', ''].map((text) => parseCell(null, text))).toEqual([
    ...[{ value: 7 }, { value: true }, { value: null }, { value: 'text' }, { value: '{"a":1}' }, { value: '' }],
  ]);
});
