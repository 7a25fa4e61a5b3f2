import type { Entry, EntryKind, Store } from '../ports/store.ts';

const PAGE_ENTRIES = 1_000;

/** Yields all entries whose key begins with `prefix`, in the order of their keys. */
export async function* allEntries(store: Store, kind: EntryKind, prefix: readonly string[]): AsyncGenerator<Entry> {
  let after: readonly string[] | undefined;
  for (;;) {
    const page = await store.listEntries({
      kind,
      prefix,
      limit: PAGE_ENTRIES,
      ...(after === undefined ? {} : { after }),
    });
    yield* page;
    after = page.at(-1)?.key;
    if (after === undefined || page.length < PAGE_ENTRIES) return;
  }
}
