/** With a million ids, one in 100,000 that was never added is taken for one that was; with five million one in 24. */
const BITS = 2 ** 25;
const HASHES = 6;
const FNV_PRIME = 0x01000193;
/** Any two numbers that make different hashes. */
const SEEDS = [0x811c9dc5, 0x9e3779b9] as const;

/** Remembers in a fixed amount of memory which ids were added (a Bloom filter). It may say so of others, and never forgets one. */
export class IdFilter {
  readonly #bits = new Uint8Array(BITS / 8);

  add(id: string): void {
    for (const bit of bitsOf(id)) this.#bits[bit >> 3] = (this.#bits[bit >> 3] ?? 0) | (1 << (bit & 7));
  }

  /** False: it was never added. */
  mayHave(id: string): boolean {
    return bitsOf(id).every((bit) => ((this.#bits[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0);
  }
}

function bitsOf(id: string): readonly number[] {
  const [first, second] = [hash(id, SEEDS[0]), (hash(id, SEEDS[1]) | 1) >>> 0];
  return Array.from({ length: HASHES }, (_, n) => (first + n * second) % BITS);
}

/** FNV-1a of the UTF-16 units, mixed once more so that similar ids are far apart. Not negative. */
function hash(id: string, seed: number): number {
  let sum = seed;
  for (let index = 0; index < id.length; index++) sum = Math.imul(sum ^ id.charCodeAt(index), FNV_PRIME);
  sum = Math.imul(sum ^ (sum >>> 15), 0x2c1b3c6d);
  return (sum ^ (sum >>> 13)) >>> 0;
}
