import { Refusal } from '@tidemark/protocol';
import type { JournalRange, Store } from '../ports/store.ts';
import { type BuiltPage, buildPage, rangeOf, sendsWholeObjects } from './build-page.ts';
import { type PullPosition, pageStartOf } from './pull-position.ts';

export type PageBounds = Pick<JournalRange, 'entriesMax' | 'unitsMax'>;

/** An attempt fails only when the epoch or the floor of the partition changed between two reads. */
const PULL_ATTEMPTS_MAX = 5;

/** Reads the page that begins at the position, as of now. */
export async function readFromStore(store: Store, position: PullPosition, bounds: PageBounds): Promise<BuiltPage> {
  const { partition, token, restarts } = position;
  let { state } = position;
  for (let attempt = 0; attempt < PULL_ATTEMPTS_MAX; attempt++) {
    const start = pageStartOf(token, state, restarts);
    const range = rangeOf(start, bounds);
    const slice = await (sendsWholeObjects(start, state)
      ? store.readJoined(partition, range)
      : store.readJournal(partition, range));
    // The partition may have changed since its state was read, so that the page must begin elsewhere.
    if (pageStartOf(token, slice.state, restarts).kind === start.kind) return buildPage(partition, start, slice);
    state = slice.state;
  }
  throw new Refusal('store_unavailable', 'the partition kept being replaced while it was read');
}
