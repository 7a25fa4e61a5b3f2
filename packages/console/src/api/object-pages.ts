import { useQueries, useQueryClient } from '@tanstack/react-query';
import type { ObjectListOptions } from '@tidemark/backend';
import type { ObjectList } from '@tidemark/protocol';
import { useEffect, useMemo, useState } from 'react';
import { client } from './client.ts';

/** Whose objects of a source are shown. */
export type ObjectOwner =
  | { readonly source: string; readonly user: string }
  | { readonly source: string; readonly group: string }
  | { readonly source: string; readonly shared: true };

export type ObjectRow = ObjectList['objects'][number];

/** Where the list begins: at an object, after a seq, or at the beginning. */
export type ListStart = Pick<ObjectListOptions, 'after' | 'from'>;

const PAGE_ROWS = 500;
/** Pages that are not shown are forgotten after this time, so that the memory of the page is bounded. */
const FORGOTTEN_MS = 30_000;
/** The next page is loaded when so few rows are left below. */
const ROWS_AHEAD = 250;
/** One search looks at so many objects, and shows so many. */
const SEARCHED_MAX = 20_000;
const MATCHES_MAX = 1_000;

interface PagePlace {
  readonly start: ListStart;
  readonly first: number;
  readonly count: number;
  readonly next: ObjectList['next'];
}

export interface ObjectPages {
  /** Rows that are known so far. */
  readonly count: number;
  readonly isComplete: boolean;
  readonly size: number | undefined;
  readonly error: unknown;
  /** Loads what could not be loaded again. */
  readonly retry: () => void;
  /** Undefined: it is being loaded. */
  readonly rowAt: (index: number) => ObjectRow | undefined;
  /** The place of a row, to begin a list there again. */
  readonly startAt: (index: number) => ListStart;
}

function pageQuery(owner: ObjectOwner, start: ListStart) {
  return {
    queryKey: ['objects', owner, start],
    queryFn: () => client.documents.objects(owner, { ...start, limit: PAGE_ROWS }),
    gcTime: FORGOTTEN_MS,
  };
}

/** Loads the pages of objects around the rows that are shown. Only the places of the others are kept. */
export function useObjectPages(owner: ObjectOwner, start: ListStart, shown: readonly [number, number]): ObjectPages {
  const [places, setPlaces] = useState<readonly PagePlace[]>([]);
  const last = places.at(-1);
  const count = last === undefined ? 0 : last.first + last.count;
  const [from, to] = shown;
  const visible = places.filter(({ first, count: rows }) => first < to && first + rows > from);
  const wanted = nextStart(last, start, count - to < ROWS_AHEAD);
  const starts = [...visible.map((place) => place.start), ...(wanted === null ? [] : [wanted])];
  const results = useQueries({ queries: starts.map((one) => pageQuery(owner, one)) });
  const loaded = wanted === null ? undefined : results.at(-1)?.data;
  useEffect(() => {
    if (loaded === undefined || wanted === null) return;
    setPlaces((before) =>
      before.length === places.length
        ? [...before, { start: wanted, first: count, count: loaded.objects.length, next: loaded.next }]
        : before,
    );
  });
  return {
    count,
    isComplete: last?.next === null,
    size: results.find(({ data }) => data !== undefined)?.data?.size,
    error: results.find(({ error }) => error !== null)?.error ?? null,
    retry: () => {
      for (const { error, refetch } of results) if (error !== null) void refetch();
    },
    rowAt: (index) => {
      const at = visible.findIndex(({ first, count: rows }) => index >= first && index < first + rows);
      return results[at]?.data?.objects[index - (visible[at]?.first ?? 0)];
    },
    startAt: (index) => places.find(({ first, count: rows }) => index >= first && index < first + rows)?.start ?? start,
  };
}

/** Null: nothing more is to be loaded now. */
function nextStart(last: PagePlace | undefined, start: ListStart, isNearEnd: boolean): ListStart | null {
  if (last === undefined) return start;
  return last.next !== null && isNearEnd ? { after: last.next } : null;
}

export interface ObjectSearch {
  readonly matches: readonly ObjectRow[];
  readonly searched: number;
  readonly size: number | undefined;
  readonly isBusy: boolean;
  readonly isComplete: boolean;
  readonly error: unknown;
  readonly searchOn: () => void;
  readonly retry: () => void;
}

type SearchState = Omit<ObjectSearch, 'searchOn' | 'retry'>;

const NOTHING = { matches: [], searched: 0, size: undefined, isBusy: true, isComplete: false, error: null } as const;

/** Looks for a text in the objects, page by page, and stops after a bounded number of them. */
export function useObjectSearch(owner: ObjectOwner, start: ListStart, text: string): ObjectSearch {
  const cache = useQueryClient();
  const [rounds, setRounds] = useState(1);
  const [attempts, setAttempts] = useState(1);
  const [state, setState] = useState<SearchState>(NOTHING);
  const key = JSON.stringify([owner, start, text, rounds, attempts]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for what is searched
  useEffect(() => {
    let isOver = false;
    setState(NOTHING);
    const search = async () => {
      const pages = (place: ListStart) => cache.fetchQuery(pageQuery(owner, place));
      for await (const found of searchPages(pages, start, { text, searchedMax: rounds * SEARCHED_MAX })) {
        if (isOver) return;
        setState(found);
      }
    };
    search().catch((error) => {
      if (!isOver) setState({ ...NOTHING, isBusy: false, error });
    });
    return () => {
      isOver = true;
    };
  }, [key, cache]);
  return useMemo(
    () => ({
      ...state,
      searchOn: () => setRounds((count) => count + 1),
      retry: () => setAttempts((count) => count + 1),
    }),
    [state],
  );
}

/** Yields what was found so far after each page. */
async function* searchPages(
  read: (start: ListStart) => Promise<ObjectList>,
  start: ListStart,
  { text, searchedMax }: { readonly text: string; readonly searchedMax: number },
): AsyncGenerator<SearchState> {
  const matches: ObjectRow[] = [];
  let searched = 0;
  for (let place: ListStart | null = start; place !== null; ) {
    const { objects, next, size } = await read(place);
    matches.push(...objects.filter((row) => matchesText(row, text)));
    searched += objects.length;
    const isFull = searched >= searchedMax || matches.length >= MATCHES_MAX;
    const shown = { matches: matches.slice(0, MATCHES_MAX), searched, size, error: null };
    yield { ...shown, isBusy: next !== null && !isFull, isComplete: next === null };
    place = next === null || isFull ? null : { after: next };
  }
}

/** Whether the id, or the value of an attribute, contains the text. `name=value` looks at one attribute. */
function matchesText({ id, attributes }: ObjectRow, text: string): boolean {
  const [, name, value] = /^([^=\s]+)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return contains(attributes[name], value);
  return contains(id, text) || Object.values(attributes).some((one) => contains(one, text));
}

function contains(value: unknown, text: string): boolean {
  if (value === undefined) return false;
  return (typeof value === 'string' ? value : JSON.stringify(value)).toLowerCase().includes(text.toLowerCase());
}
