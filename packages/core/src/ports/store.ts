import type { DocumentStore } from './store/documents.ts';
import type { EntryStore } from './store/entries.ts';
import type { FileIndex } from './store/files.ts';
import type { JournalStore } from './store/journal.ts';
import type { StoreLifecycle } from './store/lifecycle.ts';
import type { NoteStore } from './store/notes.ts';
import type { StatsStore } from './store/stats.ts';

export type { PartitionKey } from './owner.ts';
export type * from './store/documents.ts';
export type * from './store/entries.ts';
export type * from './store/files.ts';
export type * from './store/journal.ts';
export type * from './store/lifecycle.ts';
export type * from './store/notes.ts';
export type * from './store/partition.ts';
export type * from './store/stats.ts';

/** How the detail of the refusals of an engine begins that has lost its server. */
export const STORE_DOWN = 'the store does not serve';

/**
 * The store: partitions with their journals, named documents, the registry, tidemarks and statistics.
 *
 * What every engine promises:
 * - Every writing call is one atomic step. It is applied whole or not at all, whatever dies in between.
 * - When a writing call's promise resolves, the write is durable (unless `engine.durability` says otherwise), and every
 *   read that starts afterwards sees it. No read ever sees a write that a crash could still take back.
 * - Each read answers from one moment; two reads may answer from two.
 * - Names arrive as tuples of strings. Engines must keep different tuples apart whatever the strings contain.
 * - Records and values are texts the engine never interprets.
 * - Callers pass what admission has let in; an engine that meets anything else throws, it does not guess.
 * - An engine that cannot serve rejects with the refusal `store_unavailable`, a full disk with `store_full`.
 */
export interface Store
  extends JournalStore,
    FileIndex,
    DocumentStore,
    EntryStore,
    NoteStore,
    StatsStore,
    StoreLifecycle {}
