/**
 * Work that outlives a request. A job runs at least once, whatever dies; whoever runs it twice must not do harm twice.
 * Jobs of one queue with the same `order` run one after the other, in the order they were enqueued.
 */
export interface Jobs {
  enqueue(queue: string, job: NewJob): Promise<string>;
  /** Takes the next due job for `leaseMs`; when the lease runs out unacknowledged, the job is due again. */
  lease(queue: string, leaseMs: number): Promise<LeasedJob | null>;
  /** Says the job is done. False: the lease had run out, somebody else may have it. */
  acknowledge(job: LeasedJob): Promise<boolean>;
  /** Due again at `atMs`, or set aside as dead when its attempts are used up. */
  retry(job: LeasedJob, atMs: number, reason: string): Promise<'retrying' | 'dead' | 'lease_lost'>;
  pause(queue: string): Promise<void>;
  resume(queue: string): Promise<void>;
  inspect(
    queue: string,
    state: JobState,
    list: { readonly after?: string; readonly limit: number },
  ): Promise<readonly JobView[]>;
  /** Makes a dead job due again. */
  revive(queue: string, id: string): Promise<boolean>;
}

export type JobState = 'due' | 'leased' | 'delayed' | 'dead';

export interface NewJob {
  readonly payload: string;
  readonly attemptsMax: number;
  readonly order?: string;
  readonly dueAtMs?: number;
}

export interface LeasedJob {
  readonly id: string;
  readonly queue: string;
  readonly payload: string;
  readonly attempt: number;
  readonly lease: string;
}

export interface JobView {
  readonly id: string;
  readonly state: JobState;
  readonly attempt: number;
  readonly dueAtMs: number;
  readonly lastReason: string | null;
}
