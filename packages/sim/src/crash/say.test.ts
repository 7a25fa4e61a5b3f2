import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const LINES = 5_000;

it('[CRASH-8] a worker whose reader is slow waits for it, and loses no line', async () => {
  const say = fileURLToPath(new URL('../../dist/crash/say.js', import.meta.url));
  // To have looked at stdout is what makes its writes return at once when there is no room.
  const program = `process.stdout; const { say } = await import(${JSON.stringify(say)});
    for (let n = 0; n < ${LINES}; n++) say({ n, text: 'x'.repeat(200) });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  await pause(300);
  const told: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) told.push((JSON.parse(line) as { n: number }).n);
  expect(told).toEqual(Array.from({ length: LINES }, (_, n) => n));
  expect(await ended).toEqual([0, null]);
});
