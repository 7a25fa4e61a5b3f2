import { elapsedMs } from '../ports/clock.ts';
import type { DeviceTidemark, EntryRef, PartitionKey, Store } from '../ports/store.ts';
import type { BuiltPage } from './build-page.ts';

/** The tidemark of a device that does not move is recorded only this often, so that a pull without news writes nothing. */
const TIDEMARK_RECORD_EVERY_MS = 3_600_000;

/**
 * The progress of a device on its way to the next complete catch-up is recorded only this often. Trimming needs it no
 * more exactly, and a first sync of many pages would otherwise cost a write for each page.
 */
const PROGRESS_RECORD_EVERY_MS = 1_000;

/**
 * What a device has acknowledged by presenting the token for which it gets `page`. Of a device that starts over, the head
 * at which it starts is recorded, because its next tokens depend on it.
 */
export function tidemarkOf(
  client: string,
  { start, token }: Pick<BuiltPage, 'start' | 'token'>,
  nowMs: number,
): DeviceTidemark {
  const isReset = start.kind === 'reset';
  const { kind, seq } = isReset ? ({ kind: 'start', seq: token.baseline.seq } as const) : start.baseline;
  return {
    client,
    epoch: token.epoch,
    seenAtMs: nowMs,
    seq: isReset ? 0 : start.after,
    base: kind === 'base' ? seq : null,
    start: kind === 'start' ? seq : null,
  };
}

/** Records a tidemark, which trimming must not pass. Returns what is recorded then. */
export async function recordTidemark(
  store: Store,
  partition: PartitionKey,
  mark: DeviceTidemark,
): Promise<DeviceTidemark> {
  const known = await store.readTidemark(partition, mark.client);
  if (known !== null && !isWorthRecording(known, mark)) return known;
  const guards: readonly EntryRef[] = [{ kind: 'client', key: [mark.client] }];
  // The result does not matter: a client that was deleted meanwhile needs no tidemark.
  await store.noteTidemark(partition, mark, guards);
  return mark;
}

/** Whether `mark` must be recorded when `known` is what was recorded last. */
export function isWorthRecording(known: DeviceTidemark, mark: DeviceTidemark): boolean {
  const isSameBaseline = known.epoch === mark.epoch && known.base === mark.base && known.start === mark.start;
  // A device that goes back holds less than what is recorded.
  if (!isSameBaseline || mark.seq < known.seq) return true;
  const everyMs = mark.seq === known.seq ? TIDEMARK_RECORD_EVERY_MS : PROGRESS_RECORD_EVERY_MS;
  return elapsedMs(known.seenAtMs, mark.seenAtMs) >= everyMs;
}
