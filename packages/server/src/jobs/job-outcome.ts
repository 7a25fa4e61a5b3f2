/**
 * What became of one lease. `lease_lost`: it ran out, so the result did not count. `unsettled`: the store did not take
 * the result, so the job runs again when the lease has run out.
 */
export type JobOutcome = 'done' | 'retried' | 'dead' | 'lease_lost' | 'given_back' | 'unsettled';

export interface JobReport {
  readonly queue: string;
  readonly kind: string;
  readonly outcome: JobOutcome;
  readonly tookMs: number;
}
