import { Refusal } from '@tidemark/protocol';
import { isSameState } from '../ports/store/partition.ts';
import type { JournalRange, PartitionKey, Store } from '../ports/store.ts';
import { type BuiltPage, buildPage, changesIn, rangeOf, type SliceChanges, sendsWholeObjects } from './build-page.ts';
import { type PageStart, type PullPosition, pageStartOf } from './pull-position.ts';

export type PageBounds = Pick<JournalRange, 'entriesMax' | 'unitsMax'>;

/** An attempt fails only when the epoch or the floor of the partition changed between two reads. */
const PULL_ATTEMPTS_MAX = 5;
/** Slices of the journal on one page of changes. Records can be many times longer than what is sent of them. */
const PAGE_SLICES_MAX = 16;

/** Reads the page that begins at the position, as of now. */
export async function readFromStore(store: Store, position: PullPosition, bounds: PageBounds): Promise<BuiltPage> {
  const { partition, token, restarts } = position;
  let { state, start } = position;
  for (let attempt = 0; attempt < PULL_ATTEMPTS_MAX; attempt++) {
    const isWhole = sendsWholeObjects(start, state);
    const range = rangeOf(start, bounds);
    const slice = await (isWhole ? store.readJoined(partition, range) : store.readJournal(partition, range));
    // The partition may have changed since its state was read, so that the page must begin elsewhere.
    const now = isSameState(slice.state, state) ? start : pageStartOf(token, slice.state, restarts);
    if (now.kind === start.kind) {
      const changes = changesIn(slice, start);
      if (isWhole || start.kind === 'reset') return buildPage(partition, start, changes);
      return buildPage(partition, start, await readOn(store, { partition, start, bounds }, changes));
    }
    state = slice.state;
    start = now;
  }
  throw new Refusal('store_unavailable', 'the partition kept being replaced while it was read');
}

interface PageRequest {
  readonly partition: PartitionKey;
  readonly start: Extract<PageStart, { kind: 'continue' }>;
  readonly bounds: PageBounds;
}

/**
 * Reads on while less than half of the page is used: the store bounds what it reads by the length of the records, but
 * only attributes that changed are sent. All slices of a page are of one state, so that no object is on it twice.
 */
async function readOn(
  store: Store,
  { partition, start, bounds }: PageRequest,
  first: SliceChanges,
): Promise<SliceChanges> {
  const changes = [first];
  let { upTo, entries } = first;
  let units = unitsOf(first);
  const hasRoom = () => upTo < first.state.head && entries < bounds.entriesMax && 2 * units < bounds.unitsMax;
  while (changes.length < PAGE_SLICES_MAX && hasRoom()) {
    const left = { entriesMax: bounds.entriesMax - entries, unitsMax: bounds.unitsMax - units };
    const slice = await store.readJournal(partition, rangeOf({ ...start, after: upTo }, left));
    if (!isSameState(slice.state, first.state)) break;
    const next = changesIn(slice, start);
    changes.push(next);
    upTo = next.upTo;
    entries += next.entries;
    units += unitsOf(next);
  }
  return changes.length === 1 ? first : { ...joined(changes), state: first.state, upTo, entries };
}

function unitsOf({ tombstones, puts, patches, drops }: SliceChanges): number {
  return tombstones.reduce((sum, id) => sum + id.length, puts.length + patches.length + drops.length);
}

function joined(changes: readonly SliceChanges[]): Pick<SliceChanges, 'tombstones' | 'puts' | 'patches' | 'drops'> {
  const texts = (member: 'puts' | 'patches' | 'drops') =>
    changes.flatMap((one) => (one[member].length === 0 ? [] : String(one[member]))).join(',');
  return {
    tombstones: changes.flatMap(({ tombstones }) => tombstones),
    puts: texts('puts'),
    patches: texts('patches'),
    drops: texts('drops'),
  };
}
