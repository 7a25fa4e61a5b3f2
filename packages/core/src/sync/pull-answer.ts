import type { Outcome, PartialError } from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';
import type { BuiltPage } from '../pages/build-page.ts';
import type { PullPosition } from '../pages/pull-position.ts';
import { type RenderedPage, rendered } from '../pages/read-page.ts';
import { isSameHead } from '../ports/store/partition.ts';
import type { Store } from '../ports/store.ts';
import { groupIn } from '../sources/memberships.ts';
import type { FoundSource, OwnerPosition } from './find-source.ts';
import { requireGroupTokens } from './presented.ts';
import { hasChanged } from './set-token.ts';

/** The pages that were read, by the positions that get them. */
export type Pages = ReadonlyMap<PullPosition, BuiltPage>;

/** Why there is no page of a source. */
export interface NoPage {
  readonly error: PartialError;
}

/** A source that cannot be pulled. */
export interface RefusedSource extends NoPage {
  readonly name: string;
  readonly waiting: readonly Outcome[];
}

/** A page of a source, or of one of its groups. */
export interface SourcePage {
  readonly source: string;
  /** Null: the source has no groups, or there is no page of any. */
  readonly group: string | null;
  readonly page: RenderedPage | NoPage;
}

/** What there is to tell about a source of groups besides its pages. */
export interface GroupNews {
  readonly source: string;
  /** Groups that the device knows and the user is not a member of. */
  readonly gone: readonly string[];
  /** Groups that have changed, and whose tokens the device must present. */
  readonly changed: readonly string[];
  /** Stands for all tokens that the device has; null: the one that was presented is unknown; absent: it stays. */
  readonly setToken?: string | null;
  readonly more: boolean;
}

/** The pages of a source, with the device's own tokens. */
export function pagesOf(result: FoundSource | RefusedSource, pages: Pages): readonly SourcePage[] {
  if (!('view' in result)) return [{ source: result.name, group: null, page: { error: result.error } }];
  const { view, paged } = result;
  const source = view.name;
  if (paged.length > 0) return paged.map((one) => ({ source, group: one.group, page: renderedPage(one, pages) }));
  return view.partition_type === 'group' ? [] : [{ source, group: null, page: { error: missingPage(result) } }];
}

function renderedPage({ position, error }: OwnerPosition, pages: Pages): RenderedPage {
  const page = pages.get(position);
  if (page === undefined) throw new Error('a position that is paged has a page');
  return rendered(position, page, error);
}

/** Why a source without groups has no page. */
function missingPage({ view: { name, sync_type } }: FoundSource): PartialError {
  if (sync_type !== 'bulk_only') {
    return { code: 'not_a_member', detail: `the data of ${quoted(name)} that the user has is another now: pull again` };
  }
  const path = `/sync/v1/sources/${encodeURIComponent(name)}/snapshot`;
  return { code: 'snapshot_required', detail: `${quoted(name)} is not given in pages: fetch ${path}` };
}

/** Returns what the answer says about the sources of groups among these. */
export function readGroupNews(
  store: Store,
  sources: readonly FoundSource[],
  pages: Pages,
): Promise<readonly GroupNews[]> {
  const grouped = sources.filter(({ view }) => view.partition_type === 'group');
  return Promise.all(
    grouped.map(async (found) => {
      const isComplete = found.hasNews && found.changed.length === 0;
      return groupNews(found, pages, isComplete && (found.hasJoined || (await haveMoved(store, found, pages))));
    }),
  );
}

/**
 * Whether a group got a commit while the pages were read. A move adds an object to one group before it removes it from the
 * other. An answer that tells the removal and not the addition must therefore say that there is more. The same holds for a
 * group that the user has joined meanwhile.
 */
async function haveMoved(store: Store, found: FoundSource, pages: Pages): Promise<boolean> {
  const { view, positions, covered, set, presented } = found;
  const checks = positions.map(async ({ position }) => {
    const seen = pages.get(position)?.state ?? position.state;
    return !isSameHead(seen, await store.partition(position.partition));
  });
  if (set !== null && set !== 'unknown' && covered.length > 0) {
    const { groups } = requireGroupTokens(view.name, presented);
    const unnamed = covered.filter((owner) => !groups.has(groupIn(view, owner) ?? ''));
    checks.push(hasChanged(store, set, unnamed));
  }
  return (await Promise.all(checks)).includes(true);
}

function groupNews(found: FoundSource, pages: Pages, hasMoved: boolean): GroupNews {
  const { view, positions, paged, gone, changed, set } = found;
  const source = view.name;
  if (set === 'unknown') return { source, gone, changed, setToken: null, more: true };
  const isLeftOut = positions.some(({ position }) => !position.keepsToken && !pages.has(position));
  const isUnfinished = paged.some(({ position }) => pages.get(position)?.more);
  const more = hasMoved || isLeftOut || changed.length > 0 || isUnfinished;
  const token = newSetToken(found);
  return { source, gone, changed, more, ...(token === null ? {} : { setToken: token }) };
}

/** The set token of a device that has presented the current token of every group. Null: it gets none, or keeps its own. */
function newSetToken({ view, presented, positions, paged, gone, changed, set }: FoundSource): string | null {
  if (set === null || set === 'unknown' || paged.length > 0 || gone.length > 0 || changed.length > 0) return null;
  const isKept = set.token === requireGroupTokens(view.name, presented).set;
  return isKept || positions.some(({ position }) => !position.keepsToken) ? null : set.token;
}
