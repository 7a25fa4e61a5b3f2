import type { ObjectFilter } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import { addCondition } from './object-condition.ts';

it('[LIST-10] conditions of the command line become a filter, with values as JSON where they are JSON', () => {
  const filterOf = (...texts: readonly string[]) =>
    texts.reduce<readonly ObjectFilter[]>((filters, text) => addCondition(text, filters), []);
  expect(filterOf('total>=10', 'total<20', 'status=open', 'code="7"')).toEqual([
    { total: { gte: 10 } },
    { total: { lt: 20 } },
    { status: { eq: 'open' } },
    { code: { eq: '7' } },
  ]);
  expect(filterOf('name~7', 'city^=Ber', 'note', '!gone', 'a!=null', 'b<=x', '@id>o5')).toEqual([
    { name: { contains: '7' } },
    { city: { prefix: 'Ber' } },
    { note: { exists: true } },
    { gone: { exists: false } },
    { a: { ne: null } },
    { b: { lte: 'x' } },
    { '@id': { gt: 'o5' } },
  ]);
  expect(filterOf('total >= 10', ' name ~ a b ')).toEqual([{ total: { gte: 10 } }, { name: { contains: 'a b' } }]);
  for (const text of ['', '!']) expect(() => addCondition(text)).toThrow('It must be a condition such as');
});
