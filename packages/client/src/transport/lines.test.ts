import fc from 'fast-check';
import { expect, it } from 'vitest';
import { linesOf } from './lines.ts';

it('[NET-9] a stream ends when it is aborted, also if the platform has forgotten the signal', async () => {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('one\ntwo\nhal')),
    cancel: () => {
      isCancelled = true;
    },
  });
  const { signal, abort } = controllerOf();
  const lines: string[] = [];
  // The response does not know the signal, as on some platforms.
  for await (const line of linesOf(new Response(body), () => undefined, signal)) {
    lines.push(line);
    if (lines.length === 2) setImmediate(abort);
  }
  expect([lines, isCancelled]).toEqual([['one', 'two'], true]);
  const texts = { texts: textsOf('four\nfive\nsix\n', [9, 1]) } as unknown as Response;
  const other = controllerOf();
  const some: string[] = [];
  for await (const line of linesOf(texts, () => undefined, other.signal)) {
    some.push(line);
    other.abort();
  }
  expect(some).toEqual(['four']);
  const late = linesOf(new Response('three\n'), () => undefined, signal);
  expect(await late.next()).toEqual({ done: true, value: undefined });
});

it('[NET-9] lines are the same however the stream is split into chunks', async () => {
  const text = fc
    .array(fc.constantFrom('a', 'é', '😀', '\n', '\r\n', '\n\n'), { maxLength: 40 })
    .map((parts) => parts.join(''));
  const cuts = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(text, cuts, async (whole, sizes) => {
      const complete = whole.split('\n').slice(0, -1);
      const expected = complete.map((line) => line.replace(/\r$/, ''));
      const lines: string[] = [];
      const response = new Response(chunked(new TextEncoder().encode(whole), sizes));
      for await (const line of linesOf(response, () => undefined, new AbortController().signal)) lines.push(line);
      expect(lines).toEqual(expected);
      // A response whose platform hands over texts.
      const parts: string[] = [];
      const ofTexts = { texts: textsOf(whole, sizes) } as unknown as Response;
      for await (const line of linesOf(ofTexts, () => undefined, new AbortController().signal)) parts.push(line);
      expect(parts).toEqual(expected);
      // A response without a stream.
      const ofText = { body: null, text: async () => whole } as unknown as Response;
      const others: string[] = [];
      for await (const line of linesOf(ofText, () => undefined, new AbortController().signal)) others.push(line);
      expect(others).toEqual(expected);
    }),
  );
});

/** Splits bytes into chunks of the given sizes, repeatedly, also in the middle of a character. */
function chunked(bytes: Uint8Array, sizes: readonly number[]): ReadableStream<Uint8Array> {
  let at = 0;
  let turn = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (at >= bytes.length) return controller.close();
      const end = at + (sizes[turn++ % sizes.length] ?? 1);
      controller.enqueue(bytes.subarray(at, end));
      at = end;
    },
  });
}

/** Splits a text into parts of the given sizes, repeatedly, also in the middle of a pair of surrogates. */
async function* textsOf(whole: string, sizes: readonly number[]): AsyncGenerator<string> {
  for (let at = 0, turn = 0; at < whole.length; turn++) {
    const end = at + (sizes[turn % sizes.length] ?? 1);
    yield whole.slice(at, end);
    at = end;
  }
}

function controllerOf(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
