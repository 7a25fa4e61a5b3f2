import { Refusal } from '@tidemark/protocol';
import { COMPRESSIONS_AT_ONCE_MAX, COMPRESSIONS_WAITING_MAX, SNAPSHOTS_MAX } from '../../limits.ts';
import { ConcurrencyLimit } from '../../primitives/concurrency-limit.ts';

/**
 * Compression takes a thread of a small pool that password hashing and file access need as well. So only some answers
 * are compressed at a time, and the others wait. Pulls that would wait too long are sent uncompressed; the number of
 * snapshots is bounded anyway.
 */
const limit = new ConcurrencyLimit({
  atOnceMax: COMPRESSIONS_AT_ONCE_MAX,
  waitingMax: COMPRESSIONS_WAITING_MAX + SNAPSHOTS_MAX,
  refusal: () => new Refusal('overloaded', 'too many answers wait to be compressed', [], 1),
});

/** Runs the work when a compression slot is free. */
export function withCompressionSlot<T>(work: () => Promise<T>): Promise<T> {
  return limit.run(work);
}
