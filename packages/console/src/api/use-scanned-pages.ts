import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { readEnough, type ScannedRows } from './scanned-pages.ts';

const ROWS_PER_PAGE = 100;
/** A list of one page is read again so often. */
const REFRESH_MS = 15_000;

interface ScannedListing<Page, Row> {
  readonly queryKey: readonly unknown[];
  readonly read: (page: { after?: string; limit: number; signal: AbortSignal }) => Promise<Page>;
  readonly rowsOf: (page: Page) => readonly Row[];
}

/**
 * Reads a listing with filters, page by page, on demand. What is shown stays until the next search has results, also while
 * the server does not answer.
 */
export function useScannedPages<Page extends { total: number; examined: number; next: string | null }, Row>({
  queryKey,
  read,
  rowsOf,
}: ScannedListing<Page, Row>) {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }): Promise<ScannedRows<Row>> =>
      readEnough((after) => read({ limit: ROWS_PER_PAGE, signal, ...(after === null ? {} : { after }) }), {
        rowsOf,
        wanted: ROWS_PER_PAGE,
        after: pageParam,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.pages.length === 1 ? REFRESH_MS : false),
  });
  const last = useRef(query.data);
  if (query.data !== undefined) last.current = query.data;
  return { ...query, data: last.current } as typeof query;
}
