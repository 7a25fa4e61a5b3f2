/** Decides whether a queue may run another job now. */
export interface QueueGate {
  /** How long to wait before the next lease; 0: lease now, and this one is counted. */
  take(): number;
  /** There was nothing to lease after all. */
  giveBack(): void;
}

export const OPEN_GATE: QueueGate = { take: () => 0, giveBack: () => undefined };
