import { expect, it } from 'vitest';
import { columnsIn, objectsIn } from './parse-import.ts';
import { writeJson } from './write-export.ts';

const ALL = { id: '', left: [] };

it('[CONSOLE-15] a CSV becomes objects by the chosen columns, and only plain numbers become numbers', () => {
  const text = 'name;no;code\r\n"Pump; large";7;007\r\nValve;8,5;\r\n\r\n"say ""hi""";;true\r\n';
  expect(columnsIn(text)).toEqual(['name', 'no', 'code']);
  expect([...objectsIn(text, ALL).objects]).toEqual([
    ['Pump; large', { no: 7, code: '007' }],
    ['Valve', { no: '8,5' }],
    ['say "hi"', { code: true }],
  ]);
  expect([...objectsIn('a,b\n1,__proto__\n', { id: 'b', left: ['a'] }).objects]).toEqual([['__proto__', {}]]);
});

it('[CONSOLE-15] JSON is read as objects by id or as a list, and what is wrong is told with its place', () => {
  expect([...objectsIn('{"1":{"a":1}}', ALL).objects]).toEqual([['1', { a: 1 }]]);
  expect([...objectsIn('[{"id":1,"a":2}]', ALL).objects]).toEqual([['1', { a: 2 }]]);
  expect(columnsIn('[{"id":1}]')).toBe(null);
  expect(objectsIn('{"1":7}', ALL).problem).toBe('Object "1": an object of attributes is expected.');
  expect(objectsIn('[{}]', ALL).problem).toBe('Item 1 of the list has no “id”.');
  expect(objectsIn('a,b\n,2', ALL).problem).toBe('Line 2 has no id.');
  expect(objectsIn('a\n1,2', ALL).problem).toBe('Line 2 has more cells than there are columns.');
  expect(objectsIn('a\n"1', ALL).problem).toBe('A quotation mark is not closed.');
});

it('[CONSOLE-15] objects that were exported are imported as they were', async () => {
  const objects = [
    ['017', { price: 1.5, code: '007', isNew: true, note: null, tags: ['a', { b: 2 }] }],
    ['constructor', { 'a "b"\n': '\u202e<img>' }],
    ['empty', {}],
  ] as const;
  const exported = async function* () {
    yield* objects;
  };
  expect([...objectsIn((await writeJson(exported())).join(''), ALL).objects]).toEqual(objects);
  expect((await writeJson((async function* () {})())).join('')).toBe('{}\n');
});
