/** A page of a listing with filters. One call looks at a bounded number of entries, so it may find few or none. */
interface ScannedPage {
  readonly total: number;
  readonly examined: number;
  /** Null: this is the last page. */
  readonly next: string | null;
}

/** The rows of some calls together. */
export interface ScannedRows<Row> extends ScannedPage {
  readonly rows: readonly Row[];
}

/** After so many calls without enough rows the person decides whether to look on. */
const CALLS_MAX = 20;

/** Reads page after page until there are enough rows, or no more entries. */
export async function readEnough<Page extends ScannedPage, Row>(
  read: (after: string | null) => Promise<Page>,
  { rowsOf, wanted, after }: { rowsOf: (page: Page) => readonly Row[]; wanted: number; after: string | null },
): Promise<ScannedRows<Row>> {
  const rows: Row[] = [];
  let examined = 0;
  let next = after;
  for (let calls = 1; ; calls++) {
    const page = await read(next);
    rows.push(...rowsOf(page));
    examined += page.examined;
    next = page.next;
    if (next === null || rows.length >= wanted || calls === CALLS_MAX) {
      return { rows, examined, total: page.total, next };
    }
  }
}

/** Says how many rows are shown, and of how many. */
export function countWords(pages: readonly ScannedRows<unknown>[], one: string, isFiltered: boolean): string {
  const sum = (of: (page: ScannedRows<unknown>) => number) => pages.reduce((all, page) => all + of(page), 0);
  const last = pages.at(-1);
  const found = sum(({ rows }) => rows.length);
  const total = last?.total ?? 0;
  const many = (count: number) => `${count.toLocaleString('en')} ${one}${count === 1 ? '' : 's'}`;
  if (!isFiltered) return found >= total ? many(found) : `${found.toLocaleString('en')} of ${many(total)}`;
  if (last?.next === null) return `${found.toLocaleString('en')} of ${many(total)} found`;
  return `${found.toLocaleString('en')} found among the first ${sum(({ examined }) => examined).toLocaleString('en')} of ${many(total)}`;
}
