import { isUtf8 } from 'node:buffer';

const ASCII_END = 0x80;

/**
 * Decodes UTF-8 that arrives in chunks, also if they split characters. A chunk without split characters, as nearly
 * all are, is decoded directly: the streaming decoder takes ten times as long. Throws a TypeError for invalid UTF-8.
 */
export class Utf8Chunks {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** True if the decoder may hold the beginning of a character. */
  #isCut = false;

  next(chunk: Uint8Array): string {
    if (!this.#isCut && isUtf8(chunk)) {
      return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('utf8');
    }
    const text = this.#decoder.decode(chunk, { stream: true });
    // A chunk that ends with an ASCII byte splits no character.
    if (chunk.length > 0) this.#isCut = (chunk.at(-1) ?? 0) >= ASCII_END;
    return text;
  }

  /** Must be called after the last chunk. */
  end(): string {
    return this.#decoder.decode();
  }
}

/** Large pieces are allocated outside of the young generation, which would copy many small ones. */
const PIECE_BYTES = 262_144;

/** Decodes arriving bytes into pieces of text of about this size. */
export async function* textOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const utf8 = new Utf8Chunks();
  let gathered: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    gathered.push(chunk);
    bytes += chunk.length;
    if (bytes < PIECE_BYTES) continue;
    yield utf8.next(Buffer.concat(gathered));
    gathered = [];
    bytes = 0;
  }
  yield utf8.next(Buffer.concat(gathered)) + utf8.end();
}
