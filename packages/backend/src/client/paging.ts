import type { CallOptions } from '../transport/transport.ts';

export interface PageOptions extends CallOptions {
  /** The key of the last item of the previous page. */
  readonly after?: string;
  readonly limit?: number;
}

/** Items per page while iterating over a whole listing. */
const PAGE_ITEMS = 1_000;

export function pageQuery({ after, limit }: PageOptions): { after: string | undefined; limit: number | undefined } {
  return { after, limit };
}

/** Iterates over a whole listing, page by page; `keyOf` returns the key for `after`. */
export async function* everyItem<T>(
  list: (page: PageOptions) => Promise<readonly T[]>,
  keyOf: (item: T) => string,
  options: CallOptions = {},
): AsyncGenerator<T, void> {
  let after: string | undefined;
  for (;;) {
    const page = await list({ ...options, limit: PAGE_ITEMS, ...(after === undefined ? {} : { after }) });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ITEMS) return;
    after = keyOf(last);
  }
}
