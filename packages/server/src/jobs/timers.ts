/** The only way to be called later. */
export interface Timers {
  /** Calls back once after so long, unless the answer is called before. */
  after(delayMs: number, callback: () => void): () => void;
}

/** None of these timers keeps the process alive: what they are for can wait for the next start. */
export const systemTimers: Timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
