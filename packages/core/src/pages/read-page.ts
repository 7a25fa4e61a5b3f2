import { type Limits, type PartialError, pointer, Refusal } from '@tidemark/protocol';
import type { JournalRange, PartitionState, Store } from '../ports/store.ts';
import { type BuiltPage, buildPage, emptyPage, rangeOf, sendsWholeObjects } from './build-page.ts';
import type { PageCache } from './page-cache.ts';
import { type PageStart, type PullPosition, pageStartOf } from './pull-position.ts';
import { bodyWith, type PageBody } from './render-page.ts';
import { tokenText } from './token.ts';

export type PageBounds = Pick<JournalRange, 'entriesMax' | 'unitsMax'>;

/** A page for one device. Its JSON is `{"token":"<token>",` followed by the parts of the body. */
export interface RenderedPage {
  readonly token: string;
  readonly more: boolean;
  /** Objects and tombstones on the page. */
  readonly entries: number;
  readonly start: PageStart;
  readonly body: PageBody;
  /** Whether other devices get the same body. */
  readonly isShared: boolean;
}

/** An attempt fails only when the epoch or the floor of the partition changed between two reads. */
const PULL_ATTEMPTS_MAX = 5;

/** The bounds that a caller asks for, within the limits. */
export function pageBounds(
  { pageObjectsMax, pageUnitsMax }: Pick<Limits, 'pageObjectsMax' | 'pageUnitsMax'>,
  { objectsMax, unitsMax }: { readonly objectsMax?: number; readonly unitsMax?: number },
): PageBounds {
  return {
    entriesMax: bounded(objectsMax, pageObjectsMax, 'max_objects'),
    unitsMax: bounded(unitsMax, pageUnitsMax, 'max_units'),
  };
}

function bounded(asked: number | undefined, max: number, name: string): number {
  if (asked === undefined) return max;
  if (Number.isInteger(asked) && asked >= 1) return Math.min(asked, max);
  const detail = 'must be a whole number from 1';
  throw new Refusal('invalid_value', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}

/** Reads the page that a device gets next. Pages of shared partitions come from the cache, or go into it. */
export async function readPage(
  store: Store,
  position: PullPosition,
  bounds: PageBounds,
  cache: PageCache,
): Promise<BuiltPage> {
  if (!position.hasNews) return emptyPage(position);
  if (position.partition.user !== null) return readFromStore(store, position, bounds);
  return cache.of(cacheKey(position, bounds), async () => {
    const page = await readFromStore(store, position, bounds);
    return { page, isKept: isSameState(page.state, position.state) };
  });
}

/** Returns the page if it is in the cache; null: it would have to be read. */
export function cachedPage(position: PullPosition, bounds: PageBounds, cache: PageCache): BuiltPage | null {
  return position.hasNews && position.partition.user === null ? cache.get(cacheKey(position, bounds)) : null;
}

async function readFromStore(store: Store, position: PullPosition, bounds: PageBounds): Promise<BuiltPage> {
  const { partition, token, restarts } = position;
  let { state } = position;
  for (let attempt = 0; attempt < PULL_ATTEMPTS_MAX; attempt++) {
    const start = pageStartOf(token, state, restarts);
    const range = rangeOf(start, bounds);
    const slice = await (sendsWholeObjects(start, state)
      ? store.readJoined(partition, range)
      : store.readJournal(partition, range));
    // The partition may have changed since its state was read, so that the page must begin elsewhere.
    if (pageStartOf(token, slice.state, restarts).kind === start.kind) return buildPage(partition, start, slice);
    state = slice.state;
  }
  throw new Refusal('store_unavailable', 'the partition kept being replaced while it was read');
}

/** All that a page depends on. Head and floor stand for the whole state, which cannot change without one of them. */
function cacheKey({ partition, state, start }: PullPosition, { entriesMax, unitsMax }: PageBounds): string {
  const from = start.kind === 'reset' ? '' : `${start.after} ${start.baseline.kind} ${start.baseline.seq}`;
  // The name comes last, since it may contain anything.
  return `${state.epoch} ${state.head} ${state.floor} ${from} ${entriesMax} ${unitsMax} ${partition.source}`;
}

function isSameState(left: PartitionState, right: PartitionState): boolean {
  return left.epoch === right.epoch && left.head === right.head && left.floor === right.floor;
}

/** The page with the device's own token. With `error`, the backend could not be asked, and the page has what is stored. */
export function rendered(position: PullPosition, page: BuiltPage, error: PartialError | null): RenderedPage {
  const body = error === null ? page.body : bodyWith(page.body, `"error":${JSON.stringify(error)}`);
  const isShared = position.partition.user === null;
  const token = unchangedToken(position) ?? nextToken(position, page);
  return { token, more: page.more, entries: page.entries, start: page.start, body, isShared };
}

function nextToken({ restarts }: PullPosition, { token, tokenText: text }: BuiltPage): string {
  return restarts === 0 && text !== undefined ? text : tokenText(token, restarts);
}

/** Whether a page would say nothing beyond the token that the device presented. */
export function keepsToken(position: PullPosition): boolean {
  return unchangedToken(position) !== null;
}

/** A device that has caught up and finds nothing new keeps its token. Null: it gets another one. */
function unchangedToken({ hasNews, presented, token, state }: PullPosition): string | null {
  if (hasNews || token === null || token === 'unreadable') return null;
  const { epoch, seq, baseline } = token;
  return epoch === state.epoch && baseline.kind === 'base' && baseline.seq === seq ? presented : null;
}
