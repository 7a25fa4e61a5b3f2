import type { MetricValues } from '../../telemetry/metric-registry.ts';

/** What a worker reports when it is ready, for the start message. */
export interface WorkerReady {
  readonly url: string;
  readonly adminLogin: string;
  readonly generatedPassword: string | null;
  readonly isAdminPasswordIgnored: boolean;
}

/** Why a worker could not start, for the command line. */
export interface StartFailure {
  readonly message: string;
  readonly hint: string | null;
  readonly exitCode: number;
}

export type FromWorker =
  | { readonly kind: 'ready'; readonly ready: WorkerReady }
  | { readonly kind: 'failed'; readonly failure: StartFailure }
  /** Asks for the metrics of all workers. */
  | { readonly kind: 'scrape'; readonly id: number }
  | { readonly kind: 'measured'; readonly id: number; readonly metrics: MetricValues };

export type ToWorker =
  | { readonly kind: 'measure'; readonly id: number }
  | { readonly kind: 'scraped'; readonly id: number; readonly text: string };
