/** An answer to an upload, as it is kept and given again. */
export interface KeptAnswer {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
}

/**
 * Remembers what uploads were answered, by `op_id`, so that a repetition is answered the same without being done again.
 * This is kept after the effect, not together with it: a process that dies in between forgets. A backend with a database
 * keeps the `op_id` in the transaction of the effect itself, and then needs nothing here.
 */
export interface OperationMemory {
  recall(key: string): KeptAnswer | undefined | Promise<KeptAnswer | undefined>;
  keep(key: string, answer: KeptAnswer): void | Promise<void>;
}

/** Answers remembered; beyond it the oldest is forgotten. */
const ANSWERS_MAX = 10_000;

/** The memory of one process. */
export function inProcessOperations(answersMax: number = ANSWERS_MAX): OperationMemory {
  const kept = new Map<string, KeptAnswer>();
  return {
    recall: (key) => kept.get(key),
    keep(key, answer) {
      const oldest = kept.size >= answersMax ? kept.keys().next().value : undefined;
      if (oldest !== undefined) kept.delete(oldest);
      kept.set(key, answer);
    },
  };
}
