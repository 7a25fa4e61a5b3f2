import { closed, count, nullableText } from '../annotated.ts';
import { type TProperties, Type } from '../typebox.ts';

interface ListedRows<Rows extends TProperties> {
  readonly title: string;
  /** What is listed, such as `devices`. */
  readonly noun: string;
  /** The member that holds the rows of the page. */
  readonly rows: Rows;
  /** An example of a place. */
  readonly next: string;
}

/** The answer of a listing with filters. A page looks at a bounded number of entries, so it may hold few rows or none. */
export function listPage<Rows extends TProperties>({ title, noun, rows, next }: ListedRows<Rows>) {
  return Type.Object(
    {
      ...rows,
      total: count(`All ${noun} of the server, whatever the filters are.`, 5_000),
      examined: count(`How many ${noun} this page has looked at.`, 100),
      next: nullableText(
        'Send it as `after` for the next page, which may be there also if this one is short or empty; null: this is the last.',
        next,
      ),
    },
    { ...closed, title, description: `A page of all ${noun}.` },
  );
}
