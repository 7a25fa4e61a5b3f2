/** Decides whether a queue may run another job now. */
export interface QueueGate {
  /** How long to wait before the next lease; 0: lease now, and this one is counted. */
  take(): number;
  /** There was nothing to lease after all. */
  giveBack(): void;
}

export const OPEN_GATE: QueueGate = { take: () => 0, giveBack: () => undefined };

/** Lets through what both let through. */
export function bothOf(first: QueueGate, second: QueueGate): QueueGate {
  return {
    take() {
      const firstMs = first.take();
      const secondMs = firstMs > 0 ? 0 : second.take();
      if (secondMs > 0) first.giveBack();
      return Math.max(firstMs, secondMs);
    },
    giveBack() {
      first.giveBack();
      second.giveBack();
    },
  };
}
