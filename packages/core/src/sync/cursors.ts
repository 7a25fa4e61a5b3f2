import { isValidUpTo } from '../journal/is-valid-up-to.ts';
import type { DeviceTidemark, PartitionKey, Store } from '../ports/store.ts';
import { isoTime } from '../primitives/iso-time.ts';
import type { SourceView } from '../sources/sources.ts';

/** How far a device has come with a source, as administrators see it. */
export interface Cursor {
  /** How far its pages went. */
  readonly seq: number;
  /** What it surely holds: the head at its last complete catch-up; null while it starts over. */
  readonly base: number | null;
  /** How far the source has come. */
  readonly head: number;
  readonly seen_at: string;
}

/** Of every source the device has pulled. */
export async function cursorsOf(
  store: Store,
  client: string,
  sources: readonly { readonly source: SourceView; readonly partition: PartitionKey }[],
): Promise<Readonly<Record<string, Cursor>>> {
  const cursors: [string, Cursor][] = [];
  for (const { source, partition } of sources) {
    const mark = await store.readTidemark(partition, client);
    const state = await store.partition(partition);
    if (mark !== null && isValidUpTo(state, mark.epoch) !== null)
      cursors.push([source.name, cursorOf(mark, state.head)]);
  }
  return Object.fromEntries(cursors);
}

function cursorOf({ seq, base, seenAtMs }: DeviceTidemark, head: number): Cursor {
  return { seq, base, head, seen_at: isoTime(seenAtMs) };
}
