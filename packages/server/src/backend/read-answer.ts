import { parseJson, Refusal } from '@tidemark/protocol';
import type { Exchange } from './backend-http.ts';
import { textOf, Utf8Chunks } from './utf8-chunks.ts';

/** The bound for answers that are not objects of a query or search. */
export const SMALL_ANSWER_BYTES_MAX = 1_000_000;

/** Returns the whole answer as text, up to a bound. */
export async function readText({ chunks }: Exchange, bytesMax = SMALL_ANSWER_BYTES_MAX): Promise<string> {
  let text = '';
  let bytes = 0;
  const utf8 = new Utf8Chunks();
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw unusableAnswer(`it is longer than ${bytesMax} bytes`);
      text += utf8.next(chunk);
    }
    return text + utf8.end();
  } catch (error) {
    throw decodingError(error);
  }
}

/** Returns the beginning of an answer as text; '' if it is not UTF-8. The rest is not read. */
export async function readBeginning({ chunks }: Exchange, bytesMax: number): Promise<string> {
  let text = '';
  let bytes = 0;
  const utf8 = new Utf8Chunks();
  try {
    for await (const chunk of chunks) {
      text += utf8.next(chunk);
      bytes += chunk.length;
      if (bytes > bytesMax) break;
    }
  } catch {
    // An answer that breaks off says what had arrived before.
  }
  return text;
}

/**
 * Returns the answer as text while it arrives. A reader that stops early releases the connection. `onEnd` is called
 * once, with null or the error; it returns the error to throw.
 */
export async function* textChunks(exchange: Exchange, onEnd: (error: unknown) => unknown): AsyncGenerator<string> {
  let failure: unknown = null;
  try {
    yield* textOf(exchange.chunks);
  } catch (error) {
    failure = onEnd(decodingError(error));
    throw failure;
  } finally {
    exchange.release();
    if (failure === null) onEnd(null);
  }
}

/** Parses a JSON object. An empty text stands for an object without members. */
export function parseObject(text: string): Readonly<Record<string, unknown>> {
  if (text.trim() === '') return {};
  const value = parsed(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw unusableAnswer('it is not a JSON object');
}

export function unusableAnswer(why: string): Refusal {
  return new Refusal('backend_error', `the answer is not usable: ${why}`);
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // The message of the parser may repeat parts of the answer.
    throw unusableAnswer('it is not JSON');
  }
}

/** Maps the error for invalid UTF-8, which names the encoding in its code. */
function decodingError(error: unknown): unknown {
  const isNotUtf8 = error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
  return isNotUtf8 ? unusableAnswer('it is not UTF-8') : error;
}
