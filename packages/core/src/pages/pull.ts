import { Refusal } from '@tidemark/protocol';
import type { JournalRange, JournalSlice, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { buildPage, type PageParts, rangeOf } from './build-page.ts';
import { type PageStart, startOf } from './start-of.ts';
import { readToken, type Token } from './token.ts';

export interface Pulled {
  readonly page: PageParts;
  /** How the presented token was taken. */
  readonly start: PageStart;
}

/** Every attempt fails only when the partition's life or floor changed between two reads. */
const PULL_ATTEMPTS_MAX = 5;

/** What changed after the token. Costs one look-up when nothing did, and a range scan otherwise. */
export async function pull(
  store: Store,
  partition: PartitionKey,
  tokenText: string | null,
  bounds: Pick<JournalRange, 'entriesMax' | 'unitsMax'>,
): Promise<Pulled> {
  const token = tokenText === null ? null : (readToken(tokenText) ?? 'unreadable');
  let state = await store.partition(partition);
  for (let attempt = 0; attempt < PULL_ATTEMPTS_MAX; attempt++) {
    const start = startOf(token, state);
    const slice = nothingNew(start, state) ?? (await store.readJournal(partition, rangeOf(start, bounds)));
    if (isSameStart(token, start, slice.state)) return { page: buildPage(start, slice), start };
    state = slice.state;
  }
  throw new Refusal('store_unavailable', 'the partition kept being replaced while it was read');
}

function nothingNew(start: PageStart, state: PartitionState): JournalSlice | null {
  const isAtHead = start.kind === 'continue' && start.after === state.head;
  return isAtHead ? { state, records: [], seqs: [], graves: [], upTo: state.head } : null;
}

/** Whether what was decided on the first look still holds at the moment the journal was read. */
function isSameStart(token: Token | null | 'unreadable', start: PageStart, state: PartitionState): boolean {
  return startOf(token, state).kind === start.kind;
}
