import {
  type CommitRange,
  type LivePage,
  type Log,
  type PartitionKey,
  partitionName,
  renderChange,
  sharedPartition,
  userPartition,
} from '@tidemark/core';
import { errorMessage } from '@tidemark/protocol';
import { eventBytes } from './connection.ts';
import type { PageSelection } from './page-selection.ts';
import type { Changed } from './pending-changes.ts';

/** Reads the changes of commits as a page; null: devices have to pull. */
export type ReadLivePage = (partition: PartitionKey, range: CommitRange) => Promise<LivePage | null>;

/** Partitions whose last sent position is remembered; beyond it the one sent longest ago is dropped. */
const POSITIONS_MAX = 1_000;

/** The events of one round for devices that see the same data. */
export class ChangeEvents {
  readonly #events: readonly ChangeEvent[];
  readonly #joined = new Map<PageSelection, Buffer>();

  constructor(events: readonly ChangeEvent[]) {
    this.#events = events;
  }

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** Whether a device with this selection gets a page. */
  hasPagesFor(selection: PageSelection): boolean {
    return this.#events.some(({ source, page }) => page !== null && selection?.has(source));
  }

  /** The bytes for all devices with this selection, made once. With null there are only hints. */
  bytesFor(selection: PageSelection): Buffer {
    const known = this.#joined.get(selection);
    if (known !== undefined) return known;
    const bytes = Buffer.concat(
      this.#events.map(({ source, hint, page }) => (selection?.has(source) ? (page ?? hint) : hint)),
    );
    this.#joined.set(selection, bytes);
    return bytes;
  }
}

interface ChangeEvent {
  readonly source: string;
  readonly hint: Buffer;
  /** The event with the page; null: there is none. */
  readonly page: Buffer | null;
}

/**
 * Makes the events about changes. A page begins where the last one ended, so that devices that have got all events can
 * apply it, in whatever order servers hear of commits.
 */
export class ChangeEventMaker {
  readonly #read: ReadLivePage;
  readonly #log: Log;
  /** By partition: up to where devices have got pages. */
  readonly #sent = new Map<string, CommitRange>();

  constructor(read: ReadLivePage, log: Log) {
    this.#read = read;
    this.#log = log;
  }

  /** `user` is null for shared data. `isWanted` says whether any device takes the page of a source. */
  async make(
    user: string | null,
    changed: Exclude<Changed, 'many'>,
    isWanted: (source: string) => boolean,
  ): Promise<ChangeEvents> {
    const events = await Promise.all(
      Array.from(changed, ([source, range]) => {
        const partition = user === null ? sharedPartition(source) : userPartition(source, user);
        return this.#event(partition, isWanted(source) ? range : null);
      }),
    );
    return new ChangeEvents(events.flatMap((event) => event ?? []));
  }

  /** To be called when devices are told to pull, or when changes are not announced: they do not stand at the last page. */
  forget(): void {
    this.#sent.clear();
  }

  /** Null: the devices have got the change with the page before. */
  async #event(partition: PartitionKey, range: CommitRange | null): Promise<ChangeEvent | null> {
    const { source } = partition;
    const hint = eventBytes('changed', { source });
    const key = partitionName(partition);
    const sent = this.#sent.get(key);
    const isContinued = sent !== undefined && sent.epoch === range?.epoch;
    if (isContinued && sent.upTo >= range.upTo) return null;
    const live =
      range === null ? null : await this.#page(partition, isContinued ? { ...range, after: sent.upTo } : range);
    this.#sent.delete(key);
    if (live === null) return { source, hint, page: null };
    this.#remember(key, live.range);
    return { source, hint, page: Buffer.from(`event: changed\ndata: ${renderChange(source, live)}\n\n`) };
  }

  async #page(partition: PartitionKey, range: CommitRange): Promise<LivePage | null> {
    try {
      return await this.#read(partition, range);
    } catch (error) {
      this.#log.warn('live_page_failed', { source: partition.source, reason: errorMessage(error) });
      return null;
    }
  }

  #remember(key: string, range: CommitRange): void {
    this.#sent.set(key, range);
    for (const oldest of this.#sent.keys()) {
      if (this.#sent.size <= POSITIONS_MAX) return;
      this.#sent.delete(oldest);
    }
  }
}
