import type { Page } from '@tidemark/protocol';
import type { RowsRead } from '../state/disk-work.ts';
import { type RowScope, rowKey, rowsOf, storedRowsOf } from '../state/group-rows.ts';
import type { LocalState } from '../state/local-state.ts';
import type { PagePart } from './first-sync.ts';

/**
 * Reads the objects on the disk that a page is compared with. Returns their ids. `isFolded`: the pages before it are in memory,
 * so that those that follow need only what they change.
 */
export async function readForPage(
  rows: RowsRead,
  { state, isFolded }: { readonly state: LocalState; readonly isFolded: boolean },
  place: RowScope,
  page: Page | PagePart,
): Promise<readonly string[]> {
  if (!state.isOnDisk(rowsOf(place))) return [];
  const isStaged = !('ids' in page) && page.reset !== true;
  const staged = isStaged && !(isFolded && page.more) ? [...state.entries('staged', rowsOf(place))] : [];
  const ids = [...new Set([...staged.flatMap(([, earlier]) => idsIn(earlier)), ...idsIn(page)])];
  // What is there is deleted before a page that starts over.
  if (page.reset === true) return ids;
  const first = storedRowsOf(place, state.get('sources', rowKey(place)));
  await rows.read(ids.map((id) => [first, id]));
  return ids;
}

function idsIn(page: Page | PagePart): readonly string[] {
  const put = 'ids' in page ? page.ids : Object.keys(page.put ?? {});
  return [...put, ...(page.delete ?? []), ...Object.keys(page.drop ?? {}), ...Object.keys(page.patch ?? {})];
}
