import { elapsedMs } from '../ports/clock.ts';
import type { DeviceTidemark, Guard, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import type { BuiltPage } from './build-page.ts';
import type { PageStart } from './pull-position.ts';
import type { PlainToken } from './token.ts';

/** The tidemark of a device that does not move is recorded only this often, so that a pull without news writes nothing. */
const TIDEMARK_RECORD_EVERY_MS = 3_600_000;

/**
 * The progress of a device on its way to the next complete catch-up is recorded only this often. Trimming needs it no
 * more exactly, and a first sync of many pages would otherwise cost a write for each page.
 */
const PROGRESS_RECORD_EVERY_MS = 1_000;

/** A device has acknowledged more than before: it presented a token of a complete catch-up, which is now recorded. */
export interface Acknowledgement {
  readonly partition: PartitionKey;
  readonly client: string;
  readonly epoch: string;
  /** The device holds every change up to this seq. */
  readonly seq: number;
  /** What it had acknowledged before in this epoch; null: nothing, or it was starting over. */
  readonly previous: number | null;
  readonly atMs: number;
}

/** What a presented token says: where its device continues, and under which epoch and baseline. */
export interface PresentedPosition {
  readonly start: PageStart;
  readonly token: Pick<PlainToken, 'epoch' | 'baseline'>;
  /** The seq up to which the answer brings the device everything; absent: there is more, or nothing was sent. */
  readonly sent?: number;
}

/** The position of a device that is sent this page. */
export function sentPosition(page: BuiltPage): BuiltPage & PresentedPosition {
  return page.more ? page : { ...page, sent: page.token.seq };
}

/**
 * What a device has acknowledged by presenting the token for which it gets a page. Of a device that starts over, the head
 * at which it starts is recorded, because its next tokens depend on it.
 */
export function tidemarkOf(client: string, { start, token, sent }: PresentedPosition, nowMs: number): DeviceTidemark {
  const isReset = start.kind === 'reset';
  const { kind, seq } = isReset ? ({ kind: 'start', seq: token.baseline.seq } as const) : start.baseline;
  return {
    client,
    epoch: token.epoch,
    seenAtMs: nowMs,
    seq: isReset ? 0 : start.after,
    base: kind === 'base' ? seq : null,
    start: kind === 'start' ? seq : null,
    ...(sent === undefined || (kind === 'base' && sent <= seq) ? {} : { sent }),
  };
}

/** The tidemark of a device that holds nothing any more, and needs the tombstones that are made from now on. */
export function emptiedTidemark(client: string, { epoch, head }: PartitionState, nowMs: number): DeviceTidemark {
  return { client, epoch, seq: 0, base: null, start: head, seenAtMs: nowMs };
}

/** No partition has this epoch, so a tidemark of it counts for nothing: not as delivered, not as behind, not for trims. */
const NO_EPOCH = 'none';

/** Voids the tidemark of a device that has erased itself and never comes back. */
export async function voidTidemark(store: Store, partition: PartitionKey, client: string): Promise<void> {
  const mark = await store.readTidemark(partition, client);
  if (mark !== null)
    await store.noteTidemark(partition, { ...mark, epoch: NO_EPOCH }, [{ kind: 'client', key: [client] }]);
}

export interface RecordTidemarkParts {
  readonly store: Store;
  /** Called after a tidemark is recorded that acknowledges more than the one before. */
  readonly onAcknowledged: (acknowledgement: Acknowledgement) => void;
}

/** Another server records a tidemark of the same device at the same time. More often than this in a row it never does. */
const ATTEMPTS_MAX = 5;

/**
 * Records a tidemark, which trimming must not pass and receipts are counted from. Every acknowledgement of a device comes
 * through here. Returns what is recorded then. What is about to be recorded late must not undo what another server has
 * recorded meanwhile of a later visit of the device. The guards say what must still exist.
 */
export async function recordTidemark(
  { store, onAcknowledged }: RecordTidemarkParts,
  partition: PartitionKey,
  mark: DeviceTidemark,
  guards: readonly Guard[],
): Promise<DeviceTidemark> {
  let known = await store.readTidemark(partition, mark.client);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    if (known !== null && !isWorthRecording(known, mark)) return known;
    const { status } = await store.noteTidemark(partition, mark, guards, known);
    if (status !== 'conflict') {
      const acknowledgement = acknowledgementIn(partition, known, mark);
      // A client that was deleted meanwhile needs no tidemark.
      if (status === 'written' && acknowledgement !== null) onAcknowledged(acknowledgement);
      return mark;
    }
    known = await store.readTidemark(partition, mark.client);
    if (known !== null && known.seenAtMs > mark.seenAtMs) return known;
  }
  return known ?? mark;
}

function acknowledgementIn(
  partition: PartitionKey,
  known: DeviceTidemark | null,
  { client, epoch, base, seenAtMs }: DeviceTidemark,
): Acknowledgement | null {
  const previous = known !== null && known.epoch === epoch ? known.base : null;
  if (base === null || (previous !== null && previous >= base)) return null;
  return { partition, client, epoch, seq: base, previous, atMs: seenAtMs };
}

/** Whether `mark` must be recorded when `known` is what was recorded last. */
export function isWorthRecording(known: DeviceTidemark, mark: DeviceTidemark): boolean {
  // A device that has erased itself presents nothing any more: this is of a call that began before.
  if (known.epoch === NO_EPOCH) return false;
  const isSameBaseline = known.epoch === mark.epoch && known.base === mark.base && known.start === mark.start;
  // A device that goes back holds less than what is recorded.
  if (!isSameBaseline || mark.seq < known.seq) return true;
  // A device that asks for pages of a start over again has not stored what completed it before.
  if (mark.base === null && mark.sent === undefined && known.sent !== undefined) return true;
  const isSentMore = mark.sent !== undefined && mark.sent !== known.sent;
  // The end of a start over is one write more. The changes that a device is sent later are acknowledged soon after.
  if (isSentMore && mark.base === null) return true;
  const hasMoved = isSentMore || mark.seq !== known.seq;
  const everyMs = hasMoved ? PROGRESS_RECORD_EVERY_MS : TIDEMARK_RECORD_EVERY_MS;
  return elapsedMs(known.seenAtMs, mark.seenAtMs) >= everyMs;
}
