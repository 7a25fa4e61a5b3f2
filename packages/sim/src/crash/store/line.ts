import type { Answer, Operation } from './operation.ts';

/**
 * What a worker says about itself, one JSON text per line. `begin` is said before an operation is started and `done`
 * after its promise has resolved, so at the end of the lines it is known what was acknowledged and what was under way.
 */
export type Line =
  | { readonly say: 'opening' }
  | { readonly say: 'open'; readonly epoch: string }
  | { readonly say: 'begin'; readonly writer: number; readonly operation: Operation }
  | { readonly say: 'done'; readonly writer: number; readonly answer: Answer }
  | { readonly say: 'failed'; readonly writer: number; readonly reason: string };

/** What a worker is told. */
export interface WorkerOrders {
  readonly folder: string;
  readonly seed: number;
  /** Of a hundred operations on objects, how many are batches. */
  readonly batchPercent: number;
  /** Keys of the facts about sources, users and clients that hold when it starts. */
  readonly known: readonly string[];
  /** The token of each writer's device. */
  readonly tokens: readonly (string | null)[];
  /** For the canary: acknowledges writes of objects before it has even begun. */
  readonly isLiar: boolean;
}
