/** What a worker is told. */
export interface WorkerOrders {
  readonly folder: string;
  /** Where the backend is. */
  readonly url: string;
}

export const QUEUE = 'office';
/** Short, so that the next worker gets hold of what a dead one had leased. */
export const LEASE_MS = 250;
