import type { Bus, BusListener } from '@tidemark/core';
import { settableClock } from '@tidemark/testing';
import { expect, it } from 'vitest';
import type { Timers } from '../jobs/timers.ts';
import { ClusterMembers, HERE_EVERY_MS } from './cluster-members.ts';
import type { Hint } from './hint.ts';

/** Time that passes when it is told to, for servers joined by a bus that loses what it is told to. */
class World {
  readonly clock = settableClock();
  readonly #listeners = new Map<string, BusListener>();
  #timers: { atMs: number; callback: () => void }[] = [];
  isLosing: (from: string, text: string) => boolean = () => false;

  readonly timers: Timers = {
    after: (delayMs, callback) => {
      const timer = { atMs: this.clock.nowMs() + delayMs, callback };
      this.#timers.push(timer);
      return () => {
        this.#timers = this.#timers.filter((one) => one !== timer);
      };
    },
  };

  pass(ms: number): void {
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

  /** As if its process had been killed: it says and hears nothing more. */
  silence(word: string): void {
    this.#listeners.delete(word);
  }

  gapFor(word: string): void {
    this.#listeners.get(word)?.onGap();
  }

  async join(word: string, answer: () => number = () => 0) {
    const heard: Hint[] = [];
    let gaps = 0;
    const openBus = async (listener: BusListener): Promise<Bus> => {
      this.#listeners.set(word, listener);
      return { publish: (text) => this.#carry(word, text), close: async () => this.silence(word) };
    };
    const neighbours = new ClusterMembers({
      ...{ word, clock: this.clock, timers: this.timers, openBus, answer },
      onHint: (hint) => heard.push(hint),
      onGap: () => gaps++,
    });
    await neighbours.open();
    return { neighbours, heard, gaps: () => gaps };
  }

  #carry(from: string, text: string): void {
    if (!this.#listeners.has(from) || this.isLosing(from, text)) return;
    for (const listener of [...this.#listeners.values()]) listener.onText(text);
  }
}

const SESSIONS: Hint = { kind: 'sessions', user: null };

it('[MANY-9] servers find each other, and hear what the others tell, but not themselves', async () => {
  const world = new World();
  const [one, two, three] = [await world.join('one'), await world.join('two'), await world.join('three')];
  expect([one, two, three].map(({ neighbours }) => neighbours.count)).toEqual([2, 2, 2]);
  two.neighbours.tell(SESSIONS);
  expect([one.heard, two.heard, three.heard]).toEqual([[SESSIONS], [], [SESSIONS]]);
  world.pass(10 * HERE_EVERY_MS);
  expect([one.gaps(), two.gaps(), three.gaps()]).toEqual([0, 0, 0]);
});

it('[MANY-10] that a hint was lost is noticed with the next sign of life, by those who have missed it', async () => {
  const world = new World();
  const [one, two] = [await world.join('one'), await world.join('two')];
  two.neighbours.tell(SESSIONS);
  world.isLosing = (_, text) => text.includes('sessions');
  two.neighbours.tell(SESSIONS);
  expect([one.heard.length, one.gaps()]).toEqual([1, 0]);
  world.pass(HERE_EVERY_MS);
  expect([one.gaps(), two.gaps()]).toEqual([1, 0]);
  world.pass(10 * HERE_EVERY_MS);
  expect(one.gaps()).toBe(1);
});

it('[MANY-10] what was told before a server came may concern those who listen there already', async () => {
  const world = new World();
  const one = await world.join('one');
  world.isLosing = () => true;
  const two = await world.join('two');
  two.neighbours.tell(SESSIONS);
  expect([one.neighbours.count, one.gaps()]).toEqual([0, 0]);
  world.isLosing = () => false;
  world.pass(HERE_EVERY_MS);
  expect([one.neighbours.count, one.gaps()]).toEqual([1, 1]);
});

it('[MANY-10] a server that falls silent may have left something untold; one that says goodbye has not', async () => {
  const world = new World();
  const one = await world.join('one');
  const two = await world.join('two');
  await two.neighbours.close();
  world.pass(20_000);
  expect([one.neighbours.count, one.gaps()]).toEqual([0, 0]);
  await world.join('three');
  world.silence('three');
  world.pass(10_000);
  expect([one.neighbours.count, one.gaps()]).toEqual([0, 1]);
});

it('[MANY-10] a way to the others that was broken is one gap, however much was told meanwhile', async () => {
  const world = new World();
  const [one, two] = [await world.join('one'), await world.join('two')];
  world.isLosing = (from) => from === 'two';
  for (let count = 0; count < 5; count++) two.neighbours.tell(SESSIONS);
  world.isLosing = () => false;
  world.gapFor('one');
  world.pass(10 * HERE_EVERY_MS);
  expect(one.gaps()).toBe(1);
});

it('[MANY-10] without any way to the others, something is taken for lost from time to time', async () => {
  const world = new World();
  let gaps = 0;
  const parts = { word: 'alone', clock: world.clock, timers: world.timers, answer: () => 0, onHint: () => undefined };
  await new ClusterMembers({ ...parts, openBus: async () => null, onGap: () => gaps++ }).open();
  world.pass(60_000);
  expect(gaps).toBe(2);
});

it('[MANY-11] a question is answered by all; who is gone or does not answer is not waited for', async () => {
  const world = new World();
  const one = await world.join('one');
  await world.join('two', () => 2);
  const three = await world.join('three', () => 3);
  expect(await one.neighbours.ask({ kind: 'listeners' })).toBe(5);
  world.isLosing = (from, text) => from === 'three' && text.includes('answer');
  const slow = one.neighbours.ask({ kind: 'listeners' });
  world.pass(1_000);
  expect(await slow).toBe(2);
  const cut = one.neighbours.ask({ kind: 'listeners' });
  await three.neighbours.close();
  expect(await cut).toBe(2);
  const last = one.neighbours.ask({ kind: 'listeners' });
  await one.neighbours.close();
  expect(await last).toBe(2);
  expect(await (await new World().join('alone')).neighbours.ask({ kind: 'listeners' })).toBe(0);
});
