import type { JoinedSlice, JournalSlice } from './store.ts';

const encoder = new TextEncoder();

/** A slice of an engine that keeps every record by itself. */
export function joinedSlice({ state, records, tombstones, upTo }: JournalSlice): JoinedSlice {
  return { state, tombstones, upTo, count: records.length, records: encoder.encode(records.join(',')) };
}
