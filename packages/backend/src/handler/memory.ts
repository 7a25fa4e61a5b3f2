/** The remembered answer to an upload. */
export interface StoredAnswer {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
}

/**
 * Remembers the answers to uploads by `op_id`, so that a repetition gets the same answer without being executed again. An
 * answer is remembered after the effect: a process that dies in between forgets it. A backend with a database can store
 * the `op_id` in the transaction of the effect, and then does not need this.
 */
export interface OperationMemory {
  recall(key: string): StoredAnswer | undefined | Promise<StoredAnswer | undefined>;
  keep(key: string, answer: StoredAnswer): void | Promise<void>;
}

/** Remembered answers; beyond it the oldest is forgotten. */
const ANSWERS_MAX = 10_000;

/** Remembers answers in this process. */
export function inProcessOperations(answersMax: number = ANSWERS_MAX): OperationMemory {
  const kept = new Map<string, StoredAnswer>();
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
 * Remembers which signed messages were seen. Several processes should share one memory, so that each knows the messages of
 * the others.
 */
export interface ReplayMemory {
  /** Returns false when the key was seen before. It can be forgotten after `untilMs`, when its time stamp is too old. */
  firstSeen(key: string, untilMs: number, nowMs: number): boolean | Promise<boolean>;
}

/** Remembered messages; beyond it the oldest is forgotten. Only messages with a valid signature are remembered. */
const MESSAGES_MAX = 100_000;

/** Remembers messages in this process. */
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

/** Messages are in the order of arrival, which is nearly that of their time stamps, so the loop ends at the first valid one. */
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
