/** Work that takes at most half of the time, however often it is asked for. */
export class SpacedWork {
  #endedMs = 0;
  #tookMs = 0;

  /** Does the work, unless less time has passed since the last time than that took. */
  async run(nowMs: () => number, work: () => Promise<void>): Promise<void> {
    const beganMs = nowMs();
    if (beganMs - this.#endedMs < this.#tookMs) return;
    try {
      await work();
    } finally {
      this.#endedMs = nowMs();
      this.#tookMs = this.#endedMs - beganMs;
    }
  }
}
