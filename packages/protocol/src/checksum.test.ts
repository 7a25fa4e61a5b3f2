import { describe, expect, it } from 'vitest';
import {
  addChecksums,
  attributesChecksum,
  objectChecksum,
  plainObjectChecksum,
  subtractChecksums,
  textChecksum,
} from './checksum.ts';
import { canonicalJson, type JsonValue } from './json/canonical-json.ts';

const MODULUS = 2 ** 52;

describe('checksum', () => {
  it('[SUM-1] does not depend on the order of attributes', () => {
    const forward = objectChecksum('1', [
      ['a', '1'],
      ['b', '"x"'],
    ]);
    const backward = objectChecksum('1', [
      ['b', '"x"'],
      ['a', '1'],
    ]);
    expect(forward).toBe(backward);
    expect(objectChecksum('1', [])).toBe(0);
  });

  it('[SUM-2] tells apart texts that join to the same', () => {
    const sums = [
      objectChecksum('ab', [['c', 'd']]),
      objectChecksum('a', [['bc', 'd']]),
      objectChecksum('a', [['b', 'cd']]),
      objectChecksum('', [['abcd', '']]),
    ];
    expect(new Set(sums).size).toBe(sums.length);
  });

  it('[SUM-3] stays a safe whole number below 2^52 and can be taken back', () => {
    let total = 0;
    const sums = Array.from({ length: 10_000 }, (_, index) => objectChecksum(`id-${index}`, [['n', String(index)]]));
    for (const sum of sums) {
      expect(Number.isSafeInteger(sum) && sum >= 0 && sum < MODULUS).toBe(true);
      total = addChecksums(total, sum);
    }
    expect(new Set(sums).size).toBe(sums.length);
    for (const sum of sums.reverse()) total = subtractChecksums(total, sum);
    expect(total).toBe(0);
  });

  it('[SUM-4] is what other implementations must compute', () => {
    // Test vectors for device libraries in other languages; they change only with the protocol version.
    expect(objectChecksum('1', [['name', '"Ada"']])).toBe(VECTORS.ada);
    expect(objectChecksum('Übung 😀', [['größe', '{"a":[1,null],"b":"ß"}']])).toBe(VECTORS.unicode);
    expect(textChecksum('tidemark')).toBe(VECTORS.text);
  });

  it('[SUM-6] is the same whether computed from attributes or from the plain text of the object', () => {
    const values = ['1', '-0.5', '"x"', '""', 'null', '[]', '{}', '[1,"a,b}",{"c":["]"]}]', '{"k":{"l":"{"}}', '"a:b"'];
    for (let seed = 0; seed < 2_000; seed++) {
      const attributes = Array.from({ length: seed % 7 }, (_, index): [string, string] => [
        `n${'x'.repeat((seed + index) % 5)}${index}`,
        values[(seed * 7 + index * 3) % values.length] ?? '',
      ]);
      const text = `{${attributes.map(([name, value]) => `"${name}":${value}`).join(',')}}`;
      expect(plainObjectChecksum(`id-${seed}`, text)).toBe(objectChecksum(`id-${seed}`, attributes));
    }
  });

  it('[SUM-6] the checksum of parsed attributes is that of their canonical texts', () => {
    const values: readonly JsonValue[] = [
      ...[0, -0, 1.5, 1e21, -1e-9, true, false, null, '', 'a', 'ab', 'abc', 'q"\\\n\u0000', 'ß😀', '\ud800', '\udc00x'],
      ...[[], [1, 'a', [null]], {}, { b: 1, a: [true, { z: 'é', '10': 1, '9': 2 }] }, [{ '\n': '"' }]],
    ];
    for (let seed = 0; seed < 2_000; seed++) {
      const attributes = Object.fromEntries(
        Array.from({ length: seed % 5 }, (_, index) => [
          `n${'"é'.repeat((seed + index) % 3)}${index}`,
          values[(seed * 7 + index * 5) % values.length] ?? null,
        ]),
      );
      const texts = Object.entries(attributes).map(([name, value]) => [name, canonicalJson(value)] as const);
      expect(attributesChecksum(`id-${seed}`, attributes)).toBe(objectChecksum(`id-${seed}`, texts));
    }
  });

  it('[SUM-6] leaves a text that is not plain to the general way', () => {
    for (const text of [
      '{"a":"é"}',
      '{"a":"\\""}',
      '{"a\\n":1}',
      '{"a":["\\u0000"]}',
      `{"a":"${'x'.repeat(20_000)}"}`,
    ]) {
      expect(plainObjectChecksum('1', text)).toBeNull();
    }
    expect(plainObjectChecksum('é😀', '{"a":1}')).toBe(objectChecksum('é😀', [['a', '1']]));
  });

  it('[SUM-5] spreads single-character differences over all bits', () => {
    const bits = new Array<number>(52).fill(0);
    const rounds = 4_000;
    for (let round = 0; round < rounds; round++) {
      const left = textChecksum(`value ${round}`);
      const right = textChecksum(`value ${round}!`);
      const difference = BigInt(left) ^ BigInt(right);
      for (let bit = 0; bit < 52; bit++) bits[bit] = (bits[bit] ?? 0) + Number((difference >> BigInt(bit)) & 1n);
    }
    for (const flips of bits) expect(Math.abs(flips / rounds - 0.5)).toBeLessThan(0.06);
  });
});

// Computed by an implementation in another language.
const VECTORS = { ada: 4_398_452_902_648_675, unicode: 1_311_068_285_653_774, text: 2_586_526_274_973_960 };
