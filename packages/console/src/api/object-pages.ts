import { type QueryClient, useQueries } from '@tanstack/react-query';
import type { ObjectListOptions } from '@tidemark/backend';
import type { ObjectList } from '@tidemark/protocol';
import { useEffect, useState } from 'react';
import { client } from './client.ts';

/** Whose objects of a source are shown. */
export type ObjectOwner =
  | { readonly source: string; readonly user: string }
  | { readonly source: string; readonly group: string }
  | { readonly source: string; readonly shared: true };

export type ObjectRow = ObjectList['objects'][number];

/** Where the list begins: at an object, after a row, or at the beginning. */
export type ListStart = Pick<ObjectListOptions, 'after' | 'from'>;

/** Which objects are listed, and in which order; the server looks at all there are. */
export type ListView = Pick<ObjectListOptions, 'filter' | 'sort' | 'order'>;

const PAGE_ROWS = 500;
/** Pages that are not shown are forgotten after this time, so that the memory of the page is bounded. */
const FORGOTTEN_MS = 30_000;
/** The next page is loaded when so few rows are left below. */
const ROWS_AHEAD = 250;

interface PagePlace {
  readonly start: ListStart;
  readonly first: number;
  readonly count: number;
  readonly next: ObjectList['next'];
  readonly read: number;
  readonly matches: number | null;
}

/** The places of the pages of one list. */
interface FoundPlaces {
  readonly key: string;
  readonly places: readonly PagePlace[];
}

const NO_PLACES: readonly PagePlace[] = [];

export interface ObjectPages {
  /** Rows that are known so far. */
  readonly count: number;
  readonly isComplete: boolean;
  readonly size: number | undefined;
  /** How many objects match; null: not all were looked at. Undefined: it is not known yet, or nothing is filtered. */
  readonly matches: number | null | undefined;
  /** How many objects the server looked at. */
  readonly read: number;
  readonly error: unknown;
  /** Loads what could not be loaded again. */
  readonly retry: () => void;
  /** Undefined: it is being loaded. */
  readonly rowAt: (index: number) => ObjectRow | undefined;
}

export interface Listed {
  readonly view: ListView;
  readonly start: ListStart;
  /** Pages of another generation are not used again. */
  readonly generation: number;
}

function pageQuery(owner: ObjectOwner, { view, generation }: Listed, start: ListStart) {
  return {
    queryKey: ['objects', owner, view, start, generation],
    queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
      client.documents.objects(owner, { ...view, ...start, limit: PAGE_ROWS, signal }),
    gcTime: FORGOTTEN_MS,
    // Rows stay where they are until somebody reloads them.
    staleTime: Number.POSITIVE_INFINITY,
  };
}

/** Loads the pages of objects around the rows that are shown. Only the places of the others are kept. */
export function useObjectPages(owner: ObjectOwner, listed: Listed, shown: readonly [number, number]): ObjectPages {
  const { view, start } = listed;
  const key = JSON.stringify([owner, listed]);
  const [found, setFound] = useState<FoundPlaces>({ key, places: [] });
  const places = found.key === key ? found.places : NO_PLACES;
  const last = places.at(-1);
  const count = last === undefined ? 0 : last.first + last.count;
  const [from, to] = shown;
  const visible = places.filter(({ first, count: rows }) => first < to && first + rows > from);
  const wanted = nextStart(last, start, count - to < ROWS_AHEAD);
  const starts = [...visible.map((place) => place.start), ...(wanted === null ? [] : [wanted])];
  const results = useQueries({ queries: starts.map((one) => pageQuery(owner, listed, one)) });
  const loaded = wanted === null ? undefined : results.at(-1)?.data;
  useEffect(() => {
    if (loaded === undefined || wanted === null) return;
    const place = { start: wanted, first: count, count: loaded.objects.length, next: loaded.next, ...countsIn(loaded) };
    setFound((before) => (before === found ? { key, places: [...places, place] } : before));
  });
  return {
    count,
    isComplete: last?.next === null,
    size: results.find(({ data }) => data !== undefined)?.data?.size,
    matches: view.filter === undefined ? undefined : matchesOf(places),
    read: places.reduce((sum, { read }) => sum + read, 0),
    error: results.find(({ error }) => error !== null)?.error ?? null,
    retry: () => {
      for (const { error, refetch } of results) if (error !== null) void refetch();
    },
    rowAt: (index) => {
      const at = visible.findIndex(({ first, count: rows }) => index >= first && index < first + rows);
      return results[at]?.data?.objects[index - (visible[at]?.first ?? 0)];
    },
  };
}

function countsIn({ read = 0, matches = null }: ObjectList): Pick<PagePlace, 'read' | 'matches'> {
  return { read, matches };
}

/** The first page counts what matches, if the server could look at everything. */
function matchesOf(places: readonly PagePlace[]): number | null | undefined {
  const [first] = places;
  const last = places.at(-1);
  if (first === undefined || last === undefined) return undefined;
  return first.matches ?? (last.next === null ? last.first + last.count : null);
}

/** Shows an object as it is now, at the place of its row. */
export async function showAgain(cache: QueryClient, owner: ObjectOwner, id: string): Promise<void> {
  const { objects } = await client.documents.objects(owner, { from: id, limit: 1 });
  const [now] = objects;
  if (now === undefined) return;
  cache.setQueriesData<ObjectList>({ queryKey: ['objects', owner] }, (page) =>
    page === undefined ? page : { ...page, objects: page.objects.map((row) => (row.id === id ? now : row)) },
  );
}

/** Null: nothing more is to be loaded now. */
function nextStart(last: PagePlace | undefined, start: ListStart, isNearEnd: boolean): ListStart | null {
  if (last === undefined) return start;
  return last.next !== null && isNearEnd ? { after: last.next } : null;
}
