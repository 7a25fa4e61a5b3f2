import { nextTask } from '../engine/next-task.ts';
import { HASH_STEP_BYTES, HASHED_AT_ONCE_BYTES_MAX } from '../limits.ts';
import { nodeHash } from '../platform/node-hash.ts';
import type { Platform, Sha256Hash } from '../ports/platform.ts';
import { Sha256 } from './sha256.ts';

/**
 * The SHA-256 of a file, without keeping the thread from the app: the platform computes it if it can do so in pieces, WebCrypto does
 * so at once for small files, beside the thread, and larger ones are hashed here in steps.
 */
export class FileHash {
  readonly #platform: Platform;
  readonly #own: Sha256Hash | null;
  #stepwise: Sha256 | null = null;
  #waiting: Uint8Array<ArrayBuffer>[] = [];
  #waitingBytes = 0;

  constructor(platform: Platform) {
    this.#platform = platform;
    this.#own = platform.sha256?.() ?? nodeHash();
    if (webCrypto() === undefined) this.#stepwise = new Sha256();
  }

  async update(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#own !== null) {
      this.#own.update(bytes);
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > HASHED_AT_ONCE_BYTES_MAX) this.#stepwise ??= new Sha256();
    if (this.#stepwise === null) return;
    const ready = this.#waiting;
    this.#waiting = [];
    for (const piece of ready) await this.#step(this.#stepwise, piece);
  }

  /** Ends the computation. Returns 64 lower-case hexadecimal digits. */
  async hex(): Promise<string> {
    if (this.#own !== null) return this.#own.hex();
    if (this.#stepwise !== null) return this.#stepwise.hex();
    const digest = await webCrypto()?.digest('SHA-256', joined(this.#waiting, this.#waitingBytes));
    return Array.from(new Uint8Array(digest ?? []), (byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  async #step(hash: Sha256, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += HASH_STEP_BYTES) {
      hash.update(bytes.subarray(at, at + HASH_STEP_BYTES));
      await nextTask(this.#platform);
    }
  }
}

/** Only secure pages have it, and React Native has not. */
function webCrypto() {
  return globalThis.crypto?.subtle as typeof globalThis.crypto.subtle | undefined;
}

/** Copies the pieces, if there are several. A `Blob` would send them to another process and back. */
function joined(pieces: readonly Uint8Array<ArrayBuffer>[], bytes: number): Uint8Array<ArrayBuffer> {
  const [first] = pieces;
  if (first?.length === bytes) return first;
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
