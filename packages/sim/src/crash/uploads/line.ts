import type { FailedLine } from '../../processes/worker.ts';

/** The worker reports every call before it sends it to the backend. */
export type Line = FailedLine | { readonly say: 'call' };

export interface WorkerOptions {
  readonly folder: string;
  /** The address of the backend. */
  readonly url: string;
}

export const QUEUE = 'uploads';
/** Short, so that the next worker can lease what a killed one had leased. */
export const LEASE_MS = 250;
