/**
 * The result of one lease. `lease_lost`: it expired, so the result did not count. `unsettled`: the store did not
 * accept the result, so the job runs again when the lease has expired.
 */
export type JobOutcome = 'done' | 'retried' | 'dead' | 'lease_lost' | 'given_back' | 'unsettled';

export interface JobReport {
  readonly queue: string;
  readonly kind: string;
  readonly outcome: JobOutcome;
  readonly tookMs: number;
}
