import { clientError } from '../client-error.ts';
import { LINE_UNITS_MAX } from '../limits.ts';

/**
 * Yields the complete lines of a response as they arrive. A last line without a line end is incomplete, because the stream
 * broke off in it, and is not yielded. `onBytes` is called whenever bytes arrive. Nothing is yielded after `signal` is
 * aborted: some platforms forget the signal that `fetch` was given once the response headers are there.
 *
 * Only new text is searched for line ends. A line of 2 MB arrives in dozens of chunks, and joining all of them for every
 * chunk would make its cost quadratic.
 */
export async function* linesOf(response: Response, onBytes: () => void, signal: AbortSignal): AsyncGenerator<string> {
  let parts: string[] = [];
  let units = 0;
  for await (const text of textsOf(response, signal)) {
    onBytes();
    const [end = '', ...next] = text.split('\n');
    parts.push(end);
    units += end.length;
    for (const start of next) {
      const line = parts.length === 1 ? (parts[0] ?? '') : parts.join('');
      yield line.endsWith('\r') ? line.slice(0, -1) : line;
      parts = [start];
      units = start.length;
    }
    if (units > LINE_UNITS_MAX) throw clientError('bad_answer', 'a line of the stream is too long');
  }
}

async function* textsOf(response: Response, signal: AbortSignal): AsyncGenerator<string> {
  // React Native has no streams; there an answer is read when it is complete.
  if (!response.body) {
    yield await response.text();
    return;
  }
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  // Errors of the cancellation do not matter.
  const end = () => reader.cancel().catch(() => undefined);
  signal.addEventListener('abort', end);
  try {
    if (signal.aborted) return;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    signal.removeEventListener('abort', end);
    // Cancels the stream when the reader stops.
    await end();
  }
}
