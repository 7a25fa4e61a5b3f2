import type { Store } from '@tidemark/core';
import { Rng, seededRandom } from '@tidemark/testing/kit';

/** How long the calls of a store take. */
export interface Delays {
  /** Long enough for another writer to read and commit in between. */
  readonly usual: (rng: Rng) => Promise<void>;
  /** Long enough for a user to be deleted, recreated and written to in between. */
  readonly slow: (rng: Rng) => Promise<void>;
}

const TICKS_MAX = 12;
const SLOW_TICKS_MAX = 800;

/** Delays in microtasks, for an engine in memory. */
const MICROTASK_DELAYS: Delays = {
  usual: (rng) => ticks(rng.below(TICKS_MAX)),
  slow: (rng) => ticks(rng.below(SLOW_TICKS_MAX)),
};

const SLOW_MS_MAX = 150;

/** Delays in milliseconds, for an engine in a server of its own: histories beside this one run meanwhile. */
export const TIMER_DELAYS: Delays = {
  usual: async () => undefined,
  slow: (rng) => new Promise((resolve) => setTimeout(resolve, rng.below(SLOW_MS_MAX))),
};

async function ticks(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await null;
}

const SLOW_PERCENT = 40;
const SLOW_CALLS_MAX = 2;
const CALLS: readonly PropertyKey[] = [
  'commit',
  'commit',
  'readObjects',
  'readJournal',
  'readJoined',
  'countRecords',
  'writeEntries',
  'readEntry',
];

/**
 * Returns a store whose calls take a while, some longer than others, before and after they do their work, so that
 * concurrent writers meet. An engine in memory answers too promptly for that, and one in a server answers in the order
 * of the requests. In memory the order depends on the delay seed alone; a new seed makes other calls slow.
 */
export function delayedStore(store: Store, delaySeed: () => number, delays: Delays = MICROTASK_DELAYS): Store {
  const delay = delayer(delaySeed, delays);
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      // It returns a stream, not a promise.
      if (name === 'verify') return member.bind(target);
      return async (...args: unknown[]) => {
        await delay(name);
        const answer: unknown = await Reflect.apply(member, target, args);
        await delay(name);
        return answer;
      };
    },
  });
}

function delayer(delaySeed: () => number, delays: Delays): (name: PropertyKey) => Promise<void> {
  let current = delaySeed();
  let rng = new Rng(seededRandom(current));
  let slow = drawSlowCalls(rng);
  return async (name) => {
    if (delaySeed() !== current) {
      current = delaySeed();
      rng = new Rng(seededRandom(current));
      slow = drawSlowCalls(rng);
    }
    await (slow.has(name) && rng.chance(SLOW_PERCENT) ? delays.slow(rng) : delays.usual(rng));
  };
}

function drawSlowCalls(rng: Rng): ReadonlySet<PropertyKey> {
  return new Set(rng.shuffle(CALLS).slice(0, rng.between(0, SLOW_CALLS_MAX)));
}
