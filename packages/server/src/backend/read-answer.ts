import { Refusal } from '@tidemark/protocol';
import type { Exchange } from './backend-http.ts';

/** An answer that is not a hash of hashes. */
export const SMALL_ANSWER_BYTES_MAX = 1_000_000;

/** The whole answer as text, as long as it is small. */
export async function readText({ chunks }: Exchange, bytesMax = SMALL_ANSWER_BYTES_MAX): Promise<string> {
  let text = '';
  let bytes = 0;
  const decoder = utf8();
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw notUsable(`it is longer than ${bytesMax} bytes`);
    text += decoded(decoder, chunk);
  }
  return text + decoded(decoder);
}

/** The answer as text that is still arriving. Whoever stops half-way lets go of the connection. */
export async function* textChunks(exchange: Exchange, onEnd: (error: unknown) => void): AsyncGenerator<string> {
  const decoder = utf8();
  let failure: unknown = null;
  try {
    for await (const chunk of exchange.chunks) yield decoded(decoder, chunk);
    yield decoded(decoder);
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    exchange.letGo();
    onEnd(failure);
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
    return JSON.parse(text);
  } catch {
    // What the parser says may repeat parts of the answer.
    throw notUsable('it is not JSON');
  }
}

function utf8(): InstanceType<typeof TextDecoder> {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
}

function decoded(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw notUsable('it is not UTF-8');
  }
}
