import type { Store } from '@tidemark/core';

/** A planted bug. The contract is worth something only if every one of them makes it fail. */
export interface BrokenStore {
  readonly flaw: string;
  /** The rule whose cases must notice. */
  readonly caughtBy: string;
  /** The calls that are done wrongly; all others go to the sound store. */
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
