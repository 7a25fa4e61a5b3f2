import type { PartitionKey } from '@tidemark/core';

/** Partitions named in one hint; beyond it others are told to look at everything. */
export const PARTITIONS_TOLD_MAX = 200;

/** The partitions in which something changed since they were last told of, however often. */
export class GatheredChanges {
  #partitions = new Map<string, PartitionKey>();
  #isTooMany = false;

  get isEmpty(): boolean {
    return this.#partitions.size === 0;
  }

  note(partition: PartitionKey): void {
    const { source, user } = partition;
    if (this.#isTooMany) return;
    this.#partitions.set(JSON.stringify([source, user]), { source, user });
    this.#isTooMany = this.#partitions.size > PARTITIONS_TOLD_MAX;
  }

  /** Null: too many to name. */
  take(): readonly PartitionKey[] | null {
    const taken = this.#isTooMany ? null : [...this.#partitions.values()];
    this.#partitions = new Map();
    this.#isTooMany = false;
    return taken;
  }
}
