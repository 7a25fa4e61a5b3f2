import type { Jobs } from '@tidemark/core';

/** A planted bug, which the contract must find. */
export interface BrokenJobs {
  readonly flaw: string;
  /** The rule whose cases must fail. */
  readonly caughtBy: string;
  /** The broken calls; all others go to the correct engine. */
  readonly breaks: (sound: Jobs) => Partial<Jobs>;
}

export function breakJobs(sound: Jobs, { breaks }: BrokenJobs): Jobs {
  const wrong = breaks(sound);
  return new Proxy(sound, {
    get(target, name) {
      const value: unknown = Reflect.get(name in wrong ? wrong : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
