import type { NewJob } from '@tidemark/core/ports';

/**
 * What is asked of the writer about the jobs of one queue, as data. What many ask at the same moment travels and is done
 * together: it then costs little more than what one asks.
 */
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
  /** Side by side, since this is said most often and must travel light. */
  | { readonly do: 'done'; readonly ids: readonly string[]; readonly leases: readonly string[] }
  | { readonly do: 'settle'; readonly id: string; readonly lease: string; readonly verdict: Verdict }
  | { readonly do: 'revive' | 'remove'; readonly id: string }
  | { readonly do: 'pause'; readonly isPaused: boolean }
  /** Ends the leases that have run out, which every other task does as well. */
  | { readonly do: 'sweep' };

/** What the holder of a lease says. */
export type Verdict =
  | { readonly say: 'done' | 'give_back' }
  | { readonly say: 'renew'; readonly leaseMs: number }
  | { readonly say: 'retry'; readonly atMs: number; readonly reason: string }
  | { readonly say: 'bury'; readonly reason: string };
