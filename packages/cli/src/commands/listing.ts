import type { PageOptions } from '@tidemark/backend';
import type { Command } from 'commander';
import { given } from '../api-client.ts';
import { wholeNumber } from './sources.ts';

export interface ListOptions {
  readonly text?: string;
  readonly behind?: boolean;
  readonly notSeenDays?: number;
  readonly limit?: number;
}

interface ListedThings {
  /** What is listed, such as `devices`. */
  readonly noun: string;
  /** What a text is searched in, such as `whose id or user contains`. */
  readonly texts: string;
  /** Whose devices count, such as `that` or `whose devices`. */
  readonly whose: string;
}

/** Adds the options that all listings with filters have. */
export function addListOptions(command: Command, { noun, texts, whose }: ListedThings): Command {
  return command
    .option('--text <text>', `only ${noun} ${texts} the text`)
    .option('--behind', `only ${noun} ${whose} have not acknowledged all changes`)
    .option('--not-seen-days <days>', `only ${noun} ${whose} had no contact for so long`, wholeNumber)
    .option('--limit <number>', 'at most so many; 1000 by default', wholeNumber);
}

interface ListPage {
  readonly next: string | null;
}

const ROWS_DEFAULT = 1_000;
/** Rows that are asked for at once. The server may answer with fewer. */
const PAGE_ROWS_MAX = 1_000;

/** Reads rows of a listing with filters, page by page, until there are so many or no more. */
export async function readRows<Page extends ListPage, Row>(
  list: (page: PageOptions) => Promise<Page>,
  { rowsOf, limit = ROWS_DEFAULT, after: first }: WantedRows<Page, Row>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let after: string | null | undefined = first; after !== null && rows.length < limit; ) {
    const page: Page = await list({ ...given({ after }), limit: Math.min(PAGE_ROWS_MAX, limit - rows.length) });
    rows.push(...rowsOf(page));
    after = page.next;
  }
  return rows;
}

interface WantedRows<Page, Row> {
  readonly rowsOf: (page: Page) => readonly Row[];
  readonly limit?: number | undefined;
  /** The last row before those that are wanted. */
  readonly after?: string | undefined;
}
