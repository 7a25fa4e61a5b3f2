/** Crashes within the window after which restarting helps nobody. */
export const CRASHES_MAX = 10;
export const CRASH_WINDOW_MS = 60_000;
const DELAY_MS = 100;
const DELAY_MS_MAX = 5_000;

/** How long to wait before a worker that has ended is started again. */
export class CrashBudget {
  #crashedAtMs: readonly number[] = [];

  /** Null: workers have ended too often lately. */
  delayAfterCrash(nowMs: number): number | null {
    this.#crashedAtMs = [...this.#crashedAtMs.filter((atMs) => nowMs - atMs < CRASH_WINDOW_MS), nowMs];
    const count = this.#crashedAtMs.length;
    return count > CRASHES_MAX ? null : Math.min(DELAY_MS_MAX, DELAY_MS * 2 ** (count - 1));
  }
}
