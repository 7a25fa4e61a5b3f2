import type { Store } from '@tidemark/core';
import { Dice } from '../kit/dice.ts';
import { seededRandom } from '../kit/seeded-random.ts';

/** Enough for another writer to read and commit in between. */
const TICKS_MAX = 12;
/** Enough for a user to be deleted, made again and written to in between. */
const SLOW_TICKS_MAX = 800;
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
 * answers so promptly that writers rarely meet; this one makes them meet, in an order that depends on the weather
 * alone. Each time the weather changes, other calls are the slow ones.
 */
export function jitterStore(store: Store, weather: () => number): Store {
  const idle = idler(weather);
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

function idler(weather: () => number): (name: PropertyKey) => Promise<void> {
  let current = weather();
  let dice = new Dice(seededRandom(current));
  let slow = drawSlow(dice);
  return async (name) => {
    if (weather() !== current) {
      current = weather();
      dice = new Dice(seededRandom(current));
      slow = drawSlow(dice);
    }
    const most = slow.has(name) && dice.chance(SLOW_PERCENT) ? SLOW_TICKS_MAX : TICKS_MAX;
    for (let ticks = dice.below(most); ticks > 0; ticks--) await null;
  };
}

function drawSlow(dice: Dice): ReadonlySet<PropertyKey> {
  return new Set(dice.shuffle(CALLS).slice(0, dice.between(0, SLOW_CALLS_MAX)));
}
