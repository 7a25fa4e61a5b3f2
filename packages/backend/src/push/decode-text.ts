import { TidemarkError } from '../client/tidemark-error.ts';

/** Bytes or text from a file, a response, a process: whatever can be gone through piece by piece. */
export type ByteSource =
  | AsyncIterable<Uint8Array | string>
  | Iterable<Uint8Array | string>
  | ReadableStream<Uint8Array>;

/** The text of some bytes, piece by piece. */
export async function* decodeText(source: ByteSource): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const piece of source) {
      yield typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true });
    }
    yield decoder.decode();
  } catch (error) {
    if (error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
      throw new TidemarkError('invalid_input', 'the input is not UTF-8');
    }
    throw error;
  }
}
