import { deltaSince, wholeMember } from '../journal/record.ts';
import { wholeMembers } from '../journal/whole-members.ts';
import type { JoinedSlice, JournalRange, JournalSlice, PartitionState } from '../ports/store.ts';
import type { PageStart } from './page-start.ts';
import type { Baseline, PlainToken } from './token.ts';

/** A page before it is rendered; `puts`, `patches` and `drops` are members of JSON objects with commas in between. */
export interface PageParts {
  readonly token: PlainToken;
  readonly more: boolean;
  readonly reset: boolean;
  readonly deletes: readonly string[];
  readonly puts: string | Uint8Array;
  readonly patches: string;
  readonly drops: string;
  readonly size: number;
  readonly checksum: number;
}

/** The stretch of the journal a page is made of. */
export function rangeOf(start: PageStart, bounds: Pick<JournalRange, 'entriesMax' | 'unitsMax'>): JournalRange {
  // A device that starts over holds nothing, so it needs no tombstone from before.
  if (start.kind === 'reset') return { after: 0, tombstonesAfter: Number.MAX_SAFE_INTEGER, ...bounds };
  const { after, baseline } = start;
  return { after, tombstonesAfter: baseline.kind === 'start' ? Math.max(after, baseline.seq) : after, ...bounds };
}

/** Whether a page consists of whole objects whatever they were before, so that nobody has to look into them. */
export function sendsWholeObjects(start: PageStart, state: PartitionState): boolean {
  return baseOf(footholdOf(start, state), state) === null;
}

/** `slice` is what the store gave for `rangeOf(start)`: records that are joined already if the page is of wholes. */
export function buildPage(start: PageStart, slice: JournalSlice | JoinedSlice): PageParts {
  const more = slice.upTo < slice.state.head;
  const baseline = footholdOf(start, slice.state);
  return {
    token: {
      epoch: slice.state.epoch,
      seq: slice.upTo,
      baseline: more ? baseline : { kind: 'base', seq: slice.upTo },
    },
    more,
    reset: start.kind === 'reset',
    deletes: slice.tombstones,
    ...newsOf(slice, baseOf(baseline, slice.state)),
    size: slice.state.size,
    checksum: slice.state.checksum,
  };
}

function footholdOf(start: PageStart, state: PartitionState): Baseline {
  return start.kind === 'reset' ? { kind: 'start', seq: state.head } : start.baseline;
}

/** The base to compute differences against. Null: send whole objects, marks from below the floor are not kept. */
function baseOf(baseline: Baseline, state: PartitionState): number | null {
  return baseline.kind === 'base' && baseline.seq >= state.floor ? baseline.seq : null;
}

type PageNews = Pick<PageParts, 'puts' | 'patches' | 'drops'>;

function newsOf(slice: JournalSlice | JoinedSlice, base: number | null): PageNews {
  if ('count' in slice) {
    return { puts: slice.isOneLine === true ? slice.records : wholeMembers(slice.records), patches: '', drops: '' };
  }
  const { records } = slice;
  if (base === null) return { puts: records.map(wholeMember).join(','), patches: '', drops: '' };
  const puts: string[] = [];
  const patches: string[] = [];
  const drops: string[] = [];
  for (const record of records) {
    const news = deltaSince(record, base);
    if (news.kind === 'whole') puts.push(news.member);
    else {
      if (news.patch !== null) patches.push(news.patch);
      if (news.drop !== null) drops.push(news.drop);
    }
  }
  return { puts: puts.join(','), patches: patches.join(','), drops: drops.join(',') };
}
