import { clientError } from '../client-error.ts';
import { LINE_UNITS_MAX } from '../limits.ts';

/**
 * The whole lines of an answer as they arrive. A last line without its end is not whole and is not given: the stream
 * broke off in it. `onBytes` is called whenever something arrives. When `signal` is aborted, nothing more is given: the
 * one that the call was made with is forgotten by some platforms once the head of the answer is there.
 */
export async function* linesOf(response: Response, onBytes: () => void, signal: AbortSignal): AsyncGenerator<string> {
  let rest = '';
  for await (const text of textsOf(response, signal)) {
    onBytes();
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LINE_UNITS_MAX) throw clientError('bad_answer', 'a line of the stream does not end');
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
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
  // That it cannot be ended any more is no news.
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
    // Whoever stops listening ends the stream.
    await end();
  }
}
