import { keyOf } from '../keys.ts';
import type { Tables } from '../tables.ts';
import type { Standing } from './kept-job.ts';

/** A queue as it is kept, while it has jobs or is paused. */
export interface KeptQueue {
  readonly isPaused: boolean;
  readonly counts: Readonly<Record<Standing, number>>;
  /** The last moment at which a job was given a time; absent in queues from before it was kept. */
  readonly latestMs?: number;
}

const NEW_QUEUE: KeptQueue = { isPaused: false, counts: { ready: 0, waiting: 0, leased: 0, dead: 0 } };

export function readQueue(tables: Tables, queue: string): KeptQueue {
  const text = tables.queues.get(keyOf(queue));
  return text === undefined ? NEW_QUEUE : (JSON.parse(text) as KeptQueue);
}

/** A queue that says nothing is not kept, so that names nobody uses any more leave nothing behind. */
export function writeQueue(tables: Tables, queue: string, kept: KeptQueue): void {
  const { ready, waiting, leased, dead } = kept.counts;
  if (!kept.isPaused && ready + waiting + leased + dead === 0) tables.queues.remove(keyOf(queue));
  else tables.queues.put(keyOf(queue), JSON.stringify(kept));
}
