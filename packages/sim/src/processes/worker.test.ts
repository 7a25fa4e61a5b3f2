import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const LINES = 5_000;

it('[CRASH-8] a worker whose reader is slow waits for it, and loses no line', async () => {
  const worker = fileURLToPath(new URL('../../dist/processes/worker.js', import.meta.url));
  // Reading process.stdout makes its writes fail with EAGAIN when the pipe is full.
  const program = `process.stdout; const { writeLine } = await import(${JSON.stringify(worker)});
    for (let n = 0; n < ${LINES}; n++) writeLine({ n, text: 'x'.repeat(200) });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  await pause(300);
  const received: number[] = [];
  for await (const line of createInterface({ input: child.stdout }))
    received.push((JSON.parse(line) as { n: number }).n);
  expect(received).toEqual(Array.from({ length: LINES }, (_, n) => n));
  expect(await ended).toEqual([0, null]);
});
