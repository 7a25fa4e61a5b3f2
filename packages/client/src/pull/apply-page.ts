import { addChecksums, attributesChecksum, type Page, sameJson, subtractChecksums } from '@tidemark/protocol';
import { frozen } from '../state/frozen.ts';
import { asideOf, type RowScope, rowKey, rowsOf, storedRowsOf } from '../state/group-rows.ts';
import type { Reader, Transaction } from '../state/local-state.ts';
import { withPresentForm } from '../state/object-form.ts';
import type { Attributes, SourceRow, Staging } from '../state/rows.ts';
import { type PagePart, wholePart } from './first-sync.ts';
import {
  type Fold,
  foldPage,
  InconsistentPage,
  measureFolded,
  NOTHING,
  newFold,
  type SizeAndChecksum,
} from './fold.ts';
import { startOver } from './start-over.ts';

export type PageEffect =
  /** The page was staged, because more pages follow. */
  | { readonly kind: 'staged'; readonly fold: Fold }
  /** The page of a first sync was stored, and more pages or parts follow. `measured` is what the device holds so far. */
  | { readonly kind: 'stored'; readonly measured: SizeAndChecksum }
  /** The source is complete; the app sees all changes at once. `isNews`: the device holds another token than before. */
  | {
      readonly kind: 'complete';
      /** Null: the objects that the device held have not been measured since it was opened. */
      readonly measured: SizeAndChecksum | null;
      readonly isNews: boolean;
      /** The ids of the objects that the pages mention, and of those that are gone; null: any may have changed. */
      readonly changed: readonly string[] | null;
    }
  /** The data differs from the server, so the source starts over. The app keeps its view meanwhile. */
  | { readonly kind: 'healed'; readonly reason: string }
  /** The page was requested with a token that is outdated. */
  | { readonly kind: 'ignored' };

export interface PageAsked extends RowScope {
  /** The token that the page was requested with. */
  readonly token: string | null;
  /** Outcomes received before the page was requested: their changes are included in it. */
  readonly settledBefore: number;
}

/** Knowledge about the source besides the stored rows. */
export interface PageContext {
  /** The staged pages; the fold is consumed. */
  readonly fold: Fold;
  /** Null: not measured yet. */
  readonly held: SizeAndChecksum | null;
  readonly nowMs: number;
  /** Whether the app sees the objects of a first sync as they arrive. */
  readonly show: Show;
}

/** When the app sees a first sync: whole, when it is complete, or as it arrives. */
export type Show = 'whole' | 'as_it_arrives';

/** Returns the token for the next pull: that of the catch-up under way, else of the last complete one. */
export function tokenOf(row: SourceRow): string | null {
  return row.staging?.token ?? row.token;
}

/** Applies a page in the transaction. */
export function applyPage(tx: Transaction, asked: PageAsked, page: Page | PagePart, context: PageContext): PageEffect {
  const row = tx.get('sources', rowKey(asked));
  if (row === undefined || tokenOf(row) !== asked.token) return { kind: 'ignored' };
  try {
    if ('ids' in page) return storeChecked(tx, row, page, { ...asked, ...context });
    if (isStoredAtOnce(tx, row, page, asked)) return storeChecked(tx, row, wholePart(page), { ...asked, ...context });
    const fold = foldPage(tx, rowsOf(asked), context.fold, page);
    return page.more
      ? stage(tx, row, page, { ...asked, fold })
      : complete(tx, row, page, {
          ...asked,
          ...context,
          fold,
          measured: measureFolded(tx, rowsOf(asked), fold, context.held),
        });
  } catch (error) {
    if (!(error instanceof InconsistentPage)) throw error;
    return heal(tx, asked, row, error.message);
  }
}

/** Folds the staged pages again, after a restart or a failed transaction. */
export function foldStaged(reader: Reader, place: RowScope): Fold {
  const rows = rowsOf(place);
  let fold = newFold();
  for (const [, page] of reader.entries('staged', rows)) fold = foldPage(reader, rows, fold, page);
  return fold;
}

/** Makes a source start over whose objects differ from the server. */
export function heal(tx: Transaction, place: RowScope, row: SourceRow, reason: string): PageEffect {
  startOver(tx, place, { ...row, heals: row.heals + 1 });
  return { kind: 'healed', reason };
}

/** True for pages of a source on the disk that starts over, which memory should not have to hold. */
function isStoredAtOnce(tx: Transaction, row: SourceRow, page: Page, place: RowScope): boolean {
  return tx.isOnDisk('objects', rowsOf(place)) && (page.reset === true || row.staging?.firstSync !== undefined);
}

/** Stores a part of a first sync. If it is the only one, what is stored is dropped only for what is right. */
function storeChecked(tx: Transaction, row: SourceRow, part: PagePart, context: PageAsked & PageContext): PageEffect {
  const isOnly = part.reset === true && part.isLast && !part.more;
  const fault = isOnly ? faultOf(tx, rowsOf(context), part) : null;
  return fault === null ? storePart(tx, row, part, context) : heal(tx, context, row, fault);
}

function storePart(tx: Transaction, row: SourceRow, part: PagePart, context: PageAsked & PageContext): PageEffect {
  const { reset, ...changes } = part;
  const isOver = part.isLast && !part.more;
  const firstSync = reset === true ? howToStore(tx, row, isOver, context) : (row.staging?.firstSync ?? 'hidden');
  const staging = { token: context.token, pages: 0, firstSync };
  const rows = storedRowsOf(context, { ...row, staging });
  if (reset === true) dropBefore(tx, row, context, rows);
  const measured = writePart(tx, rows, changes, reset === true ? NOTHING : (context.held ?? NOTHING));
  if (isOver) {
    if (!isRight(measured, part)) return heal(tx, context, { ...row, staging }, differenceOf(measured, part));
    if (firstSync === 'aside') tx.disk?.move(rows, rowsOf(context));
    // The objects that a group had before are gone with the first part.
    const isKnown = reset === true && row.seen === null;
    return finish(tx, row, part, { ...context, measured, changed: isKnown ? part.ids : null });
  }
  const token = part.isLast ? part.token : context.token;
  tx.put('sources', rowKey(context), { ...withFormOf(row, staging, reset === true), staging: { ...staging, token } });
  return { kind: 'stored', measured };
}

/** What is stored aside is not what the app sees. */
function withFormOf(row: SourceRow, { firstSync }: Staging, isFirst: boolean): SourceRow {
  return isFirst && firstSync !== 'aside' ? withPresentForm(row) : row;
}

/** Returns how the only part of a source differs from what it says about itself; null: in nothing. */
function faultOf(tx: Transaction, rows: string, part: PagePart): string | null {
  const measured = measureFolded(tx, rows, foldPage(tx, rows, newFold(), part), NOTHING) ?? NOTHING;
  return isRight(measured, part) ? null : differenceOf(measured, part);
}

/** Deletes what there is of the place where a source that starts over is stored, and of earlier attempts. */
function dropBefore(tx: Transaction, row: SourceRow, place: RowScope, rows: string): void {
  tx.drop('staged', rowsOf(place));
  if (row.staging?.firstSync === 'aside') tx.drop('objects', asideOf(place.source));
  tx.drop('objects', rows);
}

/** The app keeps what it sees. Of groups it sees what all of them have together. */
function howToStore(
  tx: Transaction,
  { seen }: SourceRow,
  isOver: boolean,
  { source, group, show }: PageAsked & PageContext,
): 'hidden' | 'shown' | 'aside' {
  if (tx.isOnDisk('objects', source) && group === undefined && seen !== null && !isOver) return 'aside';
  return show === 'whole' ? 'hidden' : 'shown';
}

/** Writes the objects of a part. Returns the measure of all stored objects, given that of those before. */
function writePart(
  tx: Transaction,
  rows: string,
  part: Omit<PagePart, 'reset'>,
  held: SizeAndChecksum,
): SizeAndChecksum {
  let { size, checksum } = held;
  const write = (id: string, attributes: Attributes | null) => {
    const key = [rows, id] as const;
    const before = tx.get('objects', key);
    if (before !== undefined) {
      size--;
      checksum = subtractChecksums(checksum, attributesChecksum(id, before));
    }
    if (attributes === null) {
      tx.delete('objects', key);
      return;
    }
    size++;
    checksum = addChecksums(checksum, attributesChecksum(id, attributes));
    if (before === undefined || !sameJson(before, attributes)) tx.put('objects', key, attributes);
  };
  const { delete: deleted = [], put = {}, ids, drop, patch, token, more } = part;
  for (const id of deleted) write(id, null);
  for (const id of ids) write(id, frozen(put[id] as Attributes));
  const changes = {
    token,
    more,
    size,
    ...(drop === undefined ? {} : { drop }),
    ...(patch === undefined ? {} : { patch }),
  };
  const { objects } = foldPage(tx, rows, newFold(), changes);
  for (const [id, attributes] of objects) write(id, attributes);
  return { size, checksum };
}

function stage(tx: Transaction, row: SourceRow, page: Page, asked: PageAsked & { fold: Fold }): PageEffect {
  const rows = rowsOf(asked);
  if (page.reset === true) tx.drop('staged', rows);
  const pages = page.reset === true ? 0 : (row.staging?.pages ?? 0);
  tx.put('staged', [rows, String(pages)], page);
  tx.put('sources', rowKey(asked), { ...row, staging: { token: page.token, pages: pages + 1 } });
  return { kind: 'staged', fold: asked.fold };
}

function complete(
  tx: Transaction,
  row: SourceRow,
  page: Page,
  context: PageAsked & PageContext & { readonly measured: SizeAndChecksum | null },
): PageEffect {
  const { fold, measured } = context;
  if (measured !== null && !isRight(measured, page)) return heal(tx, context, row, differenceOf(measured, page));
  return finish(tx, row, page, { ...context, changed: writeObjects(tx, rowsOf(context), fold) });
}

/** Ends a catch-up whose objects are written. */
function finish(
  tx: Transaction,
  row: SourceRow,
  page: Page,
  context: PageAsked &
    PageContext & { readonly measured: SizeAndChecksum | null; readonly changed: readonly string[] | null },
): PageEffect {
  const { source, group, settledBefore, nowMs, measured, changed } = context;
  tx.drop('staged', rowsOf(context));
  // Uploads to groups stay in the overlay until the union shows what all groups have.
  if (group === undefined) dropIncluded(tx, source, settledBefore);
  const { token } = page;
  // Most pulls bring no change and should not write to the disk.
  const formed = withPresentForm(row);
  const isNews = row.staging !== null || row.token !== token || row.seen !== token || formed !== row;
  if (isNews) tx.put('sources', rowKey(context), { ...formed, token, seen: token, staging: null, syncedAtMs: nowMs });
  return { kind: 'complete', measured, isNews, changed };
}

function writeObjects(tx: Transaction, rows: string, { isFresh, objects }: Fold): readonly string[] | null {
  if (isFresh && tx.isOnDisk('objects', rows)) {
    tx.drop('objects', rows);
    for (const [id, attributes] of objects) putObject(tx, rows, id, attributes);
    return null;
  }
  const before = isFresh ? [...tx.entries('objects', rows)].map(([id]) => id) : [];
  const gone = before.filter((id) => !objects.has(id));
  for (const id of gone) tx.delete('objects', [rows, id]);
  for (const [id, attributes] of objects) putObject(tx, rows, id, attributes);
  return [...gone, ...objects.keys()];
}

/** Equal objects are neither written nor rendered again. */
function putObject(tx: Transaction, rows: string, id: string, attributes: Attributes | null): void {
  const key = [rows, id] as const;
  const before = tx.get('objects', key);
  if (attributes === null) tx.delete('objects', key);
  else if (before === undefined || !sameJson(before, attributes)) tx.put('objects', key, attributes);
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

/** The sources of uploads whose outcomes came after the last page was requested: only another pull includes those for sure. */
export function sourcesNotIncluding(reader: Reader, settledBefore: number): readonly string[] {
  return [...reader.entries('uploads', '')].flatMap(([, { source, settled }]) =>
    settled !== null && settled >= settledBefore ? [source] : [],
  );
}

/** True if the objects are those of the server, as far as the page tells. */
export function isRight(held: SizeAndChecksum, { size, checksum }: Pick<Page, 'size' | 'checksum'>): boolean {
  return held.size === size && held.checksum === (checksum ?? held.checksum);
}

export function differenceOf(held: SizeAndChecksum, page: Pick<Page, 'size'>): string {
  if (held.size !== page.size) return `the device holds ${held.size} objects, the server has ${page.size}`;
  return 'the checksum of the objects differs from the server';
}
