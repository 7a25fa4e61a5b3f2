import { expect, it } from 'vitest';
import { filterOf, ID_FIELD, type ObjectCondition, pathOf } from './object-conditions.ts';

it('[CONSOLE-61] the lines of the filter bar become one filter, in which a typed number is a number or a text', () => {
  const line = (attribute: string, operator: ObjectCondition['operator'], value = ''): ObjectCondition => ({
    ...{ attribute, operator, value },
  });
  expect(filterOf([], '')).toBeUndefined();
  expect(filterOf([line('', 'is', 'x')], '')).toBeUndefined();
  const lines = [
    line('price', 'gte', '10'),
    line('day', 'lt', '2030-01-31'),
    line('code', 'is', '7'),
    line('code', 'is_not', '8'),
    line('name', 'contains', '7'),
    line('note', 'not_set'),
    line(ID_FIELD, 'is', '17'),
    line(ID_FIELD, 'prefix', 'o'),
  ];
  expect(filterOf(lines, 'ada')).toEqual([
    { price: { gte: 10 } },
    { day: { lt: '2030-01-31' } },
    { code: { in: [7, '7'] } },
    { code: { ne: 8 } },
    { code: { ne: '8' } },
    { name: { contains: '7' } },
    { note: { exists: false } },
    { '@id': { in: ['17'] } },
    { '@id': { prefix: 'o' } },
    { '*': { contains: 'ada' } },
  ]);
  expect(['a.b', '@id', 'or', 'order', 'a\\b', '*', '*note', 'plain'].map(pathOf)).toEqual([
    ...['a\\.b', '\\@id', '\\or', 'order', 'a\\\\b', '\\*', '\\*note', 'plain'],
  ]);
});
