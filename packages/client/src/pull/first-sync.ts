import type { Page } from '@tidemark/protocol';
import { FIRST_SYNC_PART_OBJECTS } from '../limits.ts';
import { type RowScope, rowKey, rowsOf } from '../state/group-rows.ts';
import type { LocalState, Reader } from '../state/local-state.ts';

/** A page of a first sync, or a part of one. */
export interface PagePart extends Page {
  /** The ids in `put` that this part is about. */
  readonly ids: readonly string[];
  /** False: other parts of the page follow, and the token stays as it is. */
  readonly isLast: boolean;
}

/**
 * Returns true if the page belongs to a first sync: the device holds nothing of the source. Such pages are stored as
 * objects at once, so that each object is written once and no step is large. Pages of other catch-ups are staged, because
 * the app sees the objects that they change. A source on the disk that starts over is never staged, since memory may not have room.
 */
export function isOfFirstSync(reader: LocalState, place: RowScope, page: Page): boolean {
  const row = reader.get('sources', rowKey(place));
  if (row === undefined) return false;
  if (row.staging?.firstSync !== undefined) return true;
  if (page.reset !== true) return false;
  const rows = rowsOf(place);
  return reader.isOnDisk(rows) || ((page.more || isLarge(page)) && holdsNothing(reader, rows));
}

/**
 * Splits a page, so that the thread is free between the parts. If the process dies between them, the page is pulled again,
 * and putting its objects again changes nothing.
 */
export function partsOf(page: Page): readonly PagePart[] {
  const { put = {}, reset, delete: deleted, ...rest } = page;
  const ids = Object.keys(put);
  const first = { ...(reset === undefined ? {} : { reset }), ...(deleted === undefined ? {} : { delete: deleted }) };
  const { token, size } = page;
  const parts: PagePart[] = [];
  for (let at = 0; at === 0 || at < ids.length; at += FIRST_SYNC_PART_OBJECTS) {
    const isLast = at + FIRST_SYNC_PART_OBJECTS >= ids.length;
    const page = { ...(at === 0 ? first : {}), ...(isLast ? rest : { token, size, more: true }) };
    parts.push({ ...page, put, ids: ids.slice(at, at + FIRST_SYNC_PART_OBJECTS), isLast });
  }
  return parts;
}

/** The page as its only part. */
export function wholePart(page: Page): PagePart {
  return { ...page, ids: Object.keys(page.put ?? {}), isLast: true };
}

function isLarge({ put = {} }: Page): boolean {
  return Object.keys(put).length > FIRST_SYNC_PART_OBJECTS;
}

function holdsNothing(reader: Reader, rows: string): boolean {
  for (const _ of reader.entries('objects', rows)) return false;
  return true;
}
