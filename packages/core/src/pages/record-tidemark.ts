import { elapsedMs } from '../ports/clock.ts';
import type { DeviceTidemark, EntryRef, PartitionKey, Store } from '../ports/store.ts';
import type { PageStart } from './page-start.ts';
import type { PlainToken } from './token.ts';

/** A device at rest is noted again only after this long, so that looking for changes costs no write. */
export const TIDEMARK_RECORD_EVERY_MS = 3_600_000;

/**
 * How far a device has come on its way to the next complete catch-up is noted only this often. Trimming does not need
 * it more exactly, and a first sync of many pages would otherwise cost a write for each.
 */
export const PROGRESS_RECORD_EVERY_MS = 1_000;

/** What a device has shown by presenting a token. */
export interface TidemarkReport {
  readonly client: string;
  /** How the token was taken. */
  readonly start: PageStart;
  /** The token of the page it was given. */
  readonly given: PlainToken;
  readonly nowMs: number;
}

/** A device that starts over is noted with the head it starts from, which its next tokens will depend on. */
export function tidemarkOf({ client, start, given, nowMs }: TidemarkReport): DeviceTidemark {
  const isReset = start.kind === 'reset';
  const { kind, seq } = isReset ? ({ kind: 'start', seq: given.baseline.seq } as const) : start.baseline;
  return {
    client,
    epoch: given.epoch,
    seenAtMs: nowMs,
    seq: isReset ? 0 : start.after,
    base: kind === 'base' ? seq : null,
    start: kind === 'start' ? seq : null,
  };
}

/** Remembers what the device presented: trimming must not pass it. Answers what is noted then. */
export async function noteTidemark(
  store: Store,
  partition: PartitionKey,
  mark: DeviceTidemark,
): Promise<DeviceTidemark> {
  const known = await store.readTidemark(partition, mark.client);
  if (known !== null && !isWorthRecording(known, mark)) return known;
  const guards: readonly EntryRef[] = [{ kind: 'client', key: [mark.client] }];
  // A client that is gone by now has nothing to remember, so the result does not matter.
  await store.noteTidemark(partition, mark, guards);
  return mark;
}

/** Whether a place must be noted, when another is. */
export function isWorthRecording(known: DeviceTidemark, mark: DeviceTidemark): boolean {
  const isSameWay = known.epoch === mark.epoch && known.base === mark.base && known.start === mark.start;
  // Whoever goes back holds less than is noted, which must not stay so.
  if (!isSameWay || mark.seq < known.seq) return true;
  const everyMs = mark.seq === known.seq ? TIDEMARK_RECORD_EVERY_MS : PROGRESS_RECORD_EVERY_MS;
  return elapsedMs(known.seenAtMs, mark.seenAtMs) >= everyMs;
}
