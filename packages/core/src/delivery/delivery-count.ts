import { readClientRecord } from '../devices/client-record.ts';
import { refs } from '../entries/refs.ts';
import { isValidUpTo } from '../journal/is-valid-up-to.ts';
import { acknowledgedSeq } from '../ports/store/notes.ts';
import type { DeviceTidemark, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { type BehindRange, behindRanges, type readCursor, writeCursor } from './behind-ranges.ts';
import { heldEmpty } from './held-empty.ts';

/** How many devices have acknowledged a seq of a partition, and pages of those that have not. */
export interface DeliveryCount {
  readonly devices: number;
  /** Devices with a tidemark of this epoch of the partition. */
  readonly known: number;
  readonly behind: number;
  readonly page: (
    after: ReturnType<typeof readCursor>,
    limit: number,
  ) => Promise<{ readonly marks: readonly DeviceTidemark[]; readonly next: string | null }>;
}

/** Counts the devices of a partition by what they have acknowledged. */
export class DeliveryCounter {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** `clients` names the devices that are counted; null: all that follow the partition. */
  count(
    partition: PartitionKey,
    clients: readonly string[] | null,
    state: PartitionState,
    seq: number,
  ): Promise<DeliveryCount> {
    return clients === null ? this.#ofAll(partition, state, seq) : this.#of(partition, clients, state, seq);
  }

  /** All devices that follow a shared partition: counted by the index, so that only those behind are read. */
  async #ofAll(partition: PartitionKey, state: PartitionState, seq: number): Promise<DeliveryCount> {
    const store = this.#store;
    const ranges = behindRanges(state, seq);
    const epochs = new Map<string, number>();
    let behind = 0;
    for (const { epoch, from, below } of ranges) {
      const upper = await store.countAcknowledged(partition, { epoch, below });
      const lower = from === 0 ? 0 : (await store.countAcknowledged(partition, { epoch, below: from })).below;
      behind += upper.below - lower;
      epochs.set(epoch, upper.devices);
    }
    const marked = [...epochs.values()].reduce((sum, count) => sum + count, 0);
    const devices = Math.max(marked, await store.countEntries('client'));
    // Nothing was ever written, so there is nothing that a device could miss.
    const known = state.head === 0 ? devices : marked;
    return { devices, known, behind, page: (after, limit) => listBehind(store, partition, { ranges, after, limit }) };
  }

  async #of(
    partition: PartitionKey,
    clients: readonly string[],
    state: PartitionState,
    seq: number,
  ): Promise<DeliveryCount> {
    const times = await this.#store.commitTimes(partition);
    const found = await Promise.all(
      clients.map(async (client) => {
        const [mark, entry] = await Promise.all([
          this.#store.readTidemark(partition, client),
          this.#store.readEntry(refs.client(client)),
        ]);
        const { lastSyncMs = null, wipe } = entry === null ? {} : readClientRecord(entry.value);
        // A device that has erased itself holds nothing, whatever it had acknowledged before.
        if (wipe !== undefined && wipe.confirmedAtMs !== null) return null;
        return mark ?? heldEmpty({ client, lastSyncMs }, state, times);
      }),
    );
    const marks = found.flatMap((mark) => (mark !== null && isValidUpTo(state, mark.epoch) !== null ? mark : []));
    const behind = marks.filter((mark) => !hasAcknowledged(state, mark, seq)).sort(byAcknowledged);
    const page: DeliveryCount['page'] = async (after, limit) => {
      // The last device of the page before may have caught up meanwhile.
      const rest = after === null ? behind : behind.filter((mark) => byAcknowledged(mark, after) > 0);
      const some = rest.slice(0, limit);
      const last = some.at(-1);
      const isMore = limit < rest.length && last !== undefined;
      return { marks: some, next: isMore ? writeCursor({ range: 0, base: last.base, client: last.client }) : null };
    };
    return { devices: clients.length, known: marks.length, behind: behind.length, page };
  }
}

/** Sorts the devices that are the furthest behind first. */
function byAcknowledged(left: Acknowledged, right: Acknowledged): number {
  const difference = acknowledgedSeq(left) - acknowledgedSeq(right);
  if (difference !== 0 || left.client === right.client) return difference;
  return left.client < right.client ? -1 : 1;
}

type Acknowledged = Pick<DeviceTidemark, 'base' | 'client'>;

interface BehindList {
  readonly ranges: readonly BehindRange[];
  readonly after: ReturnType<typeof readCursor>;
  readonly limit: number;
}

async function listBehind(store: Store, partition: PartitionKey, { ranges, after, limit }: BehindList) {
  const marks: DeviceTidemark[] = [];
  for (let range = after?.range ?? 0; range < ranges.length; range++) {
    const { epoch, from, below } = ranges[range] as BehindRange;
    const start = after !== null && after.range === range ? after : from === 0 ? null : { base: from, client: '' };
    const left = limit - marks.length;
    const list = { epoch, below, limit: left, ...(start === null ? {} : { after: start }) };
    marks.push(...(await store.listAcknowledged(partition, list)));
    const last = marks.at(-1);
    if (marks.length >= limit && last !== undefined) {
      return { marks, next: writeCursor({ range, base: last.base, client: last.client }) };
    }
  }
  return { marks, next: null };
}

/** Whether the device of this tidemark holds every change up to `seq`, in this epoch of the partition. */
export function hasAcknowledged(state: PartitionState, mark: DeviceTidemark | null, seq: number): boolean {
  if (mark === null || mark.base === null) return false;
  const validUpTo = isValidUpTo(state, mark.epoch);
  return validUpTo !== null && mark.base <= validUpTo && mark.base >= seq;
}

/** Whether the device of this tidemark has acknowledged nothing of this epoch. */
export function isStartingOver(state: PartitionState, mark: DeviceTidemark): boolean {
  return mark.base === null || !hasAcknowledged(state, mark, mark.base);
}

/** Counts the changes after what the device of this tidemark has acknowledged; if it starts over, the objects. */
export function missingChanges(state: PartitionState, mark: DeviceTidemark): number {
  return isStartingOver(state, mark) ? state.size : state.head - (mark.base ?? 0);
}
