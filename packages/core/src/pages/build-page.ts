import { deltaSince, wholeMember } from '../journal/record.ts';
import { wholeMembers } from '../journal/whole-members.ts';
import type { JoinedSlice, JournalRange, JournalSlice, PartitionKey, PartitionState } from '../ports/store.ts';
import type { PageStart, PullPosition } from './pull-position.ts';
import { emptyBody, type PageBody, type PageChanges, renderBody } from './render-page.ts';
import { type Baseline, givenToken, type PlainToken } from './token.ts';

/** A page as all devices get it that stand at the same position. */
export interface BuiltPage {
  readonly partition: PartitionKey;
  /** The state of the partition that the page was made from. */
  readonly state: PartitionState;
  readonly start: PageStart;
  readonly token: PlainToken;
  /** The token as text, for devices that were never told to start over. Absent on empty pages. */
  readonly tokenText?: string;
  readonly more: boolean;
  /** Objects and tombstones on the page. */
  readonly entries: number;
  readonly body: PageBody;
}

/** The part of the journal that a page is made from. */
export function rangeOf(start: PageStart, bounds: Pick<JournalRange, 'entriesMax' | 'unitsMax'>): JournalRange {
  // A device that starts over holds nothing, so it needs no tombstone from before.
  if (start.kind === 'reset') return { after: 0, tombstonesAfter: Number.MAX_SAFE_INTEGER, ...bounds };
  const { after, baseline } = start;
  return { after, tombstonesAfter: baseline.kind === 'start' ? Math.max(after, baseline.seq) : after, ...bounds };
}

/** Whether a page consists of whole objects, whatever they were before, so that no record has to be parsed. */
export function sendsWholeObjects(start: PageStart, state: PartitionState): boolean {
  return baseOf(baselineOf(start, state), state) === null;
}

/** What a page says of a part of the journal. */
export interface SliceChanges extends PageChanges {
  readonly state: PartitionState;
  readonly tombstones: readonly string[];
  readonly upTo: number;
  /** Objects and tombstones. */
  readonly entries: number;
}

/** `slice` is what the store returned for `rangeOf(start)`; a joined one if the page consists of whole objects. */
export function changesIn(slice: JournalSlice | JoinedSlice, start: PageStart): SliceChanges {
  const { state, tombstones, upTo } = slice;
  const entries = ('count' in slice ? slice.count : slice.records.length) + tombstones.length;
  return { state, tombstones, upTo, entries, ...changesOf(slice, baseOf(baselineOf(start, state), state)) };
}

export function buildPage(partition: PartitionKey, start: PageStart, changes: SliceChanges): BuiltPage {
  const { state, tombstones, upTo, entries, puts, patches, drops } = changes;
  const more = upTo < state.head;
  const baseline = baselineOf(start, state);
  const token: PlainToken = {
    epoch: state.epoch,
    seq: upTo,
    ...(more ? { baseline, head: state.head } : { baseline: { kind: 'base', seq: upTo } }),
  };
  const { size, checksum } = state;
  const reset = start.kind === 'reset';
  const body = renderBody({ more, reset, deletes: tombstones, puts, patches, drops, size, checksum });
  return { partition, state, start, token, tokenText: givenToken(token), more, entries, body };
}

/** The page of a device that holds everything. Its cost does not depend on the size of the document. */
export function emptyPage({ partition, state, start }: PullPosition): BuiltPage {
  const { epoch, head, size, checksum } = state;
  const token: PlainToken = { epoch, seq: head, baseline: { kind: 'base', seq: head } };
  return { partition, state, start, token, more: false, entries: 0, body: emptyBody(size, checksum) };
}

/** What the device is known to hold when it gets a page that starts there. */
export function baselineOf(start: PageStart, state: PartitionState): Baseline {
  return start.kind === 'reset' ? { kind: 'start', seq: state.head } : start.baseline;
}

/** The base to compute differences against. Null: whole objects are sent, since marks from below the floor are gone. */
function baseOf(baseline: Baseline, state: PartitionState): number | null {
  return baseline.kind === 'base' && baseline.seq >= state.floor ? baseline.seq : null;
}

function changesOf(slice: JournalSlice | JoinedSlice, base: number | null): PageChanges {
  if ('count' in slice) {
    return { puts: slice.isOneLine === true ? slice.records : wholeMembers(slice.records), patches: '', drops: '' };
  }
  const { records } = slice;
  if (base === null) return { puts: records.map(wholeMember).join(','), patches: '', drops: '' };
  const puts: string[] = [];
  const patches: string[] = [];
  const drops: string[] = [];
  for (const record of records) {
    const delta = deltaSince(record, base);
    if (delta.kind === 'whole') puts.push(delta.member);
    else {
      if (delta.patch !== null) patches.push(delta.patch);
      if (delta.drop !== null) drops.push(delta.drop);
    }
  }
  return { puts: puts.join(','), patches: patches.join(','), drops: drops.join(',') };
}
