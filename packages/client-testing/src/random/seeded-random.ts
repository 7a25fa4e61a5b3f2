import type { Random } from '@tidemark/core';

/** Returns random bytes that are the same for the same seed (splitmix32). Never use it for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  function nextByte(): number {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) & 0xff;
  }
  return { bytes: (count) => Uint8Array.from({ length: count }, nextByte) };
}
