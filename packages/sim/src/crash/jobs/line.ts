/**
 * What a worker says about itself, one JSON text per line. Every step is announced before it is begun and confirmed
 * after its promise has resolved, so at the end of the lines it is known what was acknowledged and what was under way.
 */
export type Line =
  | { readonly say: 'open' }
  | { readonly say: 'enqueue' | 'enqueued'; readonly names: readonly string[] }
  | { readonly say: 'run' | 'ack' | 'acked'; readonly name: string }
  | { readonly say: 'failed'; readonly reason: string };

/** What a worker is told. */
export interface WorkerOrders {
  readonly folder: string;
  readonly seed: number;
  /** By order: the number of the next job. */
  readonly next: readonly number[];
  /** For the canary: confirms before it has done anything. */
  readonly isLiar: boolean;
}

export const QUEUE = 'work';
export const ORDERS = ['a', 'b', 'c'] as const;
/** Short, so that the next worker gets hold of what a dead one had leased. */
export const LEASE_MS = 250;
/** So many that nothing dies of being killed. */
export const ATTEMPTS_MAX = 1_000;

/** A job says by its name which order it keeps, and where in it. */
export function nameOf(order: string, number: number): string {
  return `${order} ${number}`;
}

export function placeOf(name: string): { readonly order: string; readonly number: number } {
  const [order = '', number = ''] = name.split(' ');
  return { order, number: Number(number) };
}
