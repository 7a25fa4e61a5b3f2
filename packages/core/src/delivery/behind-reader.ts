import { DETAILS_READS_MAX } from '@tidemark/protocol';
import type { ClientRecord } from '../devices/client-record.ts';
import { partitionName } from '../ports/owner.ts';
import type { Pace } from '../ports/pace.ts';
import type { PartitionKey, PartitionState, Store } from '../ports/store.ts';
import type { SourceView } from '../sources/source-view.ts';
import type { Sources } from '../sources/sources.ts';
import { missingChanges } from './delivery-count.ts';
import { heldEmpty } from './held-empty.ts';

export interface BehindReaderParts {
  readonly store: Store;
  readonly sources: Sources;
  readonly pace: Pace;
}

/** Positions that are read at once, before other work gets a turn. */
const READS_PER_TURN = 200;

/**
 * Counts what devices are missing in all their sources. One reader serves one page of a listing: it reads the state of each
 * partition once, and knows how much it has read.
 */
export class BehindReader {
  readonly #parts: BehindReaderParts;
  readonly #states = new Map<string, Promise<PartitionState>>();
  #sources: Promise<readonly SourceView[]> | null = null;
  #user: { readonly login: string; readonly partitions: readonly PartitionKey[] } | null = null;
  #reads = 0;

  constructor(parts: BehindReaderParts) {
    this.#parts = parts;
  }

  /** True: the page has read as much as it may. */
  get isSpent(): boolean {
    return this.#reads >= DETAILS_READS_MAX;
  }

  /**
   * The changes that the device has not acknowledged. Sources that it never pulled do not count, as in receipts. Null: it
   * has pulled nothing yet, so nobody knows what it wants.
   */
  async changesBehind(client: string, { user, lastSyncMs, wipe }: ClientRecord): Promise<number | null> {
    // A device that has erased itself holds nothing, and wants nothing.
    if (wipe !== undefined && wipe.confirmedAtMs !== null) return 0;
    if (lastSyncMs === null) return null;
    const partitions = await this.#partitionsOf(user);
    let behind = 0;
    for (let from = 0; from < partitions.length; from += READS_PER_TURN) {
      const some = partitions.slice(from, from + READS_PER_TURN);
      const missing = await Promise.all(some.map((partition) => this.#missingIn(partition, { client, lastSyncMs })));
      behind += missing.reduce((sum, count) => sum + count, 0);
      await this.countReads(some.length);
    }
    return behind;
  }

  async #missingIn(
    partition: PartitionKey,
    device: { readonly client: string; readonly lastSyncMs: number },
  ): Promise<number> {
    const { store } = this.#parts;
    const [state, stored] = await Promise.all([this.#state(partition), store.readTidemark(partition, device.client)]);
    if (state.head === 0) return 0;
    const mark = stored ?? heldEmpty(device, state, await store.commitTimes(partition));
    return mark === null ? 0 : missingChanges(state, mark);
  }

  #state(partition: PartitionKey): Promise<PartitionState> {
    const key = partitionName(partition);
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    const state = this.#parts.store.partition(partition);
    this.#states.set(key, state);
    return state;
  }

  /** Devices of one user follow each other in listings. */
  async #partitionsOf(login: string): Promise<readonly PartitionKey[]> {
    if (this.#user?.login === login) return this.#user.partitions;
    const { sources } = this.#parts;
    this.#sources ??= sources.list();
    const all = await this.#sources;
    const partitions = (
      await Promise.all(all.map((source) => sources.memberships.knownPartitionsOf(source, login)))
    ).flat();
    this.#user = { login, partitions };
    await this.countReads(all.length);
    return partitions;
  }

  /** Counts reads towards what the page may do. */
  async countReads(count: number): Promise<void> {
    const before = Math.floor(this.#reads / READS_PER_TURN);
    this.#reads += count;
    if (Math.floor(this.#reads / READS_PER_TURN) > before) await this.#parts.pace.turn();
  }
}
