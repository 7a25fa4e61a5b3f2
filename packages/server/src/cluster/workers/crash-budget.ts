/** Crashes within the window after which workers are not restarted any more. */
export const CRASHES_MAX = 10;
export const CRASH_WINDOW_MS = 60_000;
const DELAY_MS = 100;
const DELAY_MS_MAX = 5_000;

/** Decides how long to wait before a crashed worker is restarted. */
export class CrashBudget {
  #crashedAtMs: readonly number[] = [];

  /** Returns null if workers have crashed too often recently. */
  delayAfterCrash(nowMs: number): number | null {
    this.#crashedAtMs = [...this.#crashedAtMs.filter((atMs) => nowMs - atMs < CRASH_WINDOW_MS), nowMs];
    const count = this.#crashedAtMs.length;
    return count > CRASHES_MAX ? null : Math.min(DELAY_MS_MAX, DELAY_MS * 2 ** (count - 1));
  }
}
