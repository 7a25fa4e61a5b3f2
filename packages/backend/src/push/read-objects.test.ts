import { describe, expect, it } from 'vitest';
import { TidemarkError } from '../transport/tidemark-error.ts';
import { idsFromJson, objectsFromJson, objectsFromNdjson } from './read-objects.ts';

async function listed<T>(given: AsyncIterable<T>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const item of given) items.push(item);
  return items;
}

/** Cuts the bytes of the text into two at every position, also inside characters. */
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

describe('objectsFromJson and idsFromJson', () => {
  it('[BSDK-9] objects and ids are read the same, wherever the chunks are cut', async () => {
    for (const pieces of [...cuts(json), singly(json)]) expect(await listed(objectsFromJson(pieces))).toEqual(objects);
    const ids = ['7', 'a,b', ']', '"'];
    for (const pieces of cuts(JSON.stringify(ids))) expect(await listed(idsFromJson(pieces))).toEqual(ids);
  });

  it('[BSDK-9] an empty object or list is read as no objects and no ids', async () => {
    expect(await listed(objectsFromJson(['{ }']))).toEqual([]);
    expect(await listed(idsFromJson(['[', ']']))).toEqual([]);
  });

  it.each([
    ['', 'the input ends before the JSON does'],
    ['[]', 'the input must begin with {'],
    ['{"1":{}', 'the input ends before the JSON does'],
    ['{"1":{},', 'the input ends before the JSON does'],
    ['{"1":{},}', 'object 2 is not JSON'],
    ['{,"1":{}}', 'object 1 is not JSON'],
    ['{"1":{}}x', 'something follows the end of the JSON'],
    ['{"1":{a}}', 'object 1 is not JSON'],
    ['{"1":{},"2"}', 'object 2 is not JSON'],
    ['{"1":{},"2":3}', 'object 2 has no attributes'],
    ['{"1":[]}', 'object 1 has no attributes'],
    ['{"1":{"a":1}}}', 'something follows the end of the JSON'],
  ])('[BSDK-9] the input %j is refused: %s', async (text, message) => {
    await expect(listed(objectsFromJson([text]))).rejects.toThrow(new TidemarkError('invalid_input', message));
  });

  it('[BSDK-9] text that is not UTF-8 is refused, and an error of the source is passed on', async () => {
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

describe('objectsFromNdjson', () => {
  it('[BSDK-9] both forms of lines are read the same, wherever the chunks are cut', async () => {
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
  ])('[BSDK-9] the input %j is refused: %s', async (text, message) => {
    await expect(listed(objectsFromNdjson([text]))).rejects.toThrow(new TidemarkError('invalid_input', message));
  });

  it('[BSDK-8] a line or an object without an end is refused when it is too long', async () => {
    let given = 0;
    function* endless(beginning: string) {
      yield beginning;
      for (; ; given += 1_000_000) yield ' '.repeat(1_000_000);
    }
    await expect(listed(objectsFromNdjson(endless('')))).rejects.toThrow('a line is too long');
    await expect(listed(objectsFromJson(endless('{')))).rejects.toThrow('object 1 is too large');
    expect(given).toBeLessThan(25_000_000);
  });
});
