import type { Store } from '@tidemark/core';
import { Dice } from '../kit/dice.ts';
import { seededRandom } from '../kit/seeded-random.ts';

/** Enough for another writer to read and commit in between. */
const TICKS_MAX = 12;
/** Enough for a user to be deleted, made again and written to in between. */
const SLOW_TICKS_MAX = 800;
/** The same, counted in calls that others make meanwhile. */
const SLOW_CALLS_AWAITED_MAX = 40;
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
  const moodOf = moods(weather);
  return delayed(store, async (name) => {
    const { isSlow, dice } = moodOf(name);
    for (let ticks = dice.below(isSlow ? SLOW_TICKS_MAX : TICKS_MAX); ticks > 0; ticks--) await null;
  });
}

/**
 * The same for an engine that has to be asked over a wire, where ticks count for nothing: a slow call, or its answer, is
 * held back until some other calls have been answered, or until there are none.
 */
export function slowStore(store: Store, weather: () => number): Store {
  const moodOf = moods(weather);
  const calls = new CallsUnderWay();
  const counted = new Proxy(store, {
    get: (target, name) => wrapped(target, name, (call) => calls.count(call)),
  });
  return delayed(counted, async (name) => {
    const { isSlow, dice } = moodOf(name);
    if (isSlow) await calls.await(dice.below(SLOW_CALLS_AWAITED_MAX));
  });
}

function delayed(store: Store, idle: (name: PropertyKey) => Promise<void>): Store {
  return new Proxy(store, {
    get: (target, name) =>
      wrapped(target, name, async (call) => {
        await idle(name);
        const answer = await call();
        await idle(name);
        return answer;
      }),
  });
}

function wrapped(
  target: Store,
  name: PropertyKey,
  around: (call: () => Promise<unknown>) => Promise<unknown>,
): unknown {
  const member: unknown = Reflect.get(target, name, target);
  if (typeof member !== 'function') return member;
  // Answers a stream, not a promise.
  if (name === 'verify') return member.bind(target);
  return (...args: unknown[]) => around(async () => Reflect.apply(member, target, args));
}

/** Calls of one store that wait for an answer, and others that wait for those. */
class CallsUnderWay {
  #underWay = 0;
  #isLooking = false;
  #waiting: { left: number; readonly go: () => void }[] = [];

  async count(call: () => Promise<unknown>): Promise<unknown> {
    this.#underWay++;
    try {
      return await call();
    } finally {
      this.#underWay--;
      for (const waiting of this.#waiting) waiting.left--;
      this.#release((waiting) => waiting.left <= 0);
      this.#lookLater();
    }
  }

  /** Waits until so many calls have been answered, or until there is none that could be. */
  await(calls: number): Promise<void> {
    return new Promise((go) => {
      this.#waiting.push({ left: calls, go });
      this.#lookLater();
    });
  }

  #release(isDue: (waiting: { readonly left: number }) => boolean): void {
    const due = this.#waiting.filter(isDue);
    this.#waiting = this.#waiting.filter((waiting) => !isDue(waiting));
    for (const { go } of due) go();
  }

  /** Whoever was just answered may be about to make the next call, so only the next turn tells whether nobody is. */
  #lookLater(): void {
    if (this.#isLooking || this.#waiting.length === 0) return;
    this.#isLooking = true;
    setImmediate(() => {
      this.#isLooking = false;
      if (this.#underWay > 0) return;
      const least = Math.min(...this.#waiting.map(({ left }) => left));
      this.#release(({ left }) => left === least);
      // Those released may have no more calls to make.
      this.#lookLater();
    });
  }
}

/** Whether a call is a slow one in the weather of the moment, and the dice that go with it. */
function moods(weather: () => number): (name: PropertyKey) => { readonly isSlow: boolean; readonly dice: Dice } {
  let current = weather();
  let dice = new Dice(seededRandom(current));
  let slow = drawSlow(dice);
  return (name) => {
    if (weather() !== current) {
      current = weather();
      dice = new Dice(seededRandom(current));
      slow = drawSlow(dice);
    }
    return { isSlow: slow.has(name) && dice.chance(SLOW_PERCENT), dice };
  };
}

function drawSlow(dice: Dice): ReadonlySet<PropertyKey> {
  return new Set(dice.shuffle(CALLS).slice(0, dice.between(0, SLOW_CALLS_MAX)));
}
