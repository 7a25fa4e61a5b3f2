import { expect, it, onTestFinished, vi } from 'vitest';
import type { Connection } from './connection.ts';
import { Heartbeats } from './heartbeats.ts';

const EVERY_MS = 1_000;

it('[EVENT-6] while a heartbeat waits for the store no others begin, and afterwards all go on', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const beats: unknown[] = [];
  let answer: () => void = () => undefined;
  const heartbeats = new Heartbeats({
    everyMs: EVERY_MS,
    beat: (connection) => {
      beats.push(connection);
      return new Promise((resolve) => {
        answer = resolve;
      });
    },
    onFailed: (error) => beats.push(error),
  });
  onTestFinished(() => heartbeats.close());
  const [first, second] = ['first', 'second'] as unknown as readonly [Connection, Connection];
  heartbeats.add(first);
  await vi.advanceTimersByTimeAsync(EVERY_MS / 2);
  heartbeats.add(second);
  await vi.advanceTimersByTimeAsync(3 * EVERY_MS);
  expect(beats).toEqual([first]);
  answer();
  await vi.advanceTimersByTimeAsync(EVERY_MS);
  expect(beats).toEqual([first, second]);
});
