import type { PartitionKey } from '@tidemark/core';

/** Sources named in one round of events; with more, devices are told to pull everything. */
export const SOURCES_PER_ROUND_MAX = 50;

/** Changed sources of one user, or the shared ones. */
export type Changed = ReadonlySet<string> | 'many';

/** The changes since the last round of events. */
export class PendingChanges {
  #shared: Set<string> | 'many' = new Set();
  readonly #byUser = new Map<string, Set<string> | 'many'>();

  note({ source, user }: PartitionKey): void {
    if (user === null) this.#shared = withSource(this.#shared, source);
    else this.#byUser.set(user, withSource(this.#byUser.get(user) ?? new Set(), source));
  }

  get shared(): Changed {
    return this.#shared;
  }

  /** Changes of each user's own data. */
  get byUser(): ReadonlyMap<string, Changed> {
    return this.#byUser;
  }
}

function withSource(sources: Set<string> | 'many', source: string): Set<string> | 'many' {
  if (sources === 'many') return sources;
  sources.add(source);
  return sources.size > SOURCES_PER_ROUND_MAX ? 'many' : sources;
}
