import { isUtf8 } from 'node:buffer';

const ASCII_END = 0x80;

/**
 * Text from bytes that come in chunks, however these cut characters in two. A chunk that is whole in itself, as nearly all
 * are, is taken at once: the decoder for pieces takes ten times as long. Throws a TypeError at what is not UTF-8.
 */
export class Utf8Chunks {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** The decoder may hold the beginning of a character. */
  #isCut = false;

  next(chunk: Uint8Array): string {
    if (!this.#isCut && isUtf8(chunk)) {
      return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('utf8');
    }
    const text = this.#decoder.decode(chunk, { stream: true });
    // What ends with a plain letter has no character half-way.
    if (chunk.length > 0) this.#isCut = (chunk.at(-1) ?? 0) >= ASCII_END;
    return text;
  }

  /** To be called when nothing more comes. */
  end(): string {
    return this.#decoder.decode();
  }
}

/** Long texts are not moved about in memory while they are young; short ones, of which there would be many, are. */
const GATHERED_BYTES = 262_144;

/** The text of bytes that arrive, in pieces of some size. */
export async function* textOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const utf8 = new Utf8Chunks();
  let gathered: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    gathered.push(chunk);
    bytes += chunk.length;
    if (bytes < GATHERED_BYTES) continue;
    yield utf8.next(Buffer.concat(gathered));
    gathered = [];
    bytes = 0;
  }
  yield utf8.next(Buffer.concat(gathered)) + utf8.end();
}
