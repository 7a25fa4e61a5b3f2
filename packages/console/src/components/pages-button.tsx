import { Button } from '@mantine/core';
import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import { Failure } from './loaded.tsx';

type Pages = Pick<
  UseInfiniteQueryResult,
  'hasNextPage' | 'fetchNextPage' | 'isFetchingNextPage' | 'isFetchNextPageError' | 'error'
>;

/** Loads the next page of a list, if there is one. */
export function PagesButton({ query, children }: { readonly query: Pages; readonly children: string }) {
  return (
    <>
      {query.isFetchNextPageError && <Failure error={query.error} />}
      {query.hasNextPage && (
        <Button variant="default" onClick={() => void query.fetchNextPage()} loading={query.isFetchingNextPage}>
          {children}
        </Button>
      )}
    </>
  );
}
