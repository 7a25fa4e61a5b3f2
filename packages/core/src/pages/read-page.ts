import { type Limits, type PartialError, pointer, Refusal } from '@tidemark/protocol';
import type { Store } from '../ports/store.ts';
import { type BuiltPage, emptyPage } from './build-page.ts';
import type { PageCache } from './page-cache.ts';
import type { PageStart, PullPosition } from './pull-position.ts';
import { type PageBounds, readFromStore } from './read-from-store.ts';
import { bodyWith, type PageBody } from './render-page.ts';
import { readShared } from './shared-pages.ts';
import { tokenText } from './token.ts';

/** A page for one device. Its JSON is `{"token":"<token>",` followed by the parts of the body. */
export interface RenderedPage {
  readonly token: string;
  readonly more: boolean;
  /** Objects and tombstones on the page. */
  readonly entries: number;
  readonly start: PageStart;
  readonly body: PageBody;
  /** Whether other devices get the same body. */
  readonly isShared: boolean;
}

/** The bounds that a caller asks for, within the limits. */
export function pageBounds(
  { pageObjectsMax, pageUnitsMax }: Pick<Limits, 'pageObjectsMax' | 'pageUnitsMax'>,
  { objectsMax, unitsMax }: { readonly objectsMax?: number; readonly unitsMax?: number },
): PageBounds {
  return {
    entriesMax: bounded(objectsMax, pageObjectsMax, 'max_objects'),
    unitsMax: bounded(unitsMax, pageUnitsMax, 'max_units'),
  };
}

function bounded(asked: number | undefined, max: number, name: string): number {
  if (asked === undefined) return max;
  if (Number.isInteger(asked) && asked >= 1) return Math.min(asked, max);
  const detail = 'must be a whole number from 1';
  throw new Refusal('invalid_value', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}

/** Reads the page that a device gets next. Pages of shared partitions come from the cache, or go into it. */
export async function readPage(
  store: Store,
  position: PullPosition,
  bounds: PageBounds,
  cache: PageCache,
): Promise<BuiltPage> {
  if (!position.hasNews) return emptyPage(position);
  return position.partition.owner.kind === 'shared'
    ? readShared(store, position, bounds, cache)
    : readFromStore(store, position, bounds);
}

/** The page with the device's own token. With `error`, the backend could not be asked, and the page has what is stored. */
export function rendered(position: PullPosition, page: BuiltPage, error: PartialError | null): RenderedPage {
  const body = error === null ? page.body : bodyWith(page.body, `"error":${JSON.stringify(error)}`);
  const isShared = position.partition.owner.kind === 'shared';
  const token = position.keepsToken ? (position.presented ?? '') : nextToken(position, page);
  return { token, more: page.more, entries: page.entries, start: page.start, body, isShared };
}

function nextToken({ restarts }: PullPosition, { token, tokenText: text }: BuiltPage): string {
  return restarts === 0 && text !== undefined ? text : tokenText(token, restarts);
}
