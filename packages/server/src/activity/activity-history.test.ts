import { setImmediate as nextTurn } from 'node:timers/promises';
import { newTidemark, settableClock } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import {
  HISTORY_CHUNK_EVENTS_MAX,
  HISTORY_EVENT_UNITS_MAX,
  HISTORY_FAILURES_OF_ONE_PER_MIN_MAX,
  HISTORY_FLUSH_MS,
  HISTORY_SAMPLES_PER_MIN_MAX,
  HISTORY_STRANGERS_PER_MIN_MAX,
  HISTORY_UNWRITTEN_CHUNKS_MAX,
} from '../limits.ts';
import type { ActivityFact } from './activity-filter.ts';
import { ActivityHistory, type HistorySearch } from './activity-history.ts';

const QUIET = { debug() {}, info() {}, warn() {}, error() {} };
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ALL: HistorySearch = {
  ...{ user: null, client: null, source: null, kinds: null },
  ...{ isFailedOnly: false, text: null, after: null, limit: 1_000 },
};

/** Histories of several servers on one store. */
async function newHistories(count: number, bounds: { readonly eventsMax?: number } = {}) {
  const clock = settableClock();
  const { store } = await newTidemark();
  const outage = { isOn: false, writesAfter: Promise.resolve() };
  const writeEntries: typeof store.writeEntries = async (batch) => {
    if (outage.isOn) throw new Error('the store is away');
    await outage.writesAfter;
    return store.writeEntries(batch);
  };
  const failing = { writeEntries, listEntries: store.listEntries.bind(store), readEntry: store.readEntry.bind(store) };
  const due: (() => void)[] = [];
  const timers = {
    after: (_delayMs: number, run: () => void) => {
      due.push(run);
      return () => undefined;
    },
  };
  const histories = Array.from(
    { length: count },
    (_, index) =>
      new ActivityHistory({
        ...{ store: failing, clock, timers, log: QUIET, server: `server-${index}`, keepHours: 24 },
        eventsMax: bounds.eventsMax ?? 50_000,
      }),
  );
  const add = (history: ActivityHistory | undefined, fact: ActivityFact, name = '') => {
    history?.add(fact, { at: new Date(clock.nowMs()).toISOString(), server: name, request_id: null }, clock.nowMs());
  };
  return { store, clock, due, histories: histories as [ActivityHistory, ...ActivityHistory[]], add, outage };
}

function refusal(user: string | null, code = 'source_not_found'): ActivityFact {
  const request = { method: 'POST', route: '/app/v1/:source_name/push_objects', status: 404 };
  return { kind: 'refusal', user_id: user, client_id: null, source: 'Product', ...request, code };
}

const PULL: ActivityFact = {
  ...{ kind: 'pull', user_id: 'anna', client_id: 'c1', source: 'Product' },
  ...{ objects: 1, bytes: 9, more: false, reset: null },
};

describe('the history of the activity', () => {
  it('[ACTIVITY-22] pages of the history hold the events of all servers once, newest first', async () => {
    const { clock, histories, add } = await newHistories(3);
    const names: string[] = [];
    for (let n = 0; n < 600; n++) {
      const name = `u${n}`;
      names.unshift(name);
      add(histories[n % 3], refusal(name));
      clock.advance(1_000);
    }
    for (const history of histories) await history.close();
    const seen: (string | null)[] = [];
    let after: string | null = null;
    do {
      const page = await histories[0].search({ ...ALL, after, limit: 70 });
      seen.push(...page.events.map(({ user_id }) => user_id));
      after = page.next;
    } while (after !== null);
    expect(seen).toEqual(names);
  });

  it('[ACTIVITY-22] pages of the history hold every event also when the clock was set back', async () => {
    const { clock, histories, add } = await newHistories(1);
    const [history] = histories;
    for (let n = 0; n < 20; n++) {
      add(history, refusal(`early${n}`));
      clock.advance(100);
    }
    clock.advance(-2 * MINUTE_MS);
    for (let n = 0; n < 20; n++) {
      add(history, refusal(`late${n}`));
      clock.advance(100);
    }
    clock.advance(10 * MINUTE_MS);
    add(history, refusal('last'));
    await history.close();
    const seen = new Set<string | null>();
    let after: string | null = null;
    do {
      const page = await history.search({ ...ALL, after, limit: 5 });
      for (const { user_id } of page.events) seen.add(user_id);
      after = page.next;
    } while (after !== null);
    expect(seen.size).toBe(41);
  });

  it('[ACTIVITY-23] strangers, one device and what succeeded have bounds of their own in a minute', async () => {
    const { clock, histories, add } = await newHistories(1);
    const [history] = histories;
    for (let n = 0; n < 1_000; n++) {
      add(history, refusal(null));
      add(history, refusal('anna'));
      add(history, PULL);
    }
    add(history, refusal('bob'));
    expect(history.takesSamples).toBe(false);
    const { events, left_out } = await history.search(ALL);
    const countOf = (user: string | null, kind: string) =>
      events.filter((event) => event.user_id === user && event.kind === kind).length;
    expect([
      countOf(null, 'refusal'),
      countOf('anna', 'refusal'),
      countOf('anna', 'pull'),
      countOf('bob', 'refusal'),
    ]).toEqual([HISTORY_STRANGERS_PER_MIN_MAX, HISTORY_FAILURES_OF_ONE_PER_MIN_MAX, HISTORY_SAMPLES_PER_MIN_MAX, 1]);
    expect(left_out).toBe(2_000 - HISTORY_STRANGERS_PER_MIN_MAX - HISTORY_FAILURES_OF_ONE_PER_MIN_MAX);
    await history.close();
    expect((await history.search(ALL)).left_out).toBe(left_out);
    clock.advance(MINUTE_MS);
    expect(history.takesSamples).toBe(true);
  });

  it('[ACTIVITY-23] a failure that is longer than HISTORY_EVENT_UNITS_MAX is left out and counted', async () => {
    const { histories, add } = await newHistories(1);
    add(histories[0], refusal('anna', 'x'.repeat(HISTORY_EVENT_UNITS_MAX)));
    expect(await histories[0].search(ALL)).toMatchObject({ events: [], next: null, left_out: 1 });
  });

  it('[ACTIVITY-51] pages of the history together count each failure that was left out once', async () => {
    const { clock, histories, add } = await newHistories(2);
    const [history, other] = histories;
    const long = refusal('anna', 'x'.repeat(HISTORY_EVENT_UNITS_MAX));
    for (let n = 0; n < 30; n++) {
      for (const one of [history, other]) {
        add(one, refusal(`u${n}`));
        add(one, long);
      }
      clock.advance(MINUTE_MS);
    }
    await other?.close();
    let leftOut = 0;
    let after: string | null = null;
    do {
      const page = await history.search({ ...ALL, after, limit: 4 });
      leftOut += page.left_out;
      after = page.next;
    } while (after !== null);
    expect(leftOut).toBe(60);
  });

  it('[ACTIVITY-24] events older than the time to keep are gone, and beyond events_max the oldest, which the answer says', async () => {
    const { store, clock, histories, add } = await newHistories(1, { eventsMax: 2 * HISTORY_CHUNK_EVENTS_MAX });
    const [history] = histories;
    const start = clock.nowMs();
    for (let n = 0; n < 5 * HISTORY_CHUNK_EVENTS_MAX; n++) {
      add(history, refusal(`u${n}`));
      clock.advance(1_000);
    }
    await history.close();
    const complete = await history.search(ALL);
    expect([complete.events.length, complete.complete_from]).toEqual([
      1_000,
      new Date(clock.nowMs() - 24 * HOUR_MS).toISOString(),
    ]);
    await history.trim(clock.nowMs());
    const trimmed = await history.search(ALL);
    expect(trimmed.events.length).toBe(2 * HISTORY_CHUNK_EVENTS_MAX);
    const oldest = trimmed.events.at(-1)?.at ?? '';
    expect(Date.parse(trimmed.complete_from)).toBeGreaterThan(start);
    expect(Date.parse(trimmed.complete_from) >= Date.parse(oldest)).toBe(true);
    clock.advance(25 * HOUR_MS);
    expect((await history.search(ALL)).events).toEqual([]);
    await history.trim(clock.nowMs());
    expect((await history.search({ ...ALL, isFailedOnly: true })).next).toBe(null);
    const stored = await store.listEntries({ kind: 'activity', prefix: [], limit: 10 });
    expect(stored.map(({ key }) => key)).toEqual([['~dropped']]);
  });

  it('[ACTIVITY-25] events are written after HISTORY_FLUSH_MS, and found before that at their server', async () => {
    const { due, histories, add } = await newHistories(2);
    add(histories[0], refusal('anna'));
    expect((await histories[0].search(ALL)).events).toHaveLength(1);
    expect((await histories[1]?.search(ALL))?.events).toHaveLength(0);
    expect([due.length, HISTORY_FLUSH_MS]).toEqual([1, 2_000]);
    due[0]?.();
    await histories[0].close();
    expect((await histories[1]?.search(ALL))?.events).toHaveLength(1);
  });

  it('[ACTIVITY-30] events that could not be written are found meanwhile, and written when the store is back', async () => {
    const { clock, due, histories, add, outage } = await newHistories(2);
    outage.isOn = true;
    const count = 2 * HISTORY_CHUNK_EVENTS_MAX + 10;
    for (let n = 0; n < count; n++) {
      add(histories[0], refusal(`u${n}`));
      clock.advance(250);
    }
    expect((await histories[0].search(ALL)).events.length).toBe(count);
    due.shift()?.();
    await expect.poll(() => due.length).toBe(1);
    outage.isOn = false;
    due.shift()?.();
    const others = () => histories[1]?.search(ALL);
    await expect.poll(async () => (await others())?.events.length).toBe(count);
    expect(await others()).toMatchObject({ left_out: 0, next: null });
    expect((await histories[0].search(ALL)).events.length).toBe(count);
  });

  it('[ACTIVITY-30] of an outage of the store the newest HISTORY_UNWRITTEN_CHUNKS_MAX chunks are kept, and the failures of the others are counted', async () => {
    const { clock, histories, add, outage } = await newHistories(1);
    const [history] = histories;
    outage.isOn = true;
    const successes = 5;
    for (let n = 0; n < successes; n++) add(history, PULL);
    const count = (HISTORY_UNWRITTEN_CHUNKS_MAX + 2) * HISTORY_CHUNK_EVENTS_MAX + 1;
    for (let n = successes; n < count; n++) {
      add(history, refusal(`u${n}`));
      clock.advance(250);
    }
    outage.isOn = false;
    await history.close();
    const { events, left_out } = await history.search({ ...ALL, limit: 10_000 });
    const kept = HISTORY_UNWRITTEN_CHUNKS_MAX * HISTORY_CHUNK_EVENTS_MAX + 1;
    expect([events.length, left_out]).toEqual([kept, count - successes - kept]);
  });

  it('[ACTIVITY-30] a chunk that got full while a part of it was written is written again, also after an outage', async () => {
    const { clock, due, histories, add, outage } = await newHistories(2);
    let write = (): void => undefined;
    outage.writesAfter = new Promise((resolve) => {
      write = resolve;
    });
    const count = HISTORY_CHUNK_EVENTS_MAX + 1;
    for (let n = 0; n < count; n++) {
      add(histories[0], refusal(`u${n}`));
      clock.advance(250);
      // The first event is being written while the others arrive, and the store is away when the chunk is full.
      if (n === 0) due.shift()?.();
      outage.isOn = true;
    }
    write();
    const others = () => histories[1]?.search(ALL);
    await expect.poll(async () => (await others())?.events.length).toBe(1);
    outage.isOn = false;
    await histories[0].close();
    expect((await others())?.events.length).toBe(count);
  });

  it('[ACTIVITY-74] a write that takes long is never overtaken by a later one of the same events', async () => {
    const { clock, due, histories, add, outage } = await newHistories(2);
    let write = () => {};
    outage.writesAfter = new Promise((resolve) => {
      write = resolve;
    });
    const count = HISTORY_CHUNK_EVENTS_MAX + 1;
    for (let n = 0; n < count; n++) {
      add(histories[0], refusal(`u${n}`));
      clock.advance(250);
      // The first event is being written while the others arrive. The store would take everything else at once.
      if (n === 0) due.shift()?.();
      outage.writesAfter = n === 0 ? outage.writesAfter : Promise.resolve();
    }
    for (const run of due.splice(0)) run();
    const closed = histories[0].close();
    await nextTurn();
    write();
    await closed;
    expect((await histories[1]?.search(ALL))?.events.length).toBe(count);
  });
});
