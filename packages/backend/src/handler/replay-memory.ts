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
