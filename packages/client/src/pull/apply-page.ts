import type { Page } from '@tidemark/protocol';
import type { Reader, Transaction } from '../state/local-state.ts';
import type { Attributes, SourceRow } from '../state/rows.ts';
import { sameJson } from '../state/same-json.ts';
import { EMPTY_FOLD, type Fold, foldPage, measureFolded, type SizeAndChecksum, TornPage } from './fold.ts';

export type PageEffect =
  /** Kept aside: more pages follow. */
  | { readonly kind: 'staged'; readonly fold: Fold }
  /** The source is what the server had; the app sees all of it at once. */
  | { readonly kind: 'complete'; readonly measured: SizeAndChecksum }
  /** What the device holds is not what the server has: the source starts over. What the app sees stays meanwhile. */
  | { readonly kind: 'healed'; readonly reason: string }
  /** The page belongs to a token the device does not hold any more. */
  | { readonly kind: 'ignored' };

export interface PageAsked {
  readonly source: string;
  /** The token the page was asked with. */
  readonly token: string | null;
  /** Outcomes learnt before the page was asked for: what they applied is in it. */
  readonly settledBefore: number;
}

/** What the device knows of the source beside what is kept. */
export interface PageContext {
  /** The pages staged so far; it is used up. */
  readonly fold: Fold;
  readonly held: () => SizeAndChecksum;
  readonly nowMs: number;
}

/** What to pull a source with: where its catch-up has come to, else where the last one ended. */
export function tokenOf(row: SourceRow): string | null {
  return row.staging?.token ?? row.token;
}

/** Takes a page into the transaction. */
export function applyPage(tx: Transaction, asked: PageAsked, page: Page, ground: PageContext): PageEffect {
  const row = tx.get('sources', ['', asked.source]);
  if (row === undefined || tokenOf(row) !== asked.token) return { kind: 'ignored' };
  try {
    const fold = foldPage(tx, asked.source, ground.fold, page);
    return page.more
      ? stage(tx, row, page, { ...asked, fold })
      : complete(tx, row, page, { ...asked, ...ground, fold });
  } catch (error) {
    if (!(error instanceof TornPage)) throw error;
    return heal(tx, asked.source, row, error.message);
  }
}

/** The pages staged so far, folded again: after a restart, or when a transaction was not kept. */
export function foldStaged(reader: Reader, source: string): Fold {
  let fold: Fold = { ...EMPTY_FOLD, objects: new Map() };
  for (const [, page] of reader.entries('staged', source)) fold = foldPage(reader, source, fold, page);
  return fold;
}

/** Forgets where the source was, so that it starts over. */
function heal(tx: Transaction, source: string, row: SourceRow, reason: string): PageEffect {
  dropStaged(tx, source);
  tx.put('sources', ['', source], { ...row, token: null, staging: null, heals: row.heals + 1 });
  return { kind: 'healed', reason };
}

function stage(tx: Transaction, row: SourceRow, page: Page, { source, fold }: PageAsked & { fold: Fold }): PageEffect {
  if (page.reset === true) dropStaged(tx, source);
  const pages = page.reset === true ? 0 : (row.staging?.pages ?? 0);
  tx.put('staged', [source, String(pages)], page);
  tx.put('sources', ['', source], { ...row, staging: { token: page.token, pages: pages + 1 } });
  return { kind: 'staged', fold };
}

function complete(tx: Transaction, row: SourceRow, page: Page, context: PageAsked & PageContext): PageEffect {
  const { source, settledBefore, fold, held, nowMs } = context;
  const measured = measureFolded(tx, source, fold, held);
  const isRight = measured.size === page.size && measured.checksum === (page.checksum ?? measured.checksum);
  if (!isRight) return heal(tx, source, row, differenceOf(measured, page));
  writeObjects(tx, source, fold);
  dropStaged(tx, source);
  dropIncluded(tx, source, settledBefore);
  const { token } = page;
  // Most pulls bring nothing: those should not cost the disk a write.
  const isNews = row.staging !== null || row.token !== token || row.seen !== token;
  if (isNews) tx.put('sources', ['', source], { ...row, token, seen: token, staging: null, syncedAtMs: nowMs });
  return { kind: 'complete', measured };
}

function writeObjects(tx: Transaction, source: string, { isFresh, objects }: Fold): void {
  if (isFresh) {
    const gone = [...tx.entries('objects', source)].filter(([id]) => !objects.has(id));
    for (const [id] of gone) tx.delete('objects', [source, id]);
  }
  for (const [id, attributes] of objects) {
    const before = tx.get('objects', [source, id]);
    if (attributes === null) tx.delete('objects', [source, id]);
    else if (!isSame(before, attributes)) tx.put('objects', [source, id], attributes);
  }
}

/** What is equal is not written again, and whoever shows it need not draw it again. */
function isSame(before: Attributes | undefined, after: Attributes): boolean {
  return before !== undefined && sameJson(before, after);
}

/**
 * Uploads lie over the objects until a catch-up includes them. One that was known to be applied when the last page was
 * asked for is in that page, so nothing flickers when it goes.
 */
function dropIncluded(tx: Transaction, source: string, settledBefore: number): void {
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
  return 'the objects have another checksum than those of the server';
}
