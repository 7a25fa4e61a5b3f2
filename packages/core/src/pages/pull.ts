import { Refusal } from '@tidemark/protocol';
import type { JoinedSlice, JournalRange, JournalSlice, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { buildPage, rangeOf, sendsWholeObjects } from './build-page.ts';
import type { BuiltPage } from './built-page.ts';
import type { PageCache } from './page-cache.ts';
import { type PageStart, pageStartOf } from './page-start.ts';
import { emptyBody, renderBody } from './render-page.ts';
import { givenToken, readToken, type Token } from './token.ts';

export type PageBounds = Pick<JournalRange, 'entriesMax' | 'unitsMax'>;

/** What a device presents to one partition. */
export interface PresentedToken {
  readonly partition: PartitionKey;
  /** Null: it holds nothing. */
  readonly token: string | null;
  /** How often it has been told to start over. */
  readonly restarts: number;
}

/** What a first look tells: whether there is anything to send, without reading any of it. */
export interface PullPosition {
  readonly partition: PartitionKey;
  /** What the device presented, as it presented it. */
  readonly presented: string | null;
  readonly token: Token | null | 'unreadable';
  readonly restarts: number;
  readonly state: PartitionState;
  /** Where its next page begins, in this state. */
  readonly start: PageStart;
  readonly hasNews: boolean;
}

/** Every attempt fails only when the partition's life or floor changed between two reads. */
const PULL_ATTEMPTS_MAX = 5;

export async function readPosition(store: Store, presented: PresentedToken): Promise<PullPosition> {
  return positionAt(await store.partition(presented.partition), presented);
}

/** The same with the state at hand. */
export function positionAt(state: PartitionState, { partition, token: text, restarts }: PresentedToken): PullPosition {
  const token = text === null ? null : (readToken(text) ?? 'unreadable');
  const start = pageStartOf(token, state, restarts);
  return { partition, presented: text, token, restarts, state, start, hasNews: !isAtHead(start, state) };
}

/** What changed after the token. */
export async function pull(store: Store, seen: PullPosition, bounds: PageBounds, cache: PageCache): Promise<BuiltPage> {
  if (!seen.hasNews) return emptyPage(seen);
  if (seen.partition.user !== null) return readPage(store, seen, bounds);
  return cache.of(cacheKey(seen, bounds), async () => {
    const page = await readPage(store, seen, bounds);
    return { page, isKept: isSameState(page.state, seen.state) };
  });
}

/** The same page if somebody has been given it before; null: it would have to be made. */
export function cachedPage(seen: PullPosition, bounds: PageBounds, cache: PageCache): BuiltPage | null {
  return seen.hasNews && seen.partition.user === null ? cache.get(cacheKey(seen, bounds)) : null;
}

async function readPage(
  store: Store,
  { partition, token, restarts, state: firstState }: PullPosition,
  bounds: PageBounds,
): Promise<BuiltPage> {
  let state = firstState;
  for (let attempt = 0; attempt < PULL_ATTEMPTS_MAX; attempt++) {
    const start = pageStartOf(token, state, restarts);
    const range = rangeOf(start, bounds);
    const slice = await (sendsWholeObjects(start, state)
      ? store.readJoined(partition, range)
      : store.readJournal(partition, range));
    // Whether what was decided on the first look still holds at the moment the journal was read.
    if (pageStartOf(token, slice.state, restarts).kind === start.kind) return built(start, slice);
    state = slice.state;
  }
  throw new Refusal('store_unavailable', 'the partition kept being replaced while it was read');
}

function built(start: PageStart, slice: JournalSlice | JoinedSlice): BuiltPage {
  const page = buildPage(start, slice);
  const entries = ('count' in slice ? slice.count : slice.records.length) + slice.tombstones.length;
  const { token, more } = page;
  const { state } = slice;
  return { token, tokenText: givenToken(token), more, entries, body: renderBody(page), start, state };
}

function isAtHead(start: PageStart, state: PartitionState): boolean {
  return start.kind === 'continue' && start.after === state.head;
}

/** The page of a device that holds everything. It costs nothing that grows with the document. */
export function emptyPage({ state, start }: PullPosition): BuiltPage {
  const { epoch, head, size, checksum } = state;
  const token: BuiltPage['token'] = { epoch, seq: head, baseline: { kind: 'base', seq: head } };
  return { token, more: false, entries: 0, body: emptyBody(size, checksum), start, state };
}

/** All that a page depends on. Head and floor stand for the whole state: it cannot change without one of them. */
function cacheKey({ partition, state, start }: PullPosition, { entriesMax, unitsMax }: PageBounds): string {
  const from = start.kind === 'reset' ? '' : `${start.after} ${start.baseline.kind} ${start.baseline.seq}`;
  // The name comes last, since it may contain anything.
  return `${state.epoch} ${state.head} ${state.floor} ${from} ${entriesMax} ${unitsMax} ${partition.source}`;
}

function isSameState(left: PartitionState, right: PartitionState): boolean {
  return left.epoch === right.epoch && left.head === right.head && left.floor === right.floor;
}
