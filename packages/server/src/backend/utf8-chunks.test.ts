import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Utf8Chunks } from './utf8-chunks.ts';

const cutAt = (bytes: Uint8Array, places: readonly number[]) => {
  const ends = [...new Set(places.map((place) => Math.floor(place * bytes.length)))].sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
};
const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

function decoded(chunks: readonly Uint8Array[]): string {
  const utf8 = new Utf8Chunks();
  return chunks.map((chunk) => utf8.next(chunk)).join('') + utf8.end();
}

it('[BACK-15] the decoded text is the same however its bytes are split', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), places, (text, at) => {
      const whole = text.toWellFormed();
      expect(decoded(cutAt(Buffer.from(whole), at))).toBe(whole);
    }),
    { numRuns: 2_000 },
  );
});

it('[BACK-15] invalid UTF-8 is refused however it is split, and valid UTF-8 never is', () => {
  const isText = (bytes: Uint8Array) => {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), places, (bytes, at) => {
      const decode = () => decoded(cutAt(bytes, at));
      if (isText(bytes)) decode();
      else expect(decode).toThrow(TypeError);
    }),
    { numRuns: 5_000 },
  );
  expect(() => decoded([Buffer.from('ab'), Buffer.from([0xe2, 0x82])])).toThrow(TypeError);
});
