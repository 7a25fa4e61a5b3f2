import { startValkey } from '@tidemark/testing';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { script } from './scripts/script.ts';
import { StoreClock, type Window } from './store-clock.ts';

const HOUR_US = 3_600_000_000;
const SLACK_US = 100_000;

function late(timeUs: number): Error {
  const error = new Error(`LATE ${timeUs}`);
  error.name = 'ReplyError';
  return error;
}

/** A store whose clock runs like ours, so many µs ahead, and refuses outside the window as scripts do. */
class Store {
  nowMs = 1_000;
  aheadUs = 5 * HOUR_US;
  readonly windows: Window[] = [];

  clock(isOneNode = true): StoreClock {
    return new StoreClock({ isOneNode, nowMs: () => this.nowMs, nodes: () => [async () => this.timeUs] });
  }

  get timeUs(): number {
    return this.nowMs * 1_000 + this.aheadUs;
  }

  write = async (window: Window): Promise<string> => {
    this.windows.push(window);
    const [earliestUs, latestUs] = window;
    if (this.timeUs < earliestUs || this.timeUs > latestUs) throw late(this.timeUs);
    return 'written';
  };
}

describe('the deadline of a write', () => {
  it('[VALKEY-35] the deadline is the end of the call by the clock of the store, however far that is from ours', async () => {
    const store = new Store();
    const clock = store.clock();
    await clock.sample();
    expect(await clock.within(store.nowMs + 1_500, store.write)).toBe('written');
    expect(store.windows).toEqual([[store.timeUs - SLACK_US, store.timeUs + 1_500_000]]);
  });

  it('[VALKEY-35] a slow reply to a look at the clock makes deadlines earlier, never later', async () => {
    const store = new Store();
    const readTime = async () => {
      const { timeUs } = store;
      store.nowMs += 400;
      return timeUs;
    };
    const clock = new StoreClock({ isOneNode: true, nowMs: () => store.nowMs, nodes: () => [readTime] });
    await clock.sample();
    await clock.within(store.nowMs + 1_500, store.write);
    expect(store.windows).toEqual([[store.timeUs - 400_000 - SLACK_US, store.timeUs + 1_100_000]]);
  });

  it('[VALKEY-35] a reply to a look at the clock that took longer than a second does not count', async () => {
    const store = new Store();
    let replyMs = 0;
    const readTime = async () => {
      const { timeUs } = store;
      store.nowMs += replyMs;
      return timeUs;
    };
    const clock = new StoreClock({ isOneNode: true, nowMs: () => store.nowMs, nodes: () => [readTime] });
    await clock.sample();
    replyMs = 1_001;
    await clock.sample();
    await clock.within(store.nowMs + 1_500, store.write);
    expect(store.windows).toEqual([[store.timeUs - SLACK_US, store.timeUs + 1_500_000]]);
  });

  it.each([HOUR_US, -HOUR_US])(
    '[VALKEY-35] after the clock of the store was set by %d µs, a write is tried again with its time, and the next one at once',
    async (byUs) => {
      const store = new Store();
      const clock = store.clock();
      await clock.sample();
      store.aheadUs += byUs;
      for (let count = 0; count < 2; count++) await clock.within(store.nowMs + 1_500, store.write);
      const right = [store.timeUs - SLACK_US, store.timeUs + 1_500_000];
      expect(store.windows.slice(1)).toEqual([right, right]);
    },
  );

  it('[VALKEY-35] a node of a cluster whose clock is ahead of the others gets its own time, and the others keep theirs', async () => {
    const [registry, scope] = [new Store(), new Store()];
    scope.aheadUs += HOUR_US;
    const nodes = () => [registry, scope].map((node) => async () => node.timeUs);
    const clock = new StoreClock({ isOneNode: false, nowMs: () => registry.nowMs, nodes });
    await clock.sample();
    for (const node of [scope, registry]) await clock.within(registry.nowMs + 1_500, node.write);
    expect([scope.windows.length, registry.windows.length]).toEqual([2, 1]);
  });

  it('[VALKEY-35] a write that keeps being refused as late ends as store_unavailable after a bounded number of attempts', async () => {
    const store = new Store();
    const clock = store.clock();
    let attempts = 0;
    const refused = clock.within(store.nowMs + 1_500, async () => {
      attempts++;
      throw late(store.timeUs);
    });
    await expect(refused).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(attempts).toBe(4);
  });

  it('[VALKEY-35] a node that does not tell its time does not keep the clocks of the others from being compared', async () => {
    const store = new Store();
    const silent = () => Promise.reject(new Error('Connection is closed.'));
    const nodes = () => [silent, async () => store.timeUs];
    const clock = new StoreClock({ isOneNode: false, nowMs: () => store.nowMs, nodes });
    await clock.sample();
    await clock.within(store.nowMs + 1_500, store.write);
    expect(store.windows).toHaveLength(1);
  });
});

describe('a script that writes', () => {
  it('[VALKEY-35] a script does not run before the start of its window or after its end', async () => {
    const server = await startValkey();
    onTestFinished(() => server.remove());
    const { text } = script('add', { effect: 'writes', parameters: {}, body: `return redis.call('INCR', KEYS[1])` });
    const run = (earliestUs: number, latestUs: number) =>
      server.call('EVAL', text, 1, 'runs', earliestUs, latestUs).catch(({ message }: Error) => message);
    const [seconds] = (await server.call('TIME')) as readonly [string, string];
    const nowUs = Number(seconds) * 1e6;
    const hour = (count: number) => nowUs + count * HOUR_US;
    expect(await run(hour(-1), hour(1))).toBe(1);
    expect(await run(hour(1), hour(2))).toMatch(/^LATE \d{16}/);
    expect(await run(hour(-2), hour(-1))).toMatch(/^LATE \d{16}/);
    expect(await run(hour(-1), hour(1))).toBe(2);
  });
});

describe('a write that fails', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('[VALKEY-35] a failure without a reply is told at the deadline, and a reply at once', async () => {
    vi.useFakeTimers();
    const store = new Store();
    const clock = store.clock();
    const told: string[] = [];
    const fail = (error: Error) =>
      clock.within(store.nowMs + 1_500, () => Promise.reject(error)).catch(({ message }: Error) => told.push(message));
    const replied = Object.assign(new Error('READONLY'), { name: 'ReplyError' });
    const done = Promise.all([fail(new Error('Connection is closed.')), fail(replied)]);
    await vi.advanceTimersByTimeAsync(1_499);
    expect(told).toEqual(['READONLY']);
    await vi.advanceTimersByTimeAsync(1);
    await done;
    expect(told).toEqual(['READONLY', 'Connection is closed.']);
  });
});
