import type { Jobs } from '@tidemark/core';

/** A planted bug. The contract is worth something only if every one of them makes it fail. */
export interface BrokenJobs {
  readonly flaw: string;
  /** The rule whose cases must notice. */
  readonly caughtBy: string;
  /** The calls that are done wrongly; all others go to the sound engine. */
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
