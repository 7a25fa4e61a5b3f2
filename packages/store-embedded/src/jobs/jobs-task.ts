import type { LeaseAction, NewJob, QueueAction } from '@tidemark/core/ports';

/** Calls about the jobs of one queue, as the writer thread gets them. Calls of the same moment share one task. */
export interface JobsTask {
  readonly calls: readonly JobsCall[];
  readonly queue: string;
  readonly nowMs: number;
  readonly bounds: JobsBounds;
}

export interface JobsBounds {
  /** Jobs of a queue that are not dead. */
  readonly jobsPerQueueMax: number;
  /** Dead jobs of a queue. */
  readonly deadPerQueueMax: number;
}

export type JobsCall =
  | { readonly do: 'enqueue'; readonly jobs: readonly NewJob[] }
  | { readonly do: 'lease'; readonly leaseMs: number; readonly jobsMax: number }
  /** Two lists instead of a list of objects, because this is the most frequent call and is copied between threads. */
  | { readonly do: 'done'; readonly ids: readonly string[]; readonly leases: readonly string[] }
  | { readonly do: 'settle'; readonly id: string; readonly lease: string; readonly action: LeaseAction }
  | QueueAction
  /** Only ends expired leases, which every other task does as well. */
  | { readonly do: 'sweep' };
