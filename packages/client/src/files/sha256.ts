const BLOCK_BYTES = 64;
const ROUNDS = 64;

const { constants: K, initial: INITIAL } = makeConstants();

/** Computes a SHA-256 of bytes that come in pieces. FIPS 180-4. */
export class Sha256 {
  readonly #state = INITIAL.slice();
  readonly #schedule = new Int32Array(ROUNDS);
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #filled = 0;
  #bytes = 0;

  update(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    let at = 0;
    if (this.#filled > 0) {
      at = Math.min(BLOCK_BYTES - this.#filled, bytes.length);
      this.#block.set(bytes.subarray(0, at), this.#filled);
      this.#filled += at;
      if (this.#filled < BLOCK_BYTES) return;
      this.#digest(new DataView(this.#block.buffer), 0);
      this.#filled = 0;
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (; at + BLOCK_BYTES <= bytes.length; at += BLOCK_BYTES) this.#digest(view, at);
    this.#block.set(bytes.subarray(at));
    this.#filled = bytes.length - at;
  }

  /** Ends the computation. Returns 64 lower-case hexadecimal digits. */
  hex(): string {
    const bytes = this.#bytes;
    const zeros = (2 * BLOCK_BYTES - 9 - this.#filled) % BLOCK_BYTES;
    const end = new Uint8Array(1 + zeros + 8);
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    // The length in bits, of which the upper half may exceed what a shift can do.
    view.setUint32(end.length - 8, Math.floor(bytes / 2 ** 29));
    view.setUint32(end.length - 4, (bytes << 3) >>> 0);
    this.update(end);
    return Array.from(this.#state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
  }

  #digest(view: DataView, at: number): void {
    const [w, k, state] = [this.#schedule, K, this.#state];
    for (let t = 0; t < 16; t++) w[t] = view.getInt32(at + 4 * t);
    for (let t = 16; t < ROUNDS; t++) {
      w[t] = (at32(w, t - 16) + sigma0(at32(w, t - 15)) + at32(w, t - 7) + sigma1(at32(w, t - 2))) | 0;
    }
    let [a, b, c, d] = [at32(state, 0), at32(state, 1), at32(state, 2), at32(state, 3)];
    let [e, f, g, h] = [at32(state, 4), at32(state, 5), at32(state, 6), at32(state, 7)];
    // One assignment each: a swap by arrays is twenty times as slow.
    for (let t = 0; t < ROUNDS; t++) {
      const one = (h + sum1(e) + ((e & f) ^ (~e & g)) + at32(k, t) + at32(w, t)) | 0;
      const two = (sum0(a) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    const words = [a, b, c, d, e, f, g, h];
    for (let n = 0; n < words.length; n++) state[n] = at32(state, n) + at32(words, n);
  }
}

/** An index that is in the array. */
function at32(words: ArrayLike<number>, index: number): number {
  return words[index] as number;
}

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

function sum0(word: number): number {
  return rotated(word, 2) ^ rotated(word, 13) ^ rotated(word, 22);
}

function sum1(word: number): number {
  return rotated(word, 6) ^ rotated(word, 11) ^ rotated(word, 25);
}

function sigma0(word: number): number {
  return rotated(word, 7) ^ rotated(word, 18) ^ (word >>> 3);
}

function sigma1(word: number): number {
  return rotated(word, 17) ^ rotated(word, 19) ^ (word >>> 10);
}

/** The constants are the first bits of the fractions of cube and square roots of the first primes. */
function makeConstants() {
  const primes: number[] = [];
  for (let n = 2; primes.length < ROUNDS; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  const fraction = (root: number) => Math.floor((root % 1) * 2 ** 32);
  return {
    constants: Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
    initial: Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
  };
}
