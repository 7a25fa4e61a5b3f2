import { expect, it } from 'vitest';
import { columnsIn, objectsIn } from './parse-import.ts';
import { writeCsv, writeJson } from './write-export.ts';

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

async function* exported(objects: readonly (readonly [string, object])[]) {
  yield* objects;
}

it('[CONSOLE-15] objects that were exported are imported as they were', async () => {
  const objects = [
    ['017', { price: 1.5, code: '007', isNew: true, note: null, tags: ['a', { b: 2 }] }],
    ['constructor', { 'a "b"\n': '\u202e<img>' }],
    ['empty', {}],
  ] as const;
  expect([...objectsIn(await (await writeJson(exported(objects))).text(), ALL).objects]).toEqual(objects);
  expect(await (await writeJson(exported([]))).text()).toBe('{}\n');
});

it('[CONSOLE-41] a CSV has a column for each attribute of any object, and quotes as RFC 4180 says', async () => {
  const csv = await writeCsv(
    exported([
      ['1', { name: 'Pump, "large"', price: -1.5, parts: ['a', { b: 1 }] }],
      ['2', { note: 'two\r\nlines', isNew: true, name: ' x ' }],
      ['3', { note: null }],
    ]),
  );
  expect(await csv.text()).toBe(
    [
      'id,name,price,parts,note,isNew',
      '1,"Pump, ""large""",-1.5,"[""a"",{""b"":1}]",,',
      '2," x ",,,"two\r\nlines",true',
      '3,,,,,',
      '',
    ].join('\r\n'),
  );
});

it('[CONSOLE-41] a text that a spreadsheet would run is marked in a CSV, and is the same text after an import', async () => {
  const objects = [
    ['=1+1', { '@a': '=cmd()', b: '+49 30', c: '-5', d: '\tx', e: "'=x", f: "it's", g: -5 }],
    ['2', { b: '@SUM(A1)', c: "''@", d: '\r\n=x' }],
    ['3', { b: '＝1+1', c: '＋1', d: '－1', e: '＠SUM(A1)' }],
  ] as const;
  const csv = await (await writeCsv(exported(objects))).text();
  expect(csv.split('\r\n').slice(0, 2)).toEqual(["id,'@a,b,c,d,e,f,g", "'=1+1,'=cmd(),'+49 30,'-5,'\tx,''=x,it's,-5"]);
  expect(csv.split('\r\n').at(-2)).toBe("3,,'＝1+1,'＋1,'－1,'＠SUM(A1),,");
  expect([...objectsIn(csv, ALL).objects]).toEqual(objects);
});

it('[CONSOLE-41] objects with more attributes than a CSV has columns are refused in words', async () => {
  const names = Array.from({ length: 1_001 }, (_, index) => [`a${index}`, 1] as const);
  const objects = (count: number) => exported([['1', Object.fromEntries(names.slice(0, count))]]);
  expect((await (await writeCsv(objects(1_000))).text()).split(',')).toHaveLength(2_001);
  await expect(writeCsv(objects(1_001))).rejects.toThrow('more than 1,000 different attributes');
});

it('[CONSOLE-15] a CSV that is wrong or names a column twice is told in words, and never breaks the screen', () => {
  expect(columnsIn('"a')).toBe(null);
  expect(columnsIn('"a\nb",c,c,\n1,2,3,')).toEqual(['a\nb', 'c']);
});
