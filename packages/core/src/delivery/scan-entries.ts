import { DETAILS_EXAMINED_MAX, DETAILS_LIST_MAX, pointer, Refusal, SEARCH_TEXT_UNITS_MAX } from '@tidemark/protocol';
import type { Entry, EntryKind, Store } from '../ports/store.ts';

/** Entries that are read at once. */
const BATCH_ENTRIES = 100;
const ROWS_PER_PAGE = 100;

export interface EntryScan<Candidate, Row> {
  readonly kind: EntryKind;
  readonly prefix: readonly string[];
  readonly after?: readonly string[];
  readonly limit: number;
  /** Reads a batch of entries and applies the filters that cost little. Null: the entry is not wanted. */
  readonly prepare: (entries: readonly Entry[]) => Promise<readonly (Candidate | null)[]>;
  /** Makes the row of a candidate. Null: a filter that costs more does not want it. */
  readonly finish: (candidate: Candidate) => Promise<Row | null>;
  /** True: the page has done as much work as it may. */
  readonly isSpent: () => boolean;
}

export interface Scanned<Row> {
  readonly rows: readonly Row[];
  readonly examined: number;
  /** The key of the last entry that was examined; null: there are no more. */
  readonly next: readonly string[] | null;
}

/**
 * Reads entries in their order until the page is full, all were examined, or the work of a page is done. Every call examines
 * at least one entry, so whoever asks for page after page gets to the end.
 */
export async function scanEntries<Candidate, Row>(
  store: Store,
  scan: EntryScan<Candidate, Row>,
): Promise<Scanned<Row>> {
  const { kind, prefix } = scan;
  const page: OpenPage<Row> = { rows: [], examined: 0, last: scan.after ?? null };
  for (;;) {
    const after = page.last === null ? {} : { after: page.last };
    const entries = await store.listEntries({ kind, prefix, limit: BATCH_ENTRIES, ...after });
    const isEnded = await examine(entries, scan, page);
    const { rows, examined, last } = page;
    const isAll = entries.length < BATCH_ENTRIES && last === (entries.at(-1)?.key ?? last);
    if (isAll || isEnded) return { rows, examined, next: isAll ? null : last };
  }
}

interface OpenPage<Row> {
  readonly rows: Row[];
  examined: number;
  /** The key of the last entry that was examined. */
  last: readonly string[] | null;
}

/** Examines a batch of entries. Returns true if the page ends with it. */
async function examine<Candidate, Row>(
  entries: readonly Entry[],
  scan: EntryScan<Candidate, Row>,
  page: OpenPage<Row>,
): Promise<boolean> {
  const candidates = await scan.prepare(entries);
  for (const [index, { key }] of entries.entries()) {
    const candidate = candidates[index] ?? null;
    const row = candidate === null ? null : await scan.finish(candidate);
    if (row !== null) page.rows.push(row);
    page.examined++;
    page.last = key;
    if (page.rows.length >= scan.limit || page.examined >= DETAILS_EXAMINED_MAX || scan.isSpent()) return true;
  }
  return false;
}

export function admitListLimit(limit = ROWS_PER_PAGE): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= DETAILS_LIST_MAX) return limit;
  throw notAllowed('limit', `must be a whole number from 1 to ${DETAILS_LIST_MAX}`);
}

/** Returns whether one of some texts contains the text that is searched for, in any case of letters. */
export function textFilter(wanted = ''): (texts: readonly (string | null)[]) => boolean {
  if (wanted.length > SEARCH_TEXT_UNITS_MAX) {
    throw notAllowed('text', `must not be longer than ${SEARCH_TEXT_UNITS_MAX} characters`);
  }
  const folded = wanted.trim().toLowerCase();
  if (folded === '') return () => true;
  return (texts) => texts.some((text) => text?.toLowerCase().includes(folded) === true);
}

export function notAllowed(name: string, detail: string): Refusal {
  return new Refusal('invalid_value', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}
