import type { CallOptions } from './transport.ts';

export interface PageOptions extends CallOptions {
  /** The key of the last one already seen. */
  readonly after?: string;
  readonly limit?: number;
}

/** Items fetched at a time while going through a whole listing. */
const PAGE_ITEMS = 1_000;

export function pageQuery({ after, limit }: PageOptions): { after: string | undefined; limit: number | undefined } {
  return { after, limit };
}

/** A listing from beginning to end, a page at a time; `keyOf` gives what the next page comes after. */
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
