import type { LocalKey } from '../ports/local-store.ts';
import type { Reader } from './local-state.ts';
import type { SourceRow } from './rows.ts';

/** Separates a source from a group. Names contain no control characters. */
const GROUP_MARK = '\u001f';
const OWNERS_MARK = '\u001e';
const MARKS = new RegExp(`[${OWNERS_MARK}${GROUP_MARK}]`);

/** Where the rows of a source are, or of one of its groups. */
export interface RowScope {
  readonly source: string;
  readonly group?: string;
}

/** The key of the row in `sources`. */
export function rowKey({ source, group }: RowScope): LocalKey {
  return group === undefined ? ['', source] : [source, group];
}

/** The first part of the keys of its objects and staged pages. The objects of the source itself are those of all its groups. */
export function rowsOf({ source, group }: RowScope): string {
  return group === undefined ? source : `${source}${GROUP_MARK}${group}`;
}

/** Where the objects of a source on the disk are that will replace the present ones. No group has this name. */
export function asideOf(source: string): string {
  return rowsOf({ source, group: GROUP_MARK });
}

/** The first part of the keys of the objects that pages are stored as at the moment. */
export function storedRowsOf(place: RowScope, row: SourceRow | undefined): string {
  return row?.staging?.firstSync === 'aside' ? asideOf(place.source) : rowsOf(place);
}

/** The source that rows belong to, by the first part of their keys. */
export function sourceOf(first: string): string {
  const end = first.search(MARKS);
  return end < 0 ? first : first.slice(0, end);
}

/** The first part of the keys of the rows that say which groups have an object. */
export function ownersOf(source: string): string {
  return `${source}${OWNERS_MARK}`;
}

/** The groups of the device that have the object, sorted; none if the data of the source does not belong to groups. */
export function groupsWith(reader: Reader, source: string, id: string): readonly string[] {
  return (reader.get('objects', [ownersOf(source), id])?.groups ?? []) as readonly string[];
}

/** True if the data of the source belongs to groups. */
export function isGrouped(row: SourceRow | undefined): boolean {
  return row?.description.partition_type === 'group';
}

/** The groups that the device has data of, or has begun to pull. */
export function groupsHeld(reader: Reader, source: string): readonly string[] {
  return [...reader.entries('sources', source)].map(([group]) => group);
}

/** The source and group of an acknowledgement, as one text. */
export function scopeText({ source, group }: RowScope): string {
  return rowsOf(group === undefined ? { source } : { source, group });
}

export function parseScope(text: string): RowScope {
  const [source = '', group] = text.split(GROUP_MARK);
  return group === undefined ? { source } : { source, group };
}
