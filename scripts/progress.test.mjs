import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withProgress } from './progress.mjs';

describe('progress of a command', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('a long step shows every five seconds that it is still running', async () => {
    const { said, say } = listener();
    const step = withProgress(say, 'installing', () => new Promise((resolve) => setTimeout(resolve, 12_000, 'result')));
    await vi.advanceTimersByTimeAsync(12_000);
    expect([await step, said.join('')]).toEqual(['result', 'tidemark: installing … 5 s … 10 s … done in 12.0 s\n']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('a step that fails says so and passes its error on', async () => {
    const { said, say } = listener();
    const failure = new Error('no registry');
    const step = withProgress(say, 'installing', () => Promise.reject(failure));
    await expect(step).rejects.toBe(failure);
    expect([said.join(''), vi.getTimerCount()]).toEqual(['tidemark: installing … failed\n', 0]);
  });
});

function listener() {
  const said = [];
  return { said, say: (text) => said.push(text) };
}
