import { newTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { pageJson } from '../pages/render-page.ts';
import { sharedPartition } from '../ports/owner.ts';
import { Freshness } from './freshness.ts';

const WINDOW_MS = 600_000;
const ORDERS = { source: 'Order', user: 'ada' };
const PRODUCTS = sharedPartition('Product');

interface Step {
  readonly freshness: Freshness;
  readonly took: number[];
  /** Lets so much time pass. */
  pass(ms: number): void;
  commit(upTo: number): void;
  /** A device comes with what it holds, and sees the last committed head. */
  see(client: string, base: number | null): void;
}

function follow(devicesMax = 1_000): Step {
  let nowMs = 1_000_000;
  let head = 10;
  const took: number[] = [];
  const freshness = new Freshness({ clock: { nowMs: () => nowMs }, windowMs: WINDOW_MS, devicesMax });
  freshness.onDelivered((_, tookMs) => took.push(tookMs));
  return {
    freshness,
    took,
    pass(ms) {
      nowMs += ms;
    },
    commit(upTo) {
      freshness.committed(PRODUCTS, { epoch: 'e', after: head, upTo });
      head = upTo;
    },
    see: (client, base) => freshness.presented(PRODUCTS, { client, epoch: 'e', base }, head),
  };
}

const staleness = ({ freshness }: Step) => Object.fromEntries(freshness.stalenessMs());

describe('freshness', () => {
  it('[STALE-1] a change counts from its commit until every active device has acknowledged it', () => {
    const step = follow();
    step.see('a', 10);
    step.see('b', 10);
    expect(staleness(step)).toEqual({ Product: 0 });
    step.pass(1_000);
    step.commit(11);
    step.pass(2_000);
    step.see('a', 11);
    expect(step.took).toEqual([2_000]);
    step.pass(3_000);
    expect(staleness(step)).toEqual({ Product: 5_000 });
    step.see('b', 11);
    expect([staleness(step), step.took]).toEqual([{ Product: 0 }, [2_000, 5_000]]);
  });

  it('[STALE-1] the oldest change counts that a device misses, also when it has acknowledged a part', () => {
    const step = follow();
    step.see('a', 10);
    step.commit(11);
    step.pass(1_000);
    step.commit(12);
    step.pass(1_000);
    expect(staleness(step)).toEqual({ Product: 2_000 });
    step.see('a', 11);
    expect(staleness(step)).toEqual({ Product: 1_000 });
    step.pass(500);
    step.see('a', 12);
    expect([staleness(step), step.took]).toEqual([{ Product: 0 }, [2_000, 1_500]]);
  });

  it('[STALE-1] a device that comes without acknowledging is not forgotten, however long that lasts', () => {
    const step = follow();
    step.see('stuck', 10);
    for (let seq = 11; seq < 200; seq++) {
      step.see('well', seq - 1);
      step.commit(seq);
      step.pass(60_000);
      step.see('stuck', 10);
    }
    expect(staleness(step)).toEqual({ Product: 189 * 60_000 });
    step.see('stuck', 198);
    expect(staleness(step).Product).toBeLessThanOrEqual(60_000);
  });

  it('[STALE-2] what a device missed while it was away counts from its return', () => {
    const step = follow();
    step.see('a', 10);
    step.commit(11);
    step.pass(WINDOW_MS);
    expect(staleness(step)).toEqual({});
    step.see('a', 10);
    expect(staleness(step)).toEqual({ Product: 0 });
    step.pass(700);
    expect(staleness(step)).toEqual({ Product: 700 });
    step.see('a', 11);
    expect([staleness(step), step.took]).toEqual([{ Product: 0 }, [700]]);
  });

  it('[STALE-2] a device that starts over counts from when it began', () => {
    const step = follow();
    step.see('new', null);
    step.see('told', 10);
    step.pass(4_000);
    step.see('told', null);
    step.see('new', 10);
    step.pass(1_000);
    expect([staleness(step), step.took]).toEqual([{ Product: 1_000 }, [4_000]]);
  });

  it('[STALE-2] a device that is no longer seen stops counting after the window', () => {
    const step = follow();
    step.see('gone', 10);
    step.pass(1_000);
    step.commit(11);
    step.pass(WINDOW_MS - 1_001);
    expect(staleness(step)).toEqual({ Product: WINDOW_MS - 1_001 });
    step.pass(1);
    expect(staleness(step)).toEqual({});
  });

  it('[STALE-3] a change that only the presented head tells of counts from then', () => {
    const step = follow();
    step.see('a', 10);
    step.see('b', 10);
    step.pass(5_000);
    step.freshness.presented(PRODUCTS, { client: 'a', epoch: 'e', base: 10 }, 12);
    step.pass(300);
    step.freshness.presented(PRODUCTS, { client: 'a', epoch: 'e', base: 12 }, 12);
    expect([staleness(step), step.took]).toEqual([{ Product: 300 }, [300]]);
  });

  it('[STALE-3] an acknowledgement at another server ends the wait here, and is not counted twice', () => {
    const step = follow();
    step.see('a', 10);
    step.commit(11);
    step.pass(1_000);
    step.freshness.acknowledgedElsewhere(PRODUCTS, { client: 'a', epoch: 'other', base: 11 });
    expect(staleness(step)).toEqual({ Product: 1_000 });
    step.freshness.acknowledgedElsewhere(PRODUCTS, { client: 'a', epoch: 'e', base: 11 });
    step.freshness.acknowledgedElsewhere(PRODUCTS, { client: 'stranger', epoch: 'e', base: 11 });
    expect([staleness(step), step.took]).toEqual([{ Product: 0 }, []]);
  });

  it('[STALE-3] a new epoch of a source begins with the devices that come then', () => {
    const step = follow();
    step.see('a', 10);
    step.see('b', 10);
    step.commit(11);
    step.pass(1_000);
    step.freshness.presented(PRODUCTS, { client: 'a', epoch: 'next', base: null }, 1);
    step.pass(10);
    expect(staleness(step)).toEqual({ Product: 10 });
    step.freshness.presented(PRODUCTS, { client: 'a', epoch: 'next', base: 1 }, 1);
    expect(staleness(step)).toEqual({ Product: 0 });
  });

  it('[STALE-4] beyond the limit the device seen longest ago is not counted', () => {
    const step = follow(2);
    step.see('a', 10);
    step.commit(11);
    step.see('b', 11);
    step.pass(1_000);
    expect(staleness(step)).toEqual({ Product: 1_000 });
    step.see('c', 11);
    expect(staleness(step)).toEqual({ Product: 0 });
  });

  it('[STALE-1] pulls, acknowledgements and pushes of a server are measured', async () => {
    const test = await newTidemark();
    const { tidemark, clock } = test;
    const { client_id: client } = await tidemark.clients.register('ada', {});
    const device = { user: 'ada', client };
    const took: [string, number][] = [];
    tidemark.freshness.onDelivered((source, ms) => took.push([source, ms]));
    const pull = async (token: string | null) => {
      const answer = await tidemark.devices.pull(device, { sources: new Map([['Order', token]]) });
      await answer.noted;
      const page = answer.pages[0]?.page;
      if (page === undefined || 'error' in page) throw new Error('the source has a page');
      return (JSON.parse(pageJson(page.token, page.body)) as { token: string }).token;
    };
    const acknowledge = (token: string) => tidemark.devices.acknowledge(device, new Map([['Order', token]]));
    await tidemark.objects.push({ source: 'Order', user_id: ORDERS.user, objects: { 0: { a: 'a' } } });
    const first = await pull(null);
    await acknowledge(first);
    await tidemark.objects.push({ source: 'Order', user_id: ORDERS.user, objects: { 1: { a: 'b' } } });
    clock.advance(3_000);
    const second = await pull(first);
    expect(Object.fromEntries(tidemark.freshness.stalenessMs())).toEqual({ Order: 3_000 });
    clock.advance(1_000);
    await acknowledge(second);
    expect(Object.fromEntries(tidemark.freshness.stalenessMs())).toEqual({ Order: 0 });
    expect(took.at(-1)).toEqual(['Order', 4_000]);
  });
});
