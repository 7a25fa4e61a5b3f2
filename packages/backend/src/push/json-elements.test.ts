import { describe, expect, it } from 'vitest';
import { TidemarkError } from '../client/tidemark-error.ts';
import { idsFromJson, objectsFromJson } from './objects-from-json.ts';
import { objectsFromNdjson } from './objects-from-ndjson.ts';

async function listed<T>(given: AsyncIterable<T>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const item of given) items.push(item);
  return items;
}

/** Cut into two at every place, in bytes: also inside characters. */
function cuts(text: string): readonly (readonly Uint8Array[])[] {
  const bytes = new TextEncoder().encode(text);
  return Array.from({ length: bytes.length + 1 }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)]);
}

function singly(text: string): readonly Uint8Array[] {
  return Array.from(new TextEncoder().encode(text), (byte) => Uint8Array.of(byte));
}

const objects = [
  ['1', { name: 'Compass "x" \\', tags: ['a,b', { c: '}' }], price: 12.5 }],
  ['ä😀', {}],
  ['__proto__', { constructor: null }],
  ['[{,', { text: 'line\nline' }],
] as const;
const json = ` {\n ${objects.map(([id, value]) => `${JSON.stringify(id)} : ${JSON.stringify(value, null, 1)}`).join(' ,\n')}} \n`;

describe('one large JSON', () => {
  it('[BSDK-9] reads the same wherever the pieces are cut', async () => {
    for (const pieces of [...cuts(json), singly(json)]) expect(await listed(objectsFromJson(pieces))).toEqual(objects);
    const ids = ['7', 'a,b', ']', '"'];
    for (const pieces of cuts(JSON.stringify(ids))) expect(await listed(idsFromJson(pieces))).toEqual(ids);
  });

  it('[BSDK-9] nothing in it is no fault', async () => {
    expect(await listed(objectsFromJson(['{ }']))).toEqual([]);
    expect(await listed(idsFromJson(['[', ']']))).toEqual([]);
  });

  it.each([
    ['', 'the input ends before the JSON does'],
    ['[]', 'the input must begin with {'],
    ['{"1":{}', 'the input ends before the JSON does'],
    ['{"1":{},', 'the input ends before the JSON does'],
    ['{"1":{},}', 'a comma stands where element 2 should be'],
    ['{,"1":{}}', 'a comma stands where element 1 should be'],
    ['{"1":{}}x', 'something stands after the closing }'],
    ['{"1":{a}}', 'object 1 is not JSON'],
    ['{"1":{},"2"}', 'object 2 is not JSON'],
    ['{"1":{},"2":3}', 'object 2 has no attributes'],
    ['{"1":[]}', 'object 1 has no attributes'],
    ['{"1":{"a":1}}}', 'something stands after the closing }'],
  ])('[BSDK-9] %j: %s', async (text, message) => {
    await expect(listed(objectsFromJson([text]))).rejects.toThrow(new TidemarkError('invalid_input', message));
  });

  it('[BSDK-9] text that is not UTF-8 is refused, and what a source fails with is passed on', async () => {
    await expect(listed(objectsFromJson([Uint8Array.of(0x7b, 0xff)]))).rejects.toMatchObject({
      code: 'invalid_input',
      message: 'the input is not UTF-8',
    });
    async function* failing() {
      yield '{';
      throw new Error('the disk is gone');
    }
    await expect(listed(objectsFromJson(failing()))).rejects.toThrow('the disk is gone');
  });
});

describe('lines of JSON', () => {
  it('[BSDK-9] reads both forms of lines the same wherever the pieces are cut', async () => {
    const text = '{"id":"1","attributes":{"a":"ä"}}\r\n\n["2",{"b":[]}]';
    const expected = [
      ['1', { a: 'ä' }],
      ['2', { b: [] }],
    ];
    for (const pieces of [...cuts(text), singly(`${text}\n`)]) {
      expect(await listed(objectsFromNdjson(pieces))).toEqual(expected);
    }
  });

  it.each([
    ['["1",{}]\n{"id":', 'line 2 is not JSON'],
    ['{"attributes":{}}', 'line 1 has no id'],
    ['{"id":1,"attributes":{}}', 'line 1 has no id'],
    ['{"id":"1"}', 'line 1 has no attributes'],
    ['3', 'line 1 has no id'],
  ])('[BSDK-9] %j: %s', async (text, message) => {
    await expect(listed(objectsFromNdjson([text]))).rejects.toThrow(new TidemarkError('invalid_input', message));
  });

  it('[BSDK-8] one that does not end is not gathered without end', async () => {
    let given = 0;
    function* endless(beginning: string) {
      yield beginning;
      for (; ; given += 1_000_000) yield ' '.repeat(1_000_000);
    }
    await expect(listed(objectsFromNdjson(endless('')))).rejects.toThrow('a line is too long');
    await expect(listed(objectsFromJson(endless('{')))).rejects.toThrow('element 1 is too large');
    expect(given).toBeLessThan(25_000_000);
  });
});
