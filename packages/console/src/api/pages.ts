import { useInfiniteQuery } from '@tanstack/react-query';

interface Page {
  readonly limit: number;
  readonly after?: string;
}

interface PagesOptions<T> {
  readonly queryKey: readonly string[];
  /** Items of one page. */
  readonly limit: number;
  readonly read: (page: Page) => Promise<readonly T[]>;
  /** The name of an item, after which the next page begins. */
  readonly nameOf: (item: T) => string;
}

/** Reads a list page by page, on demand. */
export function usePages<T>({ queryKey, limit, read, nameOf }: PagesOptions<T>) {
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam: after }) => read({ limit, ...(after === null ? {} : { after }) }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => {
      const last = page.at(-1);
      return last === undefined || page.length < limit ? null : nameOf(last);
    },
  });
}
