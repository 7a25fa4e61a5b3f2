import type { ApiClient } from '../api-client.ts';

export interface ListOptions {
  readonly text?: string;
  readonly behind?: boolean;
  readonly notSeenDays?: number;
  readonly limit?: number;
}

interface ListPage {
  readonly next: string | null;
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

const ROWS_DEFAULT = 1_000;
/** Rows that are asked for at once. The server may answer with fewer. */
const PAGE_ROWS_MAX = 1_000;

/** Reads rows of a listing with filters, page by page, until there are so many or no more. */
export async function readRows<Page extends ListPage, Row>(
  api: ApiClient,
  path: string,
  { query, rowsOf, limit = ROWS_DEFAULT, after: first }: ListQuestion<Page, Row>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let after: string | null | undefined = first; after !== null && rows.length < limit; ) {
    const parameters = { ...query, limit: Math.min(PAGE_ROWS_MAX, limit - rows.length), after };
    const given = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) if (value !== undefined) given.set(name, String(value));
    const page: Page = await api.get<Page>(`${path}?${given}`);
    rows.push(...rowsOf(page));
    after = page.next;
  }
  return rows;
}

interface ListQuestion<Page, Row> {
  readonly query: Query;
  readonly rowsOf: (page: Page) => readonly Row[];
  readonly limit?: number | undefined;
  /** The last row before those that are wanted. */
  readonly after?: string | undefined;
}
