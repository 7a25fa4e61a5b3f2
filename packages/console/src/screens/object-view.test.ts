import { expect, it } from 'vitest';
import { readAsked, readSorted, writeView } from './object-view.ts';

it('[CONSOLE-97] the address says filter and order of the table of objects', () => {
  const asked = {
    conditions: [
      { attribute: 'a.b', operator: 'gte', value: '7' },
      { attribute: '', operator: 'set', value: '' },
    ],
    searched: 'Kiel',
  } as const;
  const search = writeView(asked, { column: 'depth', direction: 'desc' });
  expect(search).toEqual({
    ...{ text: 'Kiel', filter: '[["a.b","gte","7"],["","set",""]]', sort: 'depth', order: 'desc' },
  });
  expect([readAsked(search), readSorted(search)]).toEqual([asked, { column: 'depth', direction: 'desc' }]);
  expect(writeView({ conditions: [], searched: '' }, null)).toEqual({ text: '', filter: '', sort: '', order: '' });
  expect([readAsked({}), readSorted({})]).toEqual([{ conditions: [], searched: '' }, null]);
});

it('[CONSOLE-97] what is wrong in the filter of an address is left out', () => {
  for (const filter of ['x', '{}', '[1]', '[["a"]]', '[["a","is",1]]', '[["a","toString","1"]]', '[null]']) {
    expect([filter, readAsked({ filter }).conditions]).toEqual([filter, []]);
  }
  expect(readSorted({ sort: 'a', order: 'up' })).toEqual({ column: 'a', direction: 'asc' });
});
