/** The port for timers. */
export interface Timers {
  /** Calls back once after the delay. Returns the function that cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

/** These timers do not keep the process alive. */
export const systemTimers: Timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
