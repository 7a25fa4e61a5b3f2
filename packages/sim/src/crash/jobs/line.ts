import type { FailedLine } from '../../processes/worker.ts';

/**
 * What a worker reports. It announces every step before it begins and confirms it after its promise has resolved, so the
 * lines tell what was acknowledged and what was running when the worker was killed.
 */
export type Line =
  | FailedLine
  | { readonly say: 'open' }
  | { readonly say: 'enqueue' | 'enqueued'; readonly names: readonly string[] }
  | { readonly say: 'run' | 'ack' | 'acked'; readonly name: string };

export interface WorkerOptions {
  readonly folder: string;
  readonly seed: number;
  /** The number of the next job of each order. */
  readonly next: readonly number[];
  /** Plants a bug: the worker confirms every step before it performs it. */
  readonly confirmsEarly: boolean;
}

export const QUEUE = 'work';
export const ORDERS = ['a', 'b', 'c'] as const;
/** Short, so that the next worker can lease what a killed one had leased. */
export const LEASE_MS = 1_000;
/** So many that no kill exhausts them. */
export const ATTEMPTS_MAX = 1_000;

/** Returns the name of a job, which contains its order and its position in it. */
export function nameOf(order: string, number: number): string {
  return `${order} ${number}`;
}

export function positionOf(name: string): { readonly order: string; readonly number: number } {
  const [order = '', number = ''] = name.split(' ');
  return { order, number: Number(number) };
}
