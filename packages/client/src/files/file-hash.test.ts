import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { HASH_STEP_BYTES, HASHED_AT_ONCE_BYTES_MAX } from '../limits.ts';
import { defaultPlatform } from '../platform/default-platform.ts';
import { FileHash } from './file-hash.ts';
import { Sha256 } from './sha256.ts';

const expected = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

it('[FILES-91] the SHA-256 of the SDK is that of Node.js, whatever the pieces', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 10 }), (pieces) => {
      const hash = new Sha256();
      for (const piece of pieces) hash.update(piece);
      expect(hash.hex()).toBe(expected(Buffer.concat(pieces)));
    }),
    { seed: 1, numRuns: 200 },
  );
});

it('[FILES-91] every length around the ends of blocks has the right SHA-256', () => {
  for (let length = 0; length <= 200; length++) {
    const hash = new Sha256();
    hash.update(new Uint8Array(length).fill(length));
    expect(hash.hex()).toBe(expected(new Uint8Array(length).fill(length)));
  }
});

/** A platform that is not Node.js: it counts how often the thread was free. */
function page() {
  let turns = 0;
  const platform = {
    ...defaultPlatform(),
    after: (_ms: number, callback: () => void) => {
      turns++;
      queueMicrotask(callback);
      return () => undefined;
    },
  };
  return { platform, turns: () => turns };
}

async function hashOf(bytes: Uint8Array<ArrayBuffer>, platform = page().platform): Promise<string> {
  const { process } = globalThis;
  // Without the hash of Node.js, as in a page.
  Object.assign(globalThis, { process: undefined });
  const hash = new FileHash(platform);
  Object.assign(globalThis, { process });
  for (let at = 0; at < bytes.length; at += 1_000_000) await hash.update(bytes.slice(at, at + 1_000_000));
  return hash.hex();
}

it('[FILES-91] a page hashes a photo beside its thread, and a film in steps between which the thread is free', async () => {
  const photo = new Uint8Array(3_000_000).fill(7);
  const small = page();
  expect(await hashOf(photo, small.platform)).toBe(expected(photo));
  expect(small.turns()).toBe(0);
  const film = new Uint8Array(HASHED_AT_ONCE_BYTES_MAX + 1).fill(9);
  const large = page();
  expect(await hashOf(film, large.platform)).toBe(expected(film));
  expect(large.turns()).toBeGreaterThanOrEqual(film.length / HASH_STEP_BYTES);
});

it('[FILES-91] a platform may bring its own SHA-256', async () => {
  const given: number[] = [];
  const sha256 = () => ({ update: ({ length }: Uint8Array) => void given.push(length), hex: () => 'own' });
  expect([await hashOf(new Uint8Array(5), { ...page().platform, sha256 } as never), given]).toEqual(['own', [5]]);
});
