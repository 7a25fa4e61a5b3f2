import type { Store } from '@tidemark/core';
import { Dice, seededRandom } from '@tidemark/testing/kit';

/** How long calls take. */
export interface Tempo {
  /** Enough for another writer to read and commit in between. */
  readonly prompt: (dice: Dice) => Promise<void>;
  /** Enough for a user to be deleted, made again and written to in between. */
  readonly slow: (dice: Dice) => Promise<void>;
}

const TICKS_MAX = 12;
const SLOW_TICKS_MAX = 800;

/** For an engine in memory. */
export const IN_MEMORY: Tempo = {
  prompt: (dice) => ticks(dice.below(TICKS_MAX)),
  slow: (dice) => ticks(dice.below(SLOW_TICKS_MAX)),
};

const SLOW_MS_MAX = 150;

/** For a server of its own: while some calls wait, histories beside this one go on. */
export const BY_SERVER: Tempo = {
  prompt: async () => undefined,
  slow: (dice) => new Promise((resolve) => setTimeout(resolve, dice.below(SLOW_MS_MAX))),
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
  'writeEntries',
  'readEntry',
];

/**
 * A store whose calls take a while, some longer than others, before and after they do their work. An engine in memory
 * answers so promptly that writers rarely meet, and one on a server answers in the order it was asked; this one makes
 * them meet. In memory the order depends on the weather alone. Each time the weather changes, other calls are slow.
 */
export function jitterStore(store: Store, weather: () => number, tempo: Tempo = IN_MEMORY): Store {
  const idle = idler(weather, tempo);
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      // Answers a stream, not a promise.
      if (name === 'verify') return member.bind(target);
      return async (...args: unknown[]) => {
        await idle(name);
        const answer: unknown = await Reflect.apply(member, target, args);
        await idle(name);
        return answer;
      };
    },
  });
}

function idler(weather: () => number, tempo: Tempo): (name: PropertyKey) => Promise<void> {
  let current = weather();
  let dice = new Dice(seededRandom(current));
  let slow = drawSlow(dice);
  return async (name) => {
    if (weather() !== current) {
      current = weather();
      dice = new Dice(seededRandom(current));
      slow = drawSlow(dice);
    }
    await (slow.has(name) && dice.chance(SLOW_PERCENT) ? tempo.slow(dice) : tempo.prompt(dice));
  };
}

function drawSlow(dice: Dice): ReadonlySet<PropertyKey> {
  return new Set(dice.shuffle(CALLS).slice(0, dice.between(0, SLOW_CALLS_MAX)));
}
