import type { DeviceTidemark, EntryRef, PartitionKey, Store } from '../ports/store.ts';
import type { PlainToken } from './build-page.ts';
import type { PageStart } from './start-of.ts';

/** A device at rest is noted again only after this long, so that looking for changes costs no write. */
export const TIDEMARK_NOTE_EVERY_MS = 3_600_000;

/**
 * How far a device has come on its way to the next complete catch-up is noted only this often. Trimming does not need
 * it more exactly, and a first sync of many pages would otherwise cost a write for each.
 */
export const PROGRESS_NOTE_EVERY_MS = 1_000;

/**
 * Remembers what the device presented: trimming must not pass it. A device that starts over is noted with the head it
 * starts from, which its next tokens will depend on.
 */
export async function noteTidemark(
  store: Store,
  partition: PartitionKey,
  seen: { readonly client: string; readonly start: PageStart; readonly given: PlainToken; readonly nowMs: number },
): Promise<void> {
  const mark = markOf(seen);
  const known = await store.readTidemark(partition, seen.client);
  if (known !== null && !isNews(known, mark)) return;
  const guards: readonly EntryRef[] = [{ kind: 'client', key: [seen.client] }];
  // A client that is gone by now has nothing to remember, so the result does not matter.
  await store.noteTidemark(partition, mark, guards);
}

function markOf({ client, start, given, nowMs }: Parameters<typeof noteTidemark>[2]): DeviceTidemark {
  const common = { client, epoch: given.epoch, seenAtMs: nowMs };
  if (start.kind === 'continue') return { ...common, seq: start.after, ...footholdFields(start.foothold) };
  const startsAt = given.foothold.seq;
  return { ...common, seq: 0, base: null, start: startsAt };
}

function footholdFields(foothold: PlainToken['foothold']): Pick<DeviceTidemark, 'base' | 'start'> {
  return foothold.kind === 'base' ? { base: foothold.seq, start: null } : { base: null, start: foothold.seq };
}

function isNews(known: DeviceTidemark, mark: DeviceTidemark): boolean {
  const isSameWay = known.epoch === mark.epoch && known.base === mark.base && known.start === mark.start;
  // Whoever goes back holds less than is noted, which must not stay so.
  if (!isSameWay || mark.seq < known.seq) return true;
  const everyMs = mark.seq === known.seq ? TIDEMARK_NOTE_EVERY_MS : PROGRESS_NOTE_EVERY_MS;
  return mark.seenAtMs - known.seenAtMs >= everyMs;
}
