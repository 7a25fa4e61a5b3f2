import { expect, it } from 'vitest';
import { linesOf } from './lines.ts';

it('[NET-9] a stream ends when it is not wanted any more, also where the platform has forgotten the signal', async () => {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('one\ntwo\nhal')),
    cancel: () => {
      isCancelled = true;
    },
  });
  const { signal, abort } = controllerOf();
  const lines: string[] = [];
  // The answer knows nothing of the signal, as one that was made a while ago may not.
  for await (const line of linesOf(new Response(body), () => undefined, signal)) {
    lines.push(line);
    if (lines.length === 2) setImmediate(abort);
  }
  expect([lines, isCancelled]).toEqual([['one', 'two'], true]);
  const late = linesOf(new Response('three\n'), () => undefined, signal);
  expect(await late.next()).toEqual({ done: true, value: undefined });
});

function controllerOf(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
