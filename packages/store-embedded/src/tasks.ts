import type {
  Commit,
  DeviceTidemark,
  DocumentWrite,
  EntryBatch,
  EntryRef,
  Guard,
  PartitionKey,
  Piece,
  StatRow,
  StoreHead,
} from '@tidemark/core/ports';
import type { JobsTask } from './jobs/jobs-task.ts';

/** Everything that the writer thread can be asked to do, as data that is sent between threads. */
export type Task =
  | { readonly kind: 'commit'; readonly commit: Commit }
  | { readonly kind: 'trim'; readonly partition: PartitionKey; readonly upTo: number; readonly tombstonesMax: number }
  | { readonly kind: 'document'; readonly write: DocumentWrite }
  | { readonly kind: 'entries'; readonly batch: EntryBatch }
  | TidemarkTask
  | { readonly kind: 'stats'; readonly rows: readonly StatRow[] }
  | { readonly kind: 'trim_stats'; readonly beforeS: number; readonly rowsMax: number }
  | { readonly kind: 'jobs'; readonly task: JobsTask }
  | { readonly kind: 'head'; readonly head: StoreHead }
  | { readonly kind: 'import'; readonly pieces: readonly Piece[] }
  | { readonly kind: 'reset'; readonly keep: readonly EntryRef[] };

export interface TidemarkTask {
  readonly kind: 'tidemark';
  readonly partition: PartitionKey;
  readonly mark: DeviceTidemark;
  readonly guards: readonly Guard[];
  /** The tidemark that must be stored until now; null: none. Undefined: not checked. */
  readonly expect: DeviceTidemark | null | undefined;
}

/** A task as the writer applies it. */
export type WriterTask = Exclude<Task, { readonly kind: 'commit' }> | CommitTask;

interface CommitTask {
  readonly kind: 'commit';
  readonly commit: WriterCommit;
}

export type WriterCommit = Omit<Commit, 'changes'> & { readonly changes: readonly WriterChange[] };

/** A change with its record as the bytes that go to the disk. */
export interface WriterChange {
  readonly id: string;
  readonly record: Uint8Array | null;
  /** UTF-16 units of the record. */
  readonly units: number;
  readonly checksum: number;
  /** The files that the record refers to. Absent: none. */
  readonly files?: readonly string[];
  readonly expect?: number;
}
