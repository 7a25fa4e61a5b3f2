import type { MetricValues } from '../../telemetry/metrics.ts';

/** What a worker is ready with, for the line that says so. */
export interface WorkerReady {
  readonly url: string;
  readonly adminLogin: string;
  readonly generatedPassword: string | null;
  readonly isAdminPasswordIgnored: boolean;
}

/** Why a worker could not start, as the command line tells it. */
export interface StartFailure {
  readonly message: string;
  readonly hint: string | null;
  readonly exitCode: number;
}

export type FromWorker =
  | { readonly kind: 'ready'; readonly ready: WorkerReady }
  | { readonly kind: 'failed'; readonly failure: StartFailure }
  /** The metrics of all workers are asked for. */
  | { readonly kind: 'scrape'; readonly id: number }
  | { readonly kind: 'measured'; readonly id: number; readonly metrics: MetricValues };

export type ToWorker =
  | { readonly kind: 'measure'; readonly id: number }
  | { readonly kind: 'scraped'; readonly id: number; readonly text: string };
