import type { PartitionKey } from '@tidemark/core';

/** Sources told by name at once; beyond it devices are told to pull everything. */
export const SOURCES_TOLD_MAX = 50;

/** The sources in which something changed, of one user or of everybody. */
export type Changed = ReadonlySet<string> | 'many';

/** What changed since it was last told, however often. */
export class PendingChanges {
  #shared: Set<string> | 'many' = new Set();
  readonly #byUser = new Map<string, Set<string> | 'many'>();

  note({ source, user }: PartitionKey): void {
    if (user === null) this.#shared = grown(this.#shared, source);
    else this.#byUser.set(user, grown(this.#byUser.get(user) ?? new Set(), source));
  }

  get shared(): Changed {
    return this.#shared;
  }

  /** What changed of each user's own. */
  get byUser(): ReadonlyMap<string, Changed> {
    return this.#byUser;
  }
}

function grown(sources: Set<string> | 'many', source: string): Set<string> | 'many' {
  if (sources === 'many') return sources;
  sources.add(source);
  return sources.size > SOURCES_TOLD_MAX ? 'many' : sources;
}
