import { type JsonValue, type KeyRange, parsePath, sortKey, valueAt } from '@tidemark/protocol';
import type { StoredObject } from '../ports/local-store.ts';
import type { Order, SortKey } from '../queries/order.ts';
import type { CompiledWhere } from '../queries/where.ts';
import type { Attributes } from '../state/rows.ts';
import type { ObjectsOnDisk } from './disk-in-version.ts';
import { keyRanges } from './key-ranges.ts';

/** What a query asks a source on the disk for. */
export interface Question {
  readonly source: string;
  readonly where: CompiledWhere;
  readonly order: Order;
  /** The paths that the source has indexes on. */
  readonly indexes: ReadonlySet<string>;
}

/** An object as it is stored, with what it is sorted by. */
export interface Match {
  readonly id: string;
  readonly attributes: Attributes;
  readonly key: SortKey;
}

export interface Selected {
  readonly matches: readonly Match[];
  /** True: nothing follows. */
  readonly isEnd: boolean;
}

/** How many candidates are sorted rather than found by scanning the order of an index. */
const SORTED_CANDIDATES_MAX = 1_000;
/** How many candidates are counted, to find the index that leaves the fewest. */
const COUNTED_CANDIDATES_MAX = 10_000;
const PAGE_MIN = 100;
const PAGE_MAX = 2_000;

/** Which of the matching objects are wanted: none of the first `skip`, and at most `take`. */
export interface Part {
  readonly skip: number;
  readonly take: number;
}

/** Returns the matching objects in their order. */
export async function select(disk: ObjectsOnDisk, question: Question, part: Part): Promise<Selected> {
  const { order, where } = question;
  const path = orderedBy(question);
  const indexed = await smallestIndex(disk, question);
  const isSorting = indexed !== null && indexed.path !== path && indexed.count <= SORTED_CANDIDATES_MAX;
  if (path === undefined || isSorting) return sorted(candidates(disk, question.source, indexed), question, part);
  const range = rangeOn(path, where);
  const isWhole = where.ranges.length === 0 || (range !== null && where.ranges[0]?.path === path);
  const scan = { source: question.source, path, range, isDescending: order.terms[0]?.sign === -1 };
  if (order.terms.length > 1)
    return inRuns(pagesOf(disk, scan, { skip: 0, take: part.skip + part.take + 1 }), question, path ?? '', part);
  // Where nothing is left to check, the store skips. One more than needed tells whether anything follows.
  const isExact = where.isOneRange && isWhole;
  const pages = pagesOf(disk, scan, { skip: isExact ? part.skip : 0, take: part.take + 1 });
  return inOrder(pages, question, { ...part, skip: isExact ? 0 : part.skip });
}

/** Returns how many objects match. */
export async function countMatching(disk: ObjectsOnDisk, question: Question): Promise<number> {
  const { source: first, where } = question;
  const all = Number.POSITIVE_INFINITY;
  const [condition] = where.ranges;
  if (where.isOneRange && condition === undefined) return disk.count({ first, path: null, range: null }, all);
  if (where.isOneRange && condition !== undefined && question.indexes.has(condition.path)) {
    let count = 0;
    for (const range of keyRanges(condition)) count += await disk.count({ first, path: condition.path, range }, all);
    return count;
  }
  const indexed = await smallestIndex(disk, question);
  let count = 0;
  for await (const page of candidates(disk, question.source, indexed)) {
    count += page.filter(([, attributes]) => where.matches(attributes as Attributes)).length;
  }
  return count;
}

interface Ordered {
  readonly source: string;
  readonly path: string | null;
  readonly range: KeyRange | null;
  readonly isDescending: boolean;
}

/** The path of an index that gives the order, null: the order of ids; undefined: none does. */
function orderedBy({ order, indexes }: Question): string | null | undefined {
  const [first] = order.terms;
  if (first === undefined) return null;
  return indexes.has(first.name) ? first.name : undefined;
}

interface IndexChoice {
  readonly path: string;
  readonly ranges: readonly KeyRange[];
  readonly count: number;
}

/** The index that leaves the fewest candidates. */
async function smallestIndex(disk: ObjectsOnDisk, { source, where, indexes }: Question): Promise<IndexChoice | null> {
  let best: IndexChoice | null = null;
  for (const condition of where.ranges) {
    if (!indexes.has(condition.path)) continue;
    const ranges = keyRanges(condition);
    const max = best?.count ?? COUNTED_CANDIDATES_MAX;
    let count = 0;
    for (const range of ranges) {
      if (count < max) count += await disk.count({ first: source, path: condition.path, range }, max - count);
    }
    if (best === null || count < best.count) best = { path: condition.path, ranges, count };
  }
  return best;
}

/** Yields the objects of an index, or all, in pages. */
async function* candidates(
  disk: ObjectsOnDisk,
  source: string,
  indexed: Pick<IndexChoice, 'path' | 'ranges'> | null,
): AsyncGenerator<readonly StoredObject[]> {
  const { path, ranges } = indexed ?? { path: null, ranges: [null] };
  const all = { skip: 0, take: PAGE_MAX };
  for (const range of ranges) yield* pagesOf(disk, { source, path, range, isDescending: false }, all);
}

/** Yields the objects of an order in pages. */
export async function* pagesOf(
  disk: ObjectsOnDisk,
  { source: first, path, range, isDescending }: Ordered,
  { skip, take }: Part,
): AsyncGenerator<readonly StoredObject[]> {
  let after = null;
  let limit = Math.min(PAGE_MAX, Math.max(PAGE_MIN, take));
  for (;;) {
    const page = await disk.scan({ first, path, range, isDescending, after, skip: after === null ? skip : 0, limit });
    yield page;
    const last = page.at(-1);
    if (page.length < limit || last === undefined) return;
    after = { key: path === null ? '' : keyOf(last[1], path), id: last[0] };
    limit = Math.min(PAGE_MAX, limit * 2);
  }
}

type Pages = AsyncIterable<readonly StoredObject[]>;

/** Yields the objects of pages that match. */
async function* matching(pages: Pages, { where, order }: Question): AsyncGenerator<Match> {
  for await (const page of pages) {
    for (const [id, value] of page) {
      const attributes = value as Attributes;
      if (where.matches(attributes)) yield { id, attributes, key: order.keyOf({ attributes }) };
    }
  }
}

/** In the order of one index: reads until enough have been found. */
async function inOrder(pages: Pages, question: Question, { skip, take }: Part): Promise<Selected> {
  const matches: Match[] = [];
  let skipped = 0;
  for await (const match of matching(pages, question)) {
    if (skipped < skip) skipped++;
    else if (matches.length >= take) return { matches, isEnd: false };
    else matches.push(match);
  }
  return { matches, isEnd: true };
}

/** In the order of an index and then of other paths: objects with equal first values are sorted together. */
async function inRuns(pages: Pages, question: Question, path: string, part: Part): Promise<Selected> {
  let found: Match[] = [];
  let lastRun: string | null = null;
  for await (const match of matching(pages, question)) {
    if (lastRun !== null && keyOf(match.attributes, path) !== lastRun) break;
    found.push(match);
    if (lastRun === null && found.length === part.skip + part.take + 1) lastRun = keyOf(match.attributes, path);
    found = firstOf(found, question.order, part);
  }
  return partOf(found, question.order, part);
}

/** Reads all candidates, and keeps those that sort first. */
async function sorted(pages: Pages, question: Question, part: Part): Promise<Selected> {
  const { order } = question;
  let found: Match[] = [];
  for await (const match of matching(pages, question)) {
    found.push(match);
    found = firstOf(found, order, part);
  }
  return partOf(found, order, part);
}

/** Drops those that sort last, if there are many more than are wanted. */
function firstOf(found: Match[], order: Order, { skip, take }: Part): Match[] {
  const kept = skip + take + 1;
  return found.length > kept * 2 + PAGE_MAX ? found.sort(comparing(order)).slice(0, kept) : found;
}

function partOf(found: Match[], order: Order, { skip, take }: Part): Selected {
  const all = found.sort(comparing(order));
  return { matches: all.slice(skip, skip + take), isEnd: all.length <= skip + take };
}

/** Objects that are equal in all paths are sorted by id. */
export function comparing(order: Order): (left: Pick<Match, 'id' | 'key'>, right: Pick<Match, 'id' | 'key'>) => number {
  return (left, right) => order.compare(left.key, right.key) || (left.id < right.id ? -1 : Number(left.id > right.id));
}

function keyOf(attributes: JsonValue, path: string): string {
  return sortKey(valueAt(attributes as Attributes, parsePath(path)));
}

/** The keys of an index that all conditions on its path leave; null: all, or several ranges. */
function rangeOn(path: string | null, { ranges }: CompiledWhere): KeyRange | null {
  const found = ranges
    .filter((condition) => condition.path === path)
    .map(keyRanges)
    .flatMap(([only, ...others]) => (only === undefined || others.length > 0 ? [] : [only]));
  const [first, ...rest] = found;
  return first === undefined ? null : rest.reduce(common, first);
}

function common(left: KeyRange, right: KeyRange): KeyRange {
  const [, from = ''] = [left.from, right.from].sort();
  const [to = ''] = [left.to, right.to].sort();
  return { from, to };
}
