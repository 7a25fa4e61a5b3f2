import type { Store } from '@tidemark/core';

/** A planted bug, which the contract must find. */
export interface BrokenStore {
  readonly flaw: string;
  /** The rule whose cases must fail. */
  readonly caughtBy: string;
  /** The broken calls; all others go to the correct store. */
  readonly breaks: (sound: Store) => Partial<Store>;
}

export function breakStore(sound: Store, { breaks }: BrokenStore): Store {
  const wrong = breaks(sound);
  return new Proxy(sound, {
    get(target, name) {
      const value: unknown = Reflect.get(name in wrong ? wrong : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
