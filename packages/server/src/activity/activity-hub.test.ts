import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { settableClock } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import {
  ACTIVITY_DATA_UNITS_MAX,
  ACTIVITY_EVENTS_PER_WINDOW_MAX,
  ACTIVITY_STREAMS_MAX,
  ACTIVITY_STREAMS_PER_TOKEN_MAX,
} from '../limits.ts';
import type { ActivityFact, ActivityFilter } from './activity-filter.ts';
import { type ActivityHint, ActivityHub } from './activity-hub.ts';

const EVERYTHING: ActivityFilter = { user: null, client: null, source: null, kinds: null, hasData: false };
const READER = { user: 'admin', tokenHash: 't1' };
const QUIET = { debug() {}, info() {}, warn() {}, error() {} };

/** A response that keeps what is written to it. */
class Reading extends EventEmitter {
  readonly texts: string[] = [];
  isFull = false;
  isOver = false;

  write(text: string): boolean {
    this.texts.push(text);
    return !this.isFull;
  }

  end(text = ''): void {
    this.texts.push(text);
    this.isOver = true;
  }

  destroy(): void {
    this.isOver = true;
  }

  /** The events after `ready`, as pairs of name and data. */
  get events(): readonly (readonly [string, Record<string, unknown>])[] {
    const all = [...this.texts.join('').matchAll(/event: (\w+)\ndata: (.*)\n\n/g)];
    return all.slice(1).map(([, name = '', data = '']) => [name, JSON.parse(data)] as const);
  }
}

/** Hubs of several servers, whose messages arrive at once, with a clock and timers that the test sets. */
function newHubs(count: number) {
  const clock = settableClock();
  const timers: { atMs: number; run: () => void }[] = [];
  const ended = new Set<string>();
  const hints: ActivityHint[] = [];
  const hubs: ActivityHub[] = [];
  for (let index = 0; index < count; index++) {
    hubs.push(
      new ActivityHub({
        server: `s${index}`,
        bearers: { isGood: async (id: string) => !ended.has(id) },
        clock,
        steadyClock: clock,
        log: QUIET,
        history: null,
        timers: {
          after: (delayMs, run) => {
            const timer = { atMs: clock.nowMs() + delayMs, run };
            timers.push(timer);
            return () => void timers.splice(timers.indexOf(timer), 1);
          },
        },
        tell: (hint) => {
          hints.push(hint);
          for (const [other, hub] of hubs.entries()) if (other !== index) hub.receive(structuredClone(hint));
        },
      }),
    );
  }
  const pass = (ms: number) => {
    clock.advance(ms);
    for (const timer of timers.filter(({ atMs }) => atMs <= clock.nowMs())) {
      timers.splice(timers.indexOf(timer), 1);
      timer.run();
    }
  };
  const open = (hub: ActivityHub, filter: Partial<ActivityFilter> = {}, reader = READER) => {
    const reading = new Reading();
    const close = hub.open(reader, { ...EVERYTHING, ...filter }, reading as unknown as ServerResponse);
    return { reading, close };
  };
  return { hubs: hubs as [ActivityHub, ActivityHub, ...ActivityHub[]], pass, open, ended, hints };
}

function push(source: string, user: string | null = null): ActivityFact {
  const write = { operation: 'push_objects', changed: 1, unchanged: 0, seq: 1 };
  return { kind: 'push', user_id: user, client_id: null, source, ...write };
}

const BY_REQUEST = { requestId: 'r1' };

describe('activity', () => {
  it('[ACTIVITY-1] an event at one server reaches readers at all servers, with time, server and request id', () => {
    const { hubs, pass, open } = newHubs(3);
    const [here, elsewhere, third] = hubs;
    const readings = [open(here), open(elsewhere)].map(({ reading }) => reading);
    third?.publish(push('Product', 'anna'), BY_REQUEST);
    pass(100);
    const event = { at: expect.any(String), server: 's2', request_id: 'r1', ...push('Product', 'anna') };
    for (const { events } of readings) expect(events).toEqual([['activity', event]]);
  });

  it('[ACTIVITY-2] filters by user, client, source and kind hold for events of all servers', () => {
    const { hubs, pass, open } = newHubs(2);
    const [here, elsewhere] = hubs;
    const filters = [{ user: 'anna' }, { source: 'Order' }, { kinds: ['pull' as const] }, { client: 'c1' }];
    const readings = filters.map((filter) => open(here, filter).reading);
    const pull = { objects: 1, bytes: 9, more: false, reset: null };
    for (const hub of [here, elsewhere]) {
      hub.publish(push('Product', 'anna'), BY_REQUEST);
      hub.publish(push('Order', 'bob'), BY_REQUEST);
      hub.publish({ kind: 'pull', user_id: 'bob', client_id: 'c1', source: 'Product', ...pull }, BY_REQUEST);
    }
    pass(100);
    const seen = readings.map(({ events }) => events.map(([, { kind, user_id, source }]) => [kind, user_id, source]));
    const [ofAnna, order, pulls] = [
      ['push', 'anna', 'Product'],
      ['push', 'bob', 'Order'],
      ['pull', 'bob', 'Product'],
    ];
    expect(seen).toEqual([
      [ofAnna, ofAnna],
      [order, order],
      [pulls, pulls],
      [pulls, pulls],
    ]);
  });

  it('[ACTIVITY-3] nothing is published while nobody reads, nor after the server of the readers has fallen silent', () => {
    const { hubs, pass, open, hints } = newHubs(2);
    const [here, elsewhere] = hubs;
    elsewhere.publish(push('Product'), BY_REQUEST);
    pass(100);
    expect([elsewhere.isWatched, hints]).toEqual([false, []]);
    const { close } = open(here);
    expect(elsewhere.isWatched).toBe(true);
    close();
    expect(elsewhere.isWatched).toBe(false);
    const lost = open(here);
    here.close();
    expect(lost.reading.isOver).toBe(true);
    for (let ticks = 0; ticks < 4; ticks++) pass(5_000);
    expect(elsewhere.isWatched).toBe(false);
  });

  it('[ACTIVITY-4] a reader gets a bounded number of events in a window and the number of those dropped', () => {
    const { hubs, pass, open } = newHubs(2);
    const [here, elsewhere] = hubs;
    const { reading } = open(here);
    const narrow = open(here, { user: 'anna' }).reading;
    for (const hub of [here, elsewhere]) {
      for (let i = 0; i < ACTIVITY_EVENTS_PER_WINDOW_MAX + 5; i++) hub.publish(push('Product'), BY_REQUEST);
      hub.publish(push('Product', 'anna'), BY_REQUEST);
    }
    expect(reading.events).toHaveLength(ACTIVITY_EVENTS_PER_WINDOW_MAX);
    pass(100);
    expect(reading.events.slice(ACTIVITY_EVENTS_PER_WINDOW_MAX)[0]).toEqual(['dropped', { count: 12 }]);
    expect(reading.events).toHaveLength(2 * ACTIVITY_EVENTS_PER_WINDOW_MAX + 1);
    // Events that others may see do not use up the budget of a narrow filter.
    expect(narrow.events.map(([name]) => name)).toEqual(['activity', 'activity']);
  });

  it('[ACTIVITY-5] a reader that does not keep up loses events, is told how many, and is cut off if it stays behind', () => {
    const { hubs, pass, open } = newHubs(1);
    const { reading } = open(hubs[0]);
    reading.isFull = true;
    for (let i = 0; i < 4; i++) hubs[0].publish(push(`P${i}`), BY_REQUEST);
    expect(reading.events).toHaveLength(1);
    reading.isFull = false;
    reading.emit('drain');
    pass(100);
    hubs[0].publish(push('Last'), BY_REQUEST);
    expect(reading.events.slice(1)).toEqual([
      ['dropped', { count: 3 }],
      ['activity', expect.objectContaining({ source: 'Last' })],
    ]);
    reading.isFull = true;
    hubs[0].publish(push('Product'), BY_REQUEST);
    for (let beats = 0; beats < 3; beats++) pass(5_000);
    expect(reading.isOver).toBe(true);
  });

  it('[ACTIVITY-6] events carry data only for readers that asked for it, and null instead of too much', () => {
    const { hubs, pass, open } = newHubs(2);
    const [here, elsewhere] = hubs;
    const readings = [false, true].map((hasData) => open(here, { hasData }).reading);
    const long = 'x'.repeat(ACTIVITY_DATA_UNITS_MAX);
    for (const hub of [here, elsewhere]) {
      for (const data of [{ 1: { a: 1 } }, long]) hub.publish(push('P'), { requestId: null, data: () => data });
    }
    pass(100);
    const [without, withData] = readings.map(({ events }) => events.map(([, { data }]) => data));
    expect(without).toEqual([undefined, undefined, undefined, undefined]);
    expect(withData).toEqual([{ 1: { a: 1 } }, null, { 1: { a: 1 } }, null]);
  });

  it('[ACTIVITY-7] a stream ends when its token has ended', async () => {
    const { hubs, open, ended } = newHubs(1);
    const { reading } = open(hubs[0]);
    await hubs[0].recheck(null);
    expect(reading.isOver).toBe(false);
    ended.add(READER.tokenHash);
    await hubs[0].recheck('somebody else');
    expect(reading.isOver).toBe(false);
    await hubs[0].recheck('admin');
    expect([reading.isOver, reading.events]).toEqual([true, [['ended', { code: 'token_invalid' }]]]);
  });

  it('[ACTIVITY-8] a server takes so many streams and refuses one more', () => {
    const { hubs, open } = newHubs(1);
    const reader = (index: number) => ({ user: 'admin', tokenHash: `token ${index}` });
    for (let i = 0; i < ACTIVITY_STREAMS_MAX - 1; i++) open(hubs[0], {}, reader(i));
    hubs[0].requireRoom(READER);
    const { close } = open(hubs[0]);
    expect(() => hubs[0].requireRoom(reader(99))).toThrow(/20 activity streams are open/);
    close();
    hubs[0].requireRoom(reader(99));
  });

  it('[HARD-72] one token gets only its share of the activity streams', () => {
    const { hubs, open } = newHubs(1);
    for (let i = 0; i < ACTIVITY_STREAMS_PER_TOKEN_MAX - 1; i++) open(hubs[0]);
    hubs[0].requireRoom(READER);
    const { close } = open(hubs[0]);
    expect(() => hubs[0].requireRoom(READER)).toThrow(/5 activity streams of this token/);
    hubs[0].requireRoom({ tokenHash: 'another' });
    close();
    hubs[0].requireRoom(READER);
  });

  it('[ACTIVITY-53] streams that were admitted at once and find no room end, and get no events', () => {
    const { hubs, open } = newHubs(1);
    for (let i = 0; i <= ACTIVITY_STREAMS_PER_TOKEN_MAX; i++) hubs[0].requireRoom(READER);
    const readings = Array.from({ length: ACTIVITY_STREAMS_PER_TOKEN_MAX + 1 }, () => open(hubs[0]).reading);
    hubs[0].publish(push('Product'), BY_REQUEST);
    const seen = readings.map(({ isOver, events }) => [isOver, events.length]);
    expect(seen.slice(0, -1)).toEqual(seen.slice(0, -1).map(() => [false, 1]));
    expect(seen.at(-1)).toEqual([true, 0]);
    expect(hubs[0].size).toBe(ACTIVITY_STREAMS_PER_TOKEN_MAX);
  });
});
