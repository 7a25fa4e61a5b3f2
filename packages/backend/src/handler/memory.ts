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

/**
 * Remembers which signed messages were seen. Behind several processes one memory for all of them is better: what one has
 * seen, the others have then seen too.
 */
export interface ReplayMemory {
  /** False when the key has been seen before. It may be forgotten after `untilMs`, when its time stamp is too old. */
  firstSeen(key: string, untilMs: number, nowMs: number): boolean | Promise<boolean>;
}

/** Messages remembered; beyond it the oldest is forgotten. Only messages with a right signature take a place. */
const MESSAGES_MAX = 100_000;

/** The memory of one process. */
export function inProcessReplays(messagesMax: number = MESSAGES_MAX): ReplayMemory {
  const seen = new Map<string, number>();
  return {
    firstSeen(key, untilMs, nowMs) {
      forgetOld(seen, nowMs);
      if (seen.has(key)) return false;
      if (seen.size >= messagesMax) forgetFirst(seen);
      seen.set(key, untilMs);
      return true;
    },
  };
}

/** Messages stand in the order of their arrival, which is nearly that of their time stamps: one late in line waits its turn. */
function forgetOld(seen: Map<string, number>, nowMs: number): void {
  for (const [key, untilMs] of seen) {
    if (untilMs >= nowMs) return;
    seen.delete(key);
  }
}

function forgetFirst(seen: Map<string, number>): void {
  const { value } = seen.keys().next();
  if (value !== undefined) seen.delete(value);
}
