/** Heartbeats that are on their way. More are not remembered: the oldest one counts. */
const SENT_MAX = 10_000;

/** How far a connector is behind, from the heartbeats that it writes into the log and gets back through the stream. */
export class Lag {
  #sentAtMs: number[] = [];
  /** When the last one that has arrived was written, and how long it took. */
  #arrived: { readonly sentAtMs: number; readonly tookMs: number } | null = null;
  #isMeasured = false;

  sent(atMs: number): void {
    if (this.#sentAtMs.length < SENT_MAX) this.#sentAtMs.push(atMs);
  }

  /** One that arrives shows that all before it are through, also those that were never written. */
  arrived(nowMs: number, tookMs: number): void {
    const sentAtMs = nowMs - tookMs;
    this.#arrived = { sentAtMs, tookMs };
    this.#isMeasured = true;
    this.#sentAtMs = this.#sentAtMs.filter((atMs) => atMs > sentAtMs);
  }

  /** Heartbeats of an earlier connection do not count. Until one of the next arrives, the lag is not known. */
  interrupted(): void {
    this.#sentAtMs = [];
    this.#isMeasured = false;
  }

  /** `lagMs` is null while it is not known. Everything that was committed at `freshAtMs` is stored. */
  at(nowMs: number): { readonly lagMs: number | null; readonly freshAtMs: number | null } {
    const arrived = this.#arrived;
    const freshAtMs = arrived?.sentAtMs ?? null;
    if (!this.#isMeasured || arrived === null) return { lagMs: null, freshAtMs };
    const [oldest] = this.#sentAtMs;
    return { lagMs: Math.max(arrived.tookMs, oldest === undefined ? 0 : nowMs - oldest), freshAtMs };
  }
}
