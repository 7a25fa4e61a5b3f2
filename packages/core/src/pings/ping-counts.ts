import { type FinalStatus, isFinal, type PingRecord, type ResultRecord } from './ping-record.ts';

/** A ping to which results are added. Many are at a time, so it counts in place and is written down once. */
export class PingCounts {
  readonly #before: PingRecord;
  readonly #counts: Record<FinalStatus, number>;
  #repeated: number;
  #isChanged = false;

  constructor(ping: PingRecord) {
    this.#before = ping;
    this.#counts = { ...ping.counts };
    this.#repeated = ping.repeated;
  }

  /** The ping as it is now; the very one that was given when nothing has changed. */
  get ping(): PingRecord {
    return this.#isChanged ? { ...this.#before, counts: { ...this.#counts }, repeated: this.#repeated } : this.#before;
  }

  /**
   * Counts one more result, and answers it as it is to be kept. Null: there is nothing to keep, because the device has had
   * its last word. A failure is a last word only until somebody tries again, as when an operator revives the job.
   */
  add(before: ResultRecord | null, result: ResultRecord): ResultRecord | null {
    if (before !== null && isFinal(before.status) && before.status !== 'failed') return null;
    if (before !== null && isFinal(before.status)) this.#count(before.status, -1);
    if (isFinal(result.status)) this.#count(result.status, 1);
    const isRepeated = result.isRepeated || (before?.isRepeated ?? false);
    if (isRepeated && before?.isRepeated !== true) {
      this.#repeated++;
      this.#isChanged = true;
    }
    return isRepeated === result.isRepeated ? result : { ...result, isRepeated };
  }

  #count(status: FinalStatus, change: 1 | -1): void {
    this.#counts[status] += change;
    this.#isChanged = true;
  }
}
