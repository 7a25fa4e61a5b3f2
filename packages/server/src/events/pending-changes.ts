import { type CommitRange, joinRanges, type PartitionKey } from '@tidemark/core';

/** Sources named in one round of events; with more, devices are told to pull everything. */
export const SOURCES_PER_ROUND_MAX = 50;

/** Changed sources of one user, or the shared ones, with what was committed; null: that is not known. */
export type Changed = ReadonlyMap<string, CommitRange | null> | 'many';

/** The changes since the last round of events. */
export class PendingChanges {
  #shared: Changed = new Map();
  readonly #byUser = new Map<string, Changed>();

  note({ source, owner }: PartitionKey, range: CommitRange | null): void {
    if (owner.kind === 'shared') this.#shared = withSource(this.#shared, source, range);
    if (owner.kind !== 'user') return;
    this.#byUser.set(owner.login, withSource(this.#byUser.get(owner.login) ?? new Map(), source, range));
  }

  get shared(): Changed {
    return this.#shared;
  }

  /** Changes of each user's own data. */
  get byUser(): ReadonlyMap<string, Changed> {
    return this.#byUser;
  }
}

function withSource(changed: Changed, source: string, range: CommitRange | null): Changed {
  if (changed === 'many') return changed;
  const before = changed.get(source);
  (changed as Map<string, CommitRange | null>).set(source, before === undefined ? range : joinRanges(before, range));
  return changed.size > SOURCES_PER_ROUND_MAX ? 'many' : changed;
}
