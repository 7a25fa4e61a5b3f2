import {
  LIST_MAX,
  pointer,
  RECEIPT_ACTIVE_MS,
  RECEIPT_REREAD_MS,
  RECEIPT_WAITS_MAX,
  Refusal,
} from '@tidemark/protocol';
import { readClientRecord } from '../devices/client-record.ts';
import { clientsOf } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { Files } from '../files/files.ts';
import { isValidUpTo } from '../journal/is-valid-up-to.ts';
import type { Acknowledgement } from '../pages/record-tidemark.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import { partitionName } from '../ports/owner.ts';
import type { DeviceTidemark, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { isoTime } from '../primitives/time.ts';
import type { SourceView } from '../sources/source-view.ts';
import type { Sources } from '../sources/sources.ts';
import { readCursor } from './behind-ranges.ts';
import { DeliveryCounter, hasAcknowledged, isStartingOver, missingChanges } from './delivery-count.ts';
import { type Question, type ReceiptCall, readQuestion } from './receipt-question.ts';

export interface ReceiptsParts {
  readonly files: Pick<Files, 'countMissing'>;
  readonly store: Store;
  readonly clock: Clock;
  readonly sources: Sources;
  /** Resolves after so long. Absent: nobody can wait for devices. */
  readonly wait?: (ms: number) => Promise<void>;
  /** Returns the unsubscribe function. */
  readonly onAcknowledged: (listener: (acknowledgement: Acknowledgement) => void) => () => void;
}

/** A device that has not acknowledged the seq. */
export interface BehindDevice {
  readonly client_id: string;
  readonly user_id: string;
  /** Null: the device is starting over and has acknowledged nothing. */
  readonly acknowledged: number | null;
  /** Changes after what it has acknowledged; of a device that starts over, the objects of the source. */
  readonly missing: number;
  readonly last_contact: string;
}

export interface Receipt {
  readonly source: string;
  readonly user_id: string | null;
  readonly group?: string;
  readonly seq: number;
  readonly head: number;
  readonly devices: number;
  readonly delivered: number;
  readonly behind: number;
  readonly never_synced: number;
  readonly oldest_behind_at: string | null;
  readonly behind_devices: readonly BehindDevice[];
  /** Files that objects of the partition refer to and that have not arrived at the server. */
  readonly files_missing: number;
  /** Where the next page of devices begins; null: there is none. */
  readonly next: string | null;
  /** Only after waiting. True: all active devices have acknowledged the seq; others may be behind. */
  readonly active_delivered?: boolean;
}

/** The head of a partition at some moment. */
export interface SourceHead {
  readonly partition: PartitionKey;
  readonly epoch: string;
  readonly head: number;
}

/** How a wait ends early. */
export interface ReceiptWait {
  readonly waitMs: number;
  /** True: nobody wants the answer any more. */
  readonly isOver: () => boolean;
}

const BEHIND_PER_PAGE = 100;
const MARKS_PER_READ = 1_000;

/** Delivery receipts: which devices have acknowledged a seq. Only what a device presented as its token counts. */
export class Receipts {
  readonly #parts: ReceiptsParts;
  readonly #counter: DeliveryCounter;
  #waits = 0;

  constructor(parts: ReceiptsParts) {
    this.#parts = parts;
    this.#counter = new DeliveryCounter(parts.store);
  }

  async read(call: ReceiptCall): Promise<Receipt> {
    const question = await readQuestion(this.#parts, call);
    const state = await this.#parts.store.partition(question.partition);
    const seq = requireSeq(call.seq ?? state.head, state);
    const limit = requireLimit(call.limit ?? BEHIND_PER_PAGE);
    const counted = await this.#counter.count(question.partition, question.clients, state, seq);
    const { marks, next } = await counted.page(readCursor(call.after), limit);
    const oldest = call.after === undefined ? marks[0] : (await counted.page(null, 1)).marks[0];
    return {
      source: question.partition.source,
      user_id: question.user,
      ...(question.group === undefined ? {} : { group: question.group }),
      ...{ seq, head: state.head },
      ...{ devices: counted.devices, delivered: counted.known - counted.behind, behind: counted.behind },
      never_synced: Math.max(0, counted.devices - counted.known),
      oldest_behind_at: oldest === undefined ? null : isoTime(oldest.seenAtMs),
      behind_devices: await this.#views(marks, state),
      files_missing: await this.#parts.files.countMissing(question.partition),
      next,
    };
  }

  /**
   * Waits until all active devices have acknowledged the seq, then reads the receipt. Acknowledgements that this process
   * records are noticed at once; those of other servers when the store is read again.
   */
  async wait(call: ReceiptCall, { waitMs, isOver }: ReceiptWait): Promise<Receipt> {
    const { clock, store } = this.#parts;
    const question = await readQuestion(this.#parts, call);
    const state = await store.partition(question.partition);
    const seq = requireSeq(call.seq ?? state.head, state);
    if (this.#waits >= RECEIPT_WAITS_MAX) {
      throw new Refusal('overloaded', `${RECEIPT_WAITS_MAX} callers are waiting for devices; try again later`);
    }
    this.#waits += 1;
    let isDelivered = false;
    try {
      const startedMs = clock.nowMs();
      while (!isOver()) {
        isDelivered = await this.#isDelivered(question, seq);
        const leftMs = waitMs - elapsedMs(startedMs, clock.nowMs());
        if (isDelivered || leftMs <= 0) break;
        await this.#nextAcknowledgement(question.partition, Math.min(leftMs, RECEIPT_REREAD_MS));
      }
    } finally {
      this.#waits -= 1;
    }
    return { ...(await this.read({ ...call, seq })), active_delivered: isDelivered };
  }

  /** Whether the device has acknowledged the heads of all partitions that its user reads of these sources. */
  async isCaughtUp(user: string, client: string, sources: readonly string[]): Promise<boolean> {
    for (const name of sources) {
      const { sources: registry, store } = this.#parts;
      for (const partition of await registry.memberships.knownPartitionsOf(await registry.view(name), user)) {
        const state = await store.partition(partition);
        if (state.head === 0) continue;
        const mark = await store.readTidemark(partition, client);
        if (!hasAcknowledged(state, mark, state.head)) return false;
      }
    }
    return true;
  }

  /** A page of the devices, seen within so long, that have synchronised the source and have not acknowledged its head. */
  async behindClients(call: {
    readonly source: string;
    readonly user: string | null;
    readonly after: string | null;
    readonly limit: number;
    readonly seenWithinMs: number;
  }): Promise<{ readonly clients: readonly string[]; readonly next: string | null }> {
    const { clock } = this.#parts;
    const { source, user, limit, seenWithinMs } = call;
    const view = await this.#parts.sources.view(source);
    if (view.partition_type === 'group') return this.#behindInGroups(view, user, seenWithinMs);
    const { partition, clients } = await readQuestion(this.#parts, {
      source,
      ...(user === null ? {} : { user_id: user }),
    });
    const state = await this.#parts.store.partition(partition);
    const counted = await this.#counter.count(partition, clients, state, state.head);
    const { marks, next } = await counted.page(readCursor(call.after ?? undefined), limit);
    const nowMs = clock.nowMs();
    const seen = marks.filter(({ seenAtMs }) => elapsedMs(seenAtMs, nowMs) < seenWithinMs);
    return { clients: seen.map(({ client }) => client), next };
  }

  /** The same of a source of groups, whose notices are always about one user: a device may be behind in any group. */
  async #behindInGroups(source: SourceView, user: string | null, seenWithinMs: number) {
    const { store, clock, sources } = this.#parts;
    const clients: string[] = [];
    if (user === null) return { clients, next: null };
    const partitions = await sources.memberships.knownPartitionsOf(source, user);
    const states = await Promise.all(partitions.map((partition) => this.#parts.store.partition(partition)));
    for (const client of await clientsOf(store, user)) {
      const marks = await Promise.all(partitions.map((partition) => store.readTidemark(partition, client)));
      const isBehind = marks.some((mark, index) => {
        const state = states[index];
        if (mark === null || state === undefined || isValidUpTo(state, mark.epoch) === null) return false;
        const isSeen = elapsedMs(mark.seenAtMs, clock.nowMs()) < seenWithinMs;
        return isSeen && !hasAcknowledged(state, mark, state.head);
      });
      if (isBehind) clients.push(client);
    }
    return { clients, next: null };
  }

  /** What these sources hold for a user now. Sources that are gone are left out. */
  async headsOf(user: string, sources: readonly string[]): Promise<readonly SourceHead[]> {
    const { store, sources: directory } = this.#parts;
    const heads: SourceHead[] = [];
    for (const name of sources) {
      if (!(await directory.has(name))) continue;
      for (const partition of await directory.memberships.knownPartitionsOf(await directory.view(name), user)) {
        const { epoch, head } = await store.partition(partition);
        heads.push({ partition, epoch, head });
      }
    }
    return heads;
  }

  /**
   * By when the device had acknowledged all these heads; null: it has not. It may have been earlier, because the store only
   * knows when the last acknowledgement was recorded.
   */
  async caughtUpByMs(client: string, heads: readonly SourceHead[]): Promise<number | null> {
    let byMs = 0;
    for (const { partition, epoch, head } of heads) {
      if (head === 0) continue;
      const state = await this.#parts.store.partition(partition);
      const mark = await this.#parts.store.readTidemark(partition, client);
      if (mark === null || isValidUpTo(state, epoch) === null || !hasAcknowledged(state, mark, head)) return null;
      byMs = Math.max(byMs, mark.seenAtMs);
    }
    return byMs;
  }

  /** Devices that were not seen for long are not waited for. */
  async #isDelivered({ partition, clients }: Question, seq: number): Promise<boolean> {
    const { clock } = this.#parts;
    const state = await this.#parts.store.partition(partition);
    const counted = await this.#counter.count(partition, clients, state, seq);
    const nowMs = clock.nowMs();
    for (let after: string | null | undefined; after !== null; ) {
      const page = await counted.page(readCursor(after), MARKS_PER_READ);
      if (page.marks.some(({ seenAtMs }) => elapsedMs(seenAtMs, nowMs) < RECEIPT_ACTIVE_MS)) return false;
      after = page.next;
    }
    return true;
  }

  /** Resolves at the next acknowledgement of the partition in this process, or after so long. */
  async #nextAcknowledgement(awaited: PartitionKey, ms: number): Promise<void> {
    const { wait, onAcknowledged } = this.#parts;
    if (wait === undefined) throw new Error('waiting for devices needs a timer');
    let stop: () => void = () => undefined;
    const acknowledged = new Promise<void>((resolve) => {
      stop = onAcknowledged(({ partition }) => {
        if (partitionName(partition) === partitionName(awaited)) resolve();
      });
    });
    try {
      await Promise.race([acknowledged, wait(ms)]);
    } finally {
      stop();
    }
  }

  async #views(marks: readonly DeviceTidemark[], state: PartitionState): Promise<readonly BehindDevice[]> {
    const views = await Promise.all(
      marks.map(async (mark): Promise<BehindDevice | null> => {
        const entry = await this.#parts.store.readEntry(refs.client(mark.client));
        if (entry === null) return null;
        const { user, lastSyncMs } = readClientRecord(entry.value);
        return {
          client_id: mark.client,
          user_id: user,
          acknowledged: isStartingOver(state, mark) ? null : mark.base,
          missing: missingChanges(state, mark),
          last_contact: isoTime(Math.max(mark.seenAtMs, lastSyncMs ?? 0)),
        };
      }),
    );
    return views.flatMap((view) => view ?? []);
  }
}

function requireSeq(seq: number, { head }: PartitionState): number {
  if (Number.isSafeInteger(seq) && seq >= 0 && seq <= head) return seq;
  const detail = `must be a whole number from 0 to the head of the source, which is ${head}`;
  throw new Refusal('invalid_value', `seq ${detail}`, [{ pointer: pointer('seq'), detail }]);
}

function requireLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= LIST_MAX) return limit;
  const detail = `must be a whole number from 1 to ${LIST_MAX}`;
  throw new Refusal('invalid_request', `limit ${detail}`, [{ pointer: pointer('limit'), detail }]);
}
