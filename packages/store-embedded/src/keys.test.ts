import { describe, expect, it } from 'vitest';
import {
  behind,
  journalKeyEncoder,
  type KeyPart,
  keyOf,
  lookUpKey,
  NUMBER_MAX,
  objectKeyEncoder,
  readNumber,
  textsOf,
  tupleEncoder,
  writeNumber,
} from './keys.ts';

const TEXTS = [
  '',
  'a',
  'ab',
  'b',
  'a:b',
  'a\u0000',
  'a\u0000b',
  '\u0000',
  '\u0000\u0000',
  '\u0001',
  'ä',
  '€',
  '😀',
  '\uffff',
  'constructor',
];

describe('keys', () => {
  it('[KEY-1] two different tuples never have the same key, whatever their texts contain', () => {
    const tuples: KeyPart[][] = [];
    for (const first of TEXTS) {
      tuples.push([first]);
      for (const second of TEXTS) {
        tuples.push([first, second]);
        for (const third of TEXTS) tuples.push([first, second, third]);
      }
    }
    const keys = new Set(tuples.map((tuple) => keyOf(...tuple).toString('hex')));
    expect(keys.size).toBe(tuples.length);
    for (const tuple of tuples) expect(textsOf(keyOf(...tuple))).toEqual(tuple);
  });

  it('[KEY-1] the look-up key of a tuple has the same bytes as its stored key, as text and as a buffer', () => {
    const long = 'x'.repeat(300);
    const tuples = TEXTS.flatMap((text) => [[text], ['user', text], [text, 'user', ''], [long, long, long, text]]);
    const target = Buffer.alloc(2_000, 0xee);
    for (const tuple of tuples) {
      const end = tupleEncoder.writeKey(lookUpKey(...tuple), target, 3);
      expect(target.subarray(3, end)).toEqual(keyOf(...tuple));
      const read = tupleEncoder.readKey(target, 3, end);
      // The library reads the next key into the same memory.
      target.fill(0xee);
      expect(read).toEqual(keyOf(...tuple));
    }
    expect(tuples.map((tuple) => typeof lookUpKey(...tuple))).toContain('string');
    expect(typeof lookUpKey(long, long, long, long)).toBe('object');
    expect(() => lookUpKey('half \ud800')).toThrow('well-formed');
  });

  it('[KEY-2] keys sort as their tuples do, component by component in UTF-8 order', () => {
    const order = (left: string, right: string) => Buffer.compare(Buffer.from(left), Buffer.from(right));
    for (const a of TEXTS) {
      for (const b of TEXTS) {
        expect(Math.sign(Buffer.compare(keyOf(a, 'x'), keyOf(b, 'x')))).toBe(Math.sign(order(a, b)));
        expect(Math.sign(Buffer.compare(keyOf(a, 'z'), keyOf(b, 'a')))).toBe(a === b ? 1 : Math.sign(order(a, b)));
      }
    }
  });

  it('[KEY-3] numbers sort and are read back exactly up to 2^48 − 1, and larger ones are refused', () => {
    const numbers = [0, 1, 255, 256, 65_535, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 7, NUMBER_MAX];
    const keys = numbers.map((number) => keyOf(number));
    expect(keys.map((key) => readNumber(key, 0))).toEqual(numbers);
    expect([...keys].sort(Buffer.compare)).toEqual(keys);
    for (const bad of [-1, 1.5, NUMBER_MAX + 1, Number.NaN]) {
      expect(() => writeNumber(Buffer.alloc(6), 0, bad)).toThrow(RangeError);
    }
    const bytes = Buffer.alloc(20);
    expect(journalKeyEncoder.writeKey([7, NUMBER_MAX], bytes, 3)).toBe(15);
    expect(journalKeyEncoder.readKey(bytes, 3)).toEqual([7, NUMBER_MAX]);
  });

  it('[KEY-1] object keys of different partitions and ids differ and are read back exactly', () => {
    const bytes = Buffer.alloc(600);
    const keys = new Set<string>();
    for (const partition of [0, 1, 256, NUMBER_MAX]) {
      for (const id of TEXTS) {
        const end = objectKeyEncoder.writeKey([partition, id], bytes, 4);
        expect(objectKeyEncoder.readKey(bytes, 4, end)).toEqual([partition, id]);
        keys.add(bytes.toString('hex', 4, end));
      }
    }
    expect(keys.size).toBe(4 * TEXTS.length);
    expect(() => objectKeyEncoder.writeKey([1, '\udc00'], bytes, 0)).toThrow();
  });

  it('[KEY-4] the end of a prefix lies behind everything that begins with it', () => {
    for (const text of TEXTS) {
      const end = behind(keyOf(text));
      if (end === undefined) throw new Error('a text key always has an end');
      expect(Buffer.compare(keyOf(text, '\uffff\uffff'), end)).toBe(-1);
    }
    expect(behind(Buffer.from([0xff, 0xff]))).toBeUndefined();
    expect(() => keyOf('\ud800')).toThrow();
  });
});
