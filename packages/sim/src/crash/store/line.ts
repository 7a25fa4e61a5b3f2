import type { FailedLine } from '../../processes/worker.ts';
import type { Answer, Operation } from './operation.ts';

/**
 * What a worker reports: `begin` before an operation starts and `done` after its promise has resolved, so the lines tell
 * what was acknowledged and what was running when the worker was killed.
 */
export type Line =
  | FailedLine
  | { readonly say: 'opening' }
  | { readonly say: 'open'; readonly epoch: string }
  | { readonly say: 'begin'; readonly writer: number; readonly operation: Operation }
  | { readonly say: 'done'; readonly writer: number; readonly answer: Answer };

export interface WorkerOptions {
  readonly folder: string;
  readonly seed: number;
  /** Of a hundred operations on objects, how many are batches. */
  readonly batchPercent: number;
  /** Keys of the facts about sources, users and clients that exist when the worker starts. */
  readonly knownKeys: readonly string[];
  /** The token of each writer's device. */
  readonly tokens: readonly (string | null)[];
  /** Plants a bug: the worker acknowledges writes of objects before it performs them. */
  readonly acknowledgesEarly: boolean;
}
