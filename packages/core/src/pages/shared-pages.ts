import { isSameState } from '../ports/store/partition.ts';
import type { PartitionState, Store } from '../ports/store.ts';
import { type BuiltPage, baselineOf } from './build-page.ts';
import type { PageCache } from './page-cache.ts';
import { type PageStart, type PullPosition, pageStartOf } from './pull-position.ts';
import { type PageBounds, readFromStore } from './read-from-store.ts';
import { bodyWithSize } from './render-page.ts';
import { givenToken, type PlainToken } from './token.ts';

/**
 * Pages of shared partitions, which are made once for all devices.
 *
 * A page of changes is kept for the state of the partition in which it was made. A page of a first sync is kept
 * longer: it has the live records of one range of the journal, which a push can only remove, because an object that
 * changes moves to the end. So while the range has as many records as the page, the page is as good as new but for
 * the size it tells and the token. When records have left the range, only this page is read again, up to the same seq,
 * so that those behind it still begin where they did.
 */

/** Returns the page if it is in the cache and made in this state; null: it has to be read. */
export function cachedPage(position: PullPosition, bounds: PageBounds, cache: PageCache): BuiltPage | null {
  const known = cachedFirstSync(position, bounds, cache);
  if (known !== null && isSameState(known.state, position.state)) return pageAt(known, position.start, position.state);
  return cache.get(stateKey(position, bounds));
}

/** Returns the page from the cache, or reads it and keeps it there. */
export function readShared(
  store: Store,
  position: PullPosition,
  bounds: PageBounds,
  cache: PageCache,
): Promise<BuiltPage> {
  const known = cachedPage(position, bounds, cache);
  if (known !== null) return Promise.resolve(known);
  return cache.of(stateKey(position, bounds), async () => {
    const earlier = cachedFirstSync(position, bounds, cache);
    const page =
      (earlier === null ? null : await recheck(store, position, bounds, earlier)) ??
      (await readFromStore(store, position, bounds));
    return { page, keepAs: keyFor(page, position, bounds) };
  });
}

/** The page of an earlier state, brought up to date. Null: it is better read anew. */
async function recheck(
  store: Store,
  position: PullPosition,
  bounds: PageBounds,
  earlier: BuiltPage,
): Promise<BuiltPage | null> {
  const { partition, token, restarts, start } = position;
  const upTo = earlier.token.seq;
  const { state, count } = await store.countRecords(partition, { after: afterOf(start), upTo });
  if (state.epoch !== earlier.state.epoch || pageStartOf(token, state, restarts).kind !== start.kind) return null;
  if (count === earlier.entries) return pageAt(earlier, start, state);
  // A page that has become small is filled up.
  const isSmall = 2 * count < bounds.entriesMax && 2 * earlier.body.units < bounds.unitsMax;
  if (isSmall || count === 0) return null;
  const page = await readFromStore(store, position, { ...bounds, entriesMax: count });
  // The partition may have been replaced since the records were counted: then the count says nothing about this page.
  if (page.state.epoch !== state.epoch || page.start.kind !== start.kind) return null;
  // The page has all records that were left up to `upTo`, so nothing lies between its last one and there.
  return page.more && page.token.seq < upTo ? withToken(page, { ...page.token, seq: upTo }) : page;
}

/** The same page for a device that starts there, in a state in which the range has the same records. */
function pageAt(page: BuiltPage, start: PageStart, state: PartitionState): BuiltPage {
  const baseline = baselineOf(start, state);
  if (page.token.baseline.seq === baseline.seq && isSameState(page.state, state)) return page;
  const body = page.state.size === state.size ? page.body : bodyWithSize(page.body, state.size);
  return withToken({ ...page, start, state, body }, { ...page.token, baseline, head: state.head });
}

function withToken(page: BuiltPage, token: PlainToken): BuiltPage {
  return { ...page, token, tokenText: givenToken(token) };
}

/** A cached page of a first sync from here on, of this state or an earlier one. */
function cachedFirstSync(position: PullPosition, bounds: PageBounds, cache: PageCache): BuiltPage | null {
  const { start, state } = position;
  if (baselineOf(start, state).kind !== 'start') return null;
  const known = cache.get(firstSyncKey(state.epoch, position, bounds));
  return known !== null && isWithoutTombstones(known, baselineOf(start, state).seq) ? known : null;
}

/** Whether a page has no tombstones for a device that began to start over at this head: it needs only those made since. */
function isWithoutTombstones({ token }: BuiltPage, startedAt: number): boolean {
  return token.seq <= startedAt;
}

/** The key to keep the page under. Null: it is not what the position asked for, and is not kept. */
function keyFor(page: BuiltPage, position: PullPosition, bounds: PageBounds): string | null {
  const { token, more, state, start } = page;
  if (start.kind !== position.start.kind) return null;
  const isFirstSync = token.baseline.kind === 'start' && more && isWithoutTombstones(page, token.baseline.seq);
  if (isFirstSync) return firstSyncKey(state.epoch, position, bounds);
  return isSameState(state, position.state) ? stateKey(position, bounds) : null;
}

// Names come last in keys, since they may contain anything.

function firstSyncKey(epoch: string, { partition, start }: PullPosition, { entriesMax, unitsMax }: PageBounds): string {
  return `first ${epoch} ${start.kind} ${afterOf(start)} ${entriesMax} ${unitsMax} ${partition.source}`;
}

/** All that a page depends on. Head and floor stand for the whole state, which cannot change without one of them. */
function stateKey({ partition, state, start }: PullPosition, { entriesMax, unitsMax }: PageBounds): string {
  const from = start.kind === 'reset' ? '' : `${start.after} ${start.baseline.kind} ${start.baseline.seq}`;
  return `state ${state.epoch} ${state.head} ${state.floor} ${from} ${entriesMax} ${unitsMax} ${partition.source}`;
}

function afterOf(start: PageStart): number {
  return start.kind === 'reset' ? 0 : start.after;
}
