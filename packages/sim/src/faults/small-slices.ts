import type { Store } from '@tidemark/core';

/** Pages of simulated devices are never larger than this, so a larger read is one of a whole document. */
const PAGE_ENTRIES_MAX = 5;
const SLICE_ENTRIES_MAX = 2;

/**
 * Returns a store that reads whole documents in slices of two entries. The documents of a simulation have a dozen
 * objects; the server would read each in one slice, and nothing could happen between two.
 */
export function smallSlices(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name !== 'readJournal') return member.bind(target);
      return (...[key, range]: Parameters<Store['readJournal']>) =>
        target.readJournal(key, readsDocument(range) ? { ...range, entriesMax: SLICE_ENTRIES_MAX } : range);
    },
  });
}

/** Returns true for a read of a whole document, false for a page of a device. */
export function readsDocument({ entriesMax }: { readonly entriesMax: number }): boolean {
  return entriesMax > PAGE_ENTRIES_MAX;
}
