import { parseJson, Refusal } from '@tidemark/protocol';
import type { Exchange } from './backend-http.ts';
import { textOf, Utf8Chunks } from './utf8-chunks.ts';

/** An answer that is not a hash of hashes. */
export const SMALL_ANSWER_BYTES_MAX = 1_000_000;

/** The whole answer as text, as long as it is small. */
export async function readText({ chunks }: Exchange, bytesMax = SMALL_ANSWER_BYTES_MAX): Promise<string> {
  let text = '';
  let bytes = 0;
  const utf8 = new Utf8Chunks();
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw notUsable(`it is longer than ${bytesMax} bytes`);
      text += utf8.next(chunk);
    }
    return text + utf8.end();
  } catch (error) {
    throw decodingFault(error);
  }
}

/**
 * The answer as text that is still arriving. Whoever stops half-way lets go of the connection. `onEnd` is called once: with
 * null, or with what went wrong, and then answers what is thrown.
 */
export async function* textChunks(exchange: Exchange, onEnd: (error: unknown) => unknown): AsyncGenerator<string> {
  let failure: unknown = null;
  try {
    yield* textOf(exchange.chunks);
  } catch (error) {
    failure = onEnd(decodingFault(error));
    throw failure;
  } finally {
    exchange.letGo();
    if (failure === null) onEnd(null);
  }
}

/** A JSON object. No text at all stands for one without members. */
export function parseObject(text: string): Readonly<Record<string, unknown>> {
  if (text.trim() === '') return {};
  const value = parsed(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw notUsable('it is not a JSON object');
}

export function notUsable(why: string): Refusal {
  return new Refusal('backend_error', `the answer is not usable: ${why}`);
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // What the parser says may repeat parts of the answer.
    throw notUsable('it is not JSON');
  }
}

/** What is not UTF-8 shows as an error that names its encoding. */
function decodingFault(error: unknown): unknown {
  const isNotUtf8 = error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
  return isNotUtf8 ? notUsable('it is not UTF-8') : error;
}
