import type { JoinedSlice, JournalSlice } from './store.ts';

const encoder = new TextEncoder();

/** Joins the records of a slice, for engines that store every record separately. */
export function joinedSlice({ state, records, tombstones, upTo }: JournalSlice): JoinedSlice {
  return { state, tombstones, upTo, count: records.length, records: encoder.encode(records.join(',')) };
}
