import { settableClock, startValkey, type ValkeyServer } from '@tidemark/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openValkeyStore, type ValkeyStore } from '../open-store.ts';

/** The machine may be busy with other tests, and the time of a reply is not what is tested here. */
const PATIENCE_MS = 300_000;

let server: ValkeyServer;
let stores = 0;

beforeAll(async () => {
  server = await startValkey({ settings: { appendonly: 'no' } });
});

afterAll(() => server.remove());

async function open(): Promise<ValkeyStore> {
  const store = await openValkeyStore({ answerMs: PATIENCE_MS, address: server.address, prefix: `${++stores}:` });
  onTestFinished(() => store.close());
  return store;
}

const job = (payload: string) => ({ kind: 'ping', payload, attemptsMax: 3 });

describe('jobs on a Valkey store', () => {
  it('[VALKEY-17] a reset deletes all jobs, and keeps those enqueued after it', async () => {
    const store = await open();
    const jobs = store.jobs({ clock: settableClock() });
    const [old] = await jobs.enqueueAll('pings', [job('a'), job('b')]);
    const held = await jobs.lease('pings', 1_000);
    await jobs.pause('pings');
    await store.reset([]);
    expect(await jobs.queues()).toEqual([]);
    expect(await jobs.find('pings', old ?? '')).toBeNull();
    expect(held !== null && (await jobs.acknowledge(held))).toBe(false);
    const id = await jobs.enqueue('pings', job('new'));
    expect(id).not.toBe(old);
    await store.sweep();
    expect((await jobs.lease('pings', 1_000))?.payload).toBe('new');
  });

  it('[VALKEY-17] all stores with the same prefix share their jobs', async () => {
    const clock = settableClock();
    const [one, other] = [await open(), await open()];
    const here = one.jobs({ clock });
    await here.enqueueAll(
      'pings',
      Array.from({ length: 40 }, (_, index) => job(String(index))),
    );
    expect(await other.jobs({ clock }).lease('pings', 1_000)).toBeNull();
    const again = await openValkeyStore({ answerMs: PATIENCE_MS, address: server.address, prefix: `${stores - 1}:` });
    onTestFinished(() => again.close());
    const there = again.jobs({ clock });
    const taken = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 ? here : there).lease('pings', 9)),
    );
    expect(new Set(taken.map((leased) => leased?.payload)).size).toBe(40);
    expect(await there.lease('pings', 9)).toBeNull();
  });

  it('[VALKEY-17] one call ends thousands of expired leases, a bounded number per script', async () => {
    const clock = settableClock();
    const jobs = (await open()).jobs({ clock });
    const count = 2_500;
    await jobs.enqueueAll(
      'pings',
      Array.from({ length: count }, (_, index) => job(String(index))),
    );
    await Promise.all(Array.from({ length: count }, () => jobs.lease('pings', 10)));
    expect((await jobs.describe('pings')).counts.leased).toBe(count);
    clock.advance(20);
    expect((await jobs.describe('pings')).counts).toMatchObject({ due: count, leased: 0 });
  });
});
