import type { Bus, BusListener } from '@tidemark/core';
import { settableClock } from '@tidemark/testing';
import { expect, it } from 'vitest';
import type { Timers } from '../jobs/timers.ts';
import { ClusterMembers, HEARTBEAT_EVERY_MS } from './cluster-members.ts';
import type { Hint } from './hint.ts';

/** A simulated bus with its own clock and timers, on which chosen messages get lost. */
class Network {
  readonly clock = settableClock();
  readonly #listeners = new Map<string, BusListener>();
  #timers: { atMs: number; callback: () => void }[] = [];
  isLost: (from: string, text: string) => boolean = () => false;

  readonly timers: Timers = {
    after: (delayMs, callback) => {
      const timer = { atMs: this.clock.nowMs() + delayMs, callback };
      this.#timers.push(timer);
      return () => {
        this.#timers = this.#timers.filter((one) => one !== timer);
      };
    },
  };

  advance(ms: number): void {
    const endMs = this.clock.nowMs() + ms;
    for (;;) {
      const [next] = this.#timers.sort((left, right) => left.atMs - right.atMs);
      if (next === undefined || next.atMs > endMs) break;
      this.#timers.shift();
      this.clock.advance(next.atMs - this.clock.nowMs());
      next.callback();
    }
    this.clock.advance(endMs - this.clock.nowMs());
  }

  /** Disconnects the server, as if its process had been killed. */
  silence(id: string): void {
    this.#listeners.delete(id);
  }

  gapFor(id: string): void {
    this.#listeners.get(id)?.onGap();
  }

  async join(id: string, answer: () => number = () => 0) {
    const received: Hint[] = [];
    let gaps = 0;
    const openBus = async (listener: BusListener): Promise<Bus> => {
      this.#listeners.set(id, listener);
      return { publish: (text) => this.#deliver(id, text), close: async () => this.silence(id) };
    };
    const members = new ClusterMembers({ id, clock: this.clock, timers: this.timers, openBus });
    members.listen({ onHint: (hint) => received.push(hint), answer, onGap: () => gaps++ });
    await members.open();
    return { members, received, gaps: () => gaps };
  }

  #deliver(from: string, text: string): void {
    if (!this.#listeners.has(from) || this.isLost(from, text)) return;
    for (const listener of [...this.#listeners.values()]) listener.onText(text);
  }
}

const SESSIONS: Hint = { kind: 'sessions', user: null };

it('[MANY-9] servers find each other and receive the hints of the others, but not their own', async () => {
  const network = new Network();
  const [one, two, three] = [await network.join('one'), await network.join('two'), await network.join('three')];
  expect([one, two, three].map(({ members }) => members.count)).toEqual([2, 2, 2]);
  two.members.tell(SESSIONS);
  expect([one.received, two.received, three.received]).toEqual([[SESSIONS], [], [SESSIONS]]);
  network.advance(10 * HEARTBEAT_EVERY_MS);
  expect([one.gaps(), two.gaps(), three.gaps()]).toEqual([0, 0, 0]);
});

it('[MANY-10] a server that missed a hint detects it at the next heartbeat', async () => {
  const network = new Network();
  const [one, two] = [await network.join('one'), await network.join('two')];
  two.members.tell(SESSIONS);
  network.isLost = (_, text) => text.includes('sessions');
  two.members.tell(SESSIONS);
  expect([one.received.length, one.gaps()]).toEqual([1, 0]);
  network.advance(HEARTBEAT_EVERY_MS);
  expect([one.gaps(), two.gaps()]).toEqual([1, 0]);
  network.advance(10 * HEARTBEAT_EVERY_MS);
  expect(one.gaps()).toBe(1);
});

it('[MANY-10] hints sent before a server was known count as missed', async () => {
  const network = new Network();
  const one = await network.join('one');
  network.isLost = () => true;
  const two = await network.join('two');
  two.members.tell(SESSIONS);
  expect([one.members.count, one.gaps()]).toEqual([0, 0]);
  network.isLost = () => false;
  network.advance(HEARTBEAT_EVERY_MS);
  expect([one.members.count, one.gaps()]).toEqual([1, 1]);
});

it('[MANY-10] a server that falls silent leaves a gap; one that says goodbye does not', async () => {
  const network = new Network();
  const one = await network.join('one');
  const two = await network.join('two');
  await two.members.close();
  network.advance(20_000);
  expect([one.members.count, one.gaps()]).toEqual([0, 0]);
  await network.join('three');
  network.silence('three');
  network.advance(10_000);
  expect([one.members.count, one.gaps()]).toEqual([0, 1]);
});

it('[MANY-10] an interrupted bus is one gap, however many hints were lost meanwhile', async () => {
  const network = new Network();
  const [one, two] = [await network.join('one'), await network.join('two')];
  network.isLost = (from) => from === 'two';
  for (let count = 0; count < 5; count++) two.members.tell(SESSIONS);
  network.isLost = () => false;
  network.gapFor('one');
  network.advance(10 * HEARTBEAT_EVERY_MS);
  expect(one.gaps()).toBe(1);
});

it('[MANY-10] a server without a bus assumes a gap from time to time', async () => {
  const network = new Network();
  let gaps = 0;
  const { clock, timers } = network;
  const members = new ClusterMembers({ id: 'alone', clock, timers, openBus: async () => null });
  members.listen({ onHint: () => undefined, answer: () => 0, onGap: () => gaps++ });
  await members.open();
  network.advance(60_000);
  expect(gaps).toBe(2);
});

it('[MANY-11] a query adds up the answers of all servers and does not wait for servers that are gone or silent', async () => {
  const network = new Network();
  const one = await network.join('one');
  await network.join('two', () => 2);
  const three = await network.join('three', () => 3);
  expect(await one.members.ask({ kind: 'listeners' })).toBe(5);
  network.isLost = (from, text) => from === 'three' && text.includes('answer');
  const slow = one.members.ask({ kind: 'listeners' });
  network.advance(1_000);
  expect(await slow).toBe(2);
  const cut = one.members.ask({ kind: 'listeners' });
  await three.members.close();
  expect(await cut).toBe(2);
  const last = one.members.ask({ kind: 'listeners' });
  await one.members.close();
  expect(await last).toBe(2);
  expect(await (await new Network().join('alone')).members.ask({ kind: 'listeners' })).toBe(0);
});
