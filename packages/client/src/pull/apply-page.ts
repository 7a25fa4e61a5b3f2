import type { Page } from '@tidemark/protocol';
import { type RowPlace, rowKey, rowsOf } from '../state/group-rows.ts';
import type { Reader, Transaction } from '../state/local-state.ts';
import type { Attributes, SourceRow } from '../state/rows.ts';
import { sameJson } from '../state/same-json.ts';
import { EMPTY_FOLD, type Fold, foldPage, InconsistentPage, measureFolded, type SizeAndChecksum } from './fold.ts';

export type PageEffect =
  /** The page was staged, because more pages follow. */
  | { readonly kind: 'staged'; readonly fold: Fold }
  /** The source is complete; the app sees all changes at once. `isNews`: the device holds another token than before. */
  | {
      readonly kind: 'complete';
      readonly measured: SizeAndChecksum;
      readonly isNews: boolean;
      /** The ids of the objects that the pages mention, and of those that are gone. */
      readonly changed: readonly string[];
    }
  /** The data differs from the server, so the source starts over. The app keeps its view meanwhile. */
  | { readonly kind: 'healed'; readonly reason: string }
  /** The page was requested with a token that is outdated. */
  | { readonly kind: 'ignored' };

export interface PageAsked extends RowPlace {
  /** The token that the page was requested with. */
  readonly token: string | null;
  /** Outcomes received before the page was requested: their changes are included in it. */
  readonly settledBefore: number;
}

/** Knowledge about the source besides the stored rows. */
export interface PageContext {
  /** The staged pages; the fold is consumed. */
  readonly fold: Fold;
  readonly held: () => SizeAndChecksum;
  readonly nowMs: number;
}

/** Returns the token for the next pull: that of the catch-up under way, else of the last complete one. */
export function tokenOf(row: SourceRow): string | null {
  return row.staging?.token ?? row.token;
}

/** Applies a page in the transaction. */
export function applyPage(tx: Transaction, asked: PageAsked, page: Page, context: PageContext): PageEffect {
  const row = tx.get('sources', rowKey(asked));
  if (row === undefined || tokenOf(row) !== asked.token) return { kind: 'ignored' };
  try {
    const fold = foldPage(tx, rowsOf(asked), context.fold, page);
    return page.more
      ? stage(tx, row, page, { ...asked, fold })
      : complete(tx, row, page, { ...asked, ...context, fold });
  } catch (error) {
    if (!(error instanceof InconsistentPage)) throw error;
    return heal(tx, asked, row, error.message);
  }
}

/** Folds the staged pages again, after a restart or a failed transaction. */
export function foldStaged(reader: Reader, place: RowPlace): Fold {
  const rows = rowsOf(place);
  let fold: Fold = { ...EMPTY_FOLD, objects: new Map() };
  for (const [, page] of reader.entries('staged', rows)) fold = foldPage(reader, rows, fold, page);
  return fold;
}

/** Drops the token of the source, so that it starts over. */
function heal(tx: Transaction, place: RowPlace, row: SourceRow, reason: string): PageEffect {
  dropStaged(tx, rowsOf(place));
  tx.put('sources', rowKey(place), { ...row, token: null, staging: null, heals: row.heals + 1 });
  return { kind: 'healed', reason };
}

function stage(tx: Transaction, row: SourceRow, page: Page, asked: PageAsked & { fold: Fold }): PageEffect {
  const rows = rowsOf(asked);
  if (page.reset === true) dropStaged(tx, rows);
  const pages = page.reset === true ? 0 : (row.staging?.pages ?? 0);
  tx.put('staged', [rows, String(pages)], page);
  tx.put('sources', rowKey(asked), { ...row, staging: { token: page.token, pages: pages + 1 } });
  return { kind: 'staged', fold: asked.fold };
}

function complete(tx: Transaction, row: SourceRow, page: Page, context: PageAsked & PageContext): PageEffect {
  const { source, group, settledBefore, fold, held, nowMs } = context;
  const rows = rowsOf(context);
  const measured = measureFolded(tx, rows, fold, held);
  const isRight = measured.size === page.size && measured.checksum === (page.checksum ?? measured.checksum);
  if (!isRight) return heal(tx, context, row, differenceOf(measured, page));
  const changed = writeObjects(tx, rows, fold);
  dropStaged(tx, rows);
  // Uploads to groups stay in the overlay until the union shows what all groups have.
  if (group === undefined) dropIncluded(tx, source, settledBefore);
  const { token } = page;
  // Most pulls bring no change and should not write to the disk.
  const isNews = row.staging !== null || row.token !== token || row.seen !== token;
  if (isNews) tx.put('sources', rowKey(context), { ...row, token, seen: token, staging: null, syncedAtMs: nowMs });
  return { kind: 'complete', measured, isNews, changed };
}

function writeObjects(tx: Transaction, source: string, { isFresh, objects }: Fold): readonly string[] {
  const before = isFresh ? [...tx.entries('objects', source)].map(([id]) => id) : [];
  const gone = before.filter((id) => !objects.has(id));
  for (const id of gone) tx.delete('objects', [source, id]);
  for (const [id, attributes] of objects) {
    const before = tx.get('objects', [source, id]);
    if (attributes === null) tx.delete('objects', [source, id]);
    else if (!isSame(before, attributes)) tx.put('objects', [source, id], attributes);
  }
  return [...gone, ...objects.keys()];
}

/** Equal objects are neither written nor rendered again. */
function isSame(before: Attributes | undefined, after: Attributes): boolean {
  return before !== undefined && sameJson(before, after);
}

/**
 * Uploads stay in the overlay until a catch-up includes them. An upload whose outcome was known before the last page
 * was requested is included in that page, so the app sees no flicker.
 */
export function dropIncluded(tx: Transaction, source: string, settledBefore: number): void {
  const included = [...tx.entries('uploads', '')].filter(
    ([, upload]) => upload.source === source && upload.settled !== null && upload.settled < settledBefore,
  );
  for (const [opId] of included) tx.delete('uploads', ['', opId]);
}

function dropStaged(tx: Transaction, source: string): void {
  for (const [number] of [...tx.entries('staged', source)]) tx.delete('staged', [source, number]);
}

function differenceOf(held: SizeAndChecksum, page: Page): string {
  if (held.size !== page.size) return `the device holds ${held.size} objects, the server has ${page.size}`;
  return 'the checksum of the objects differs from the server';
}
