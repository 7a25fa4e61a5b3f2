import { Refusal } from '@tidemark/protocol';
import { COMPRESSIONS_AT_ONCE_MAX, COMPRESSIONS_WAITING_MAX, SNAPSHOTS_MAX } from '../../limits.ts';
import { ConcurrencyLimit } from '../../primitives/concurrency-limit.ts';

/**
 * Compressing takes a thread of a small pool, which hashing passwords and reading files need as well. So only some
 * answers are compressed at a time, and the others wait. Pulls that would wait too long are sent as they are; snapshots
 * are bounded by their number.
 */
const limit = new ConcurrencyLimit({
  atOnceMax: COMPRESSIONS_AT_ONCE_MAX,
  waitingMax: COMPRESSIONS_WAITING_MAX + SNAPSHOTS_MAX,
  refusal: () => new Refusal('overloaded', 'too many answers wait to be compressed', [], 1),
});

/** Does the work when it is its turn. */
export function inCompressionTurn<T>(work: () => Promise<T>): Promise<T> {
  return limit.run(work);
}
