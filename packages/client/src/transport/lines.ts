import { clientError } from '../client-error.ts';
import { LINE_BYTES_MAX } from '../limits.ts';

const NEWLINE = 0x0a;

/** A response whose platform hands over its text as it arrives, and not its bytes. */
export interface TextResponse extends Response {
  readonly texts?: AsyncIterable<string>;
}

/**
 * Yields the complete lines of a response as they arrive. A last line without a line end is incomplete, because the stream
 * broke off in it, and is not yielded. `onBytes` is called whenever bytes arrive. Nothing is yielded after `signal` is
 * aborted: some platforms forget the signal that `fetch` was given once the response headers are there.
 *
 * Only new bytes are searched for line ends. A line of 2 MB arrives in dozens of chunks, and joining all of them for every
 * chunk would make its cost quadratic. A line is decoded as a whole, which Node.js does far faster than chunk by chunk.
 */
export async function* linesOf(response: Response, onBytes: () => void, signal: AbortSignal): AsyncGenerator<string> {
  const { texts } = response as TextResponse;
  if (texts !== undefined) {
    yield* linesOfTexts(texts, onBytes, signal);
    return;
  }
  // A platform without streams, or without TextDecoder, as React Native: there an answer is read when it is complete.
  if (!response.body || typeof TextDecoder === 'undefined') {
    yield* linesOfText(await response.text(), onBytes, signal);
    return;
  }
  const decoder = new TextDecoder();
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(response.body as ReadableStream<Uint8Array>, signal)) {
    onBytes();
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      yield withoutReturn(decoder.decode(joined(parts)));
      parts = [];
      bytes = 0;
      start = end + 1;
    }
    parts.push(chunk.subarray(start));
    bytes += chunk.length - start;
    requireLine(bytes);
  }
}

/** Ends when the signal is aborted, also while it waits for the next text. */
async function* linesOfTexts(texts: AsyncIterable<string>, onBytes: () => void, signal: AbortSignal) {
  let parts: string[] = [];
  let units = 0;
  for await (const text of texts) {
    if (signal.aborted) return;
    onBytes();
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      parts.push(text.slice(start, end));
      yield withoutReturn(parts.join(''));
      if (signal.aborted) return;
      parts = [];
      units = 0;
      start = end + 1;
    }
    parts.push(text.slice(start));
    units += text.length - start;
    requireLine(units);
  }
}

function requireLine(length: number): void {
  if (length > LINE_BYTES_MAX) throw clientError('bad_answer', 'a line of the stream is too long');
}

function* linesOfText(text: string, onBytes: () => void, signal: AbortSignal): Generator<string> {
  onBytes();
  for (let start = 0, end = text.indexOf('\n'); end !== -1 && !signal.aborted; end = text.indexOf('\n', start)) {
    yield withoutReturn(text.slice(start, end));
    start = end + 1;
  }
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

async function* chunksOf(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  // Errors of the cancellation do not matter.
  const end = () => reader.cancel().catch(() => undefined);
  signal.addEventListener('abort', end);
  try {
    if (signal.aborted) return;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    signal.removeEventListener('abort', end);
    // Cancels the stream when the reader stops.
    await end();
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
