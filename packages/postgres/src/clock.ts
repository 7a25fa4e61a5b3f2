/** The clock and the timers as this package sees them. Tests bring their own. */
export interface Clock {
  nowMs(): number;
  /** Runs `action` again and again; what it returns ends that. */
  every(periodMs: number, action: () => void): () => void;
  /** Runs `action` later; what it returns prevents that. */
  after(delayMs: number, action: () => void): () => void;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  every: (periodMs, action) => {
    const timer = setInterval(action, periodMs);
    return () => clearInterval(timer);
  },
  after: (delayMs, action) => {
    const timer = setTimeout(action, delayMs);
    return () => clearTimeout(timer);
  },
};
