import type {
  DeviceTidemark,
  DocumentWrite,
  EntryBatch,
  EntryRef,
  Guard,
  PartitionKey,
  Piece,
  StatRow,
  StoreLife,
} from '@tidemark/core/ports';
import { applyCommit, applyTrim, type WrittenCommit } from './commit.ts';
import { applyDocument } from './documents.ts';
import { applyEntries, readEntry } from './entries.ts';
import { newEpoch } from './facts.ts';
import { applyImport, applyLife } from './import.ts';
import { applyJobs } from './jobs/apply-jobs.ts';
import type { JobsTask } from './jobs/jobs-task.ts';
import { keyOf } from './keys.ts';
import { applyStats, applyStatsTrim } from './stats.ts';
import type { Tables } from './tables.ts';
import { applyTidemark } from './tidemarks.ts';

/** Everything that can be asked of the writer, as data: it travels to another thread. */
export type Task =
  | { readonly kind: 'commit'; readonly commit: WrittenCommit }
  | { readonly kind: 'trim'; readonly partition: PartitionKey; readonly upTo: number; readonly tombstonesMax: number }
  | { readonly kind: 'document'; readonly write: DocumentWrite }
  | { readonly kind: 'entries'; readonly batch: EntryBatch }
  | {
      readonly kind: 'tidemark';
      readonly partition: PartitionKey;
      readonly mark: DeviceTidemark;
      readonly guards: readonly Guard[];
    }
  | { readonly kind: 'stats'; readonly rows: readonly StatRow[] }
  | { readonly kind: 'trim_stats'; readonly beforeS: number; readonly rowsMax: number }
  | { readonly kind: 'jobs'; readonly task: JobsTask }
  | { readonly kind: 'life'; readonly life: StoreLife }
  | { readonly kind: 'import'; readonly pieces: readonly Piece[] }
  | { readonly kind: 'reset'; readonly keep: readonly EntryRef[] };

/**
 * Runs inside a write transaction, where `put` and `remove` take effect at once and their promises mean nothing. A task
 * looks at everything it depends on before it writes anything.
 */
export function applyTask(tables: Tables, task: Task): unknown {
  switch (task.kind) {
    case 'commit':
      return applyCommit(tables, task.commit);
    case 'trim':
      return applyTrim(tables, task.partition, task.upTo, task.tombstonesMax);
    case 'document':
      return applyDocument(tables, task.write);
    case 'entries':
      return applyEntries(tables, task.batch);
    case 'tidemark':
      return applyTidemark(tables, task.partition, task.mark, task.guards);
    case 'stats':
      return applyStats(tables, task.rows);
    case 'trim_stats':
      return applyStatsTrim(tables, task.beforeS, task.rowsMax);
    case 'jobs':
      return applyJobs(tables, task.task);
    case 'life':
      return applyLife(tables, task.life);
    case 'import':
      return applyImport(tables, task.pieces);
    case 'reset':
      return applyReset(tables, task.keep);
  }
}

/** Counters go on across a reset, so that nothing from before can be mistaken for something from after. */
function applyReset(tables: Tables, keep: readonly EntryRef[]): string {
  const kept = keep.map((ref) => ({ ref, entry: readEntry(tables, ref) }));
  const { root: _root, facts: _facts, ...emptied } = tables;
  for (const table of Object.values(emptied)) table.clearSync();
  for (const { ref, entry } of kept) {
    if (entry !== null) tables.entries.put(keyOf(ref.kind, ...ref.key), `${entry.version} ${entry.value}`);
  }
  return newEpoch(tables);
}
