import { Refusal } from '@tidemark/protocol';
import { FILE_TRANSFERS_MAX, FILE_TRANSFERS_PER_CALLER_MAX, FILE_TRANSFERS_RETRY_AFTER_S } from '../limits.ts';

/** Limits the files that travel at once, in either direction: those of one caller, and those of all. */
export class TransferSlots {
  readonly #byCaller = new Map<string, number>();
  #count = 0;

  /** Takes a slot, or refuses. Returns the function that gives it back; further calls do nothing. */
  take(caller: string): () => void {
    const ofCaller = this.#byCaller.get(caller) ?? 0;
    if (ofCaller >= FILE_TRANSFERS_PER_CALLER_MAX) {
      const detail = `${FILE_TRANSFERS_PER_CALLER_MAX} files of this caller are on their way`;
      throw new Refusal('rate_limited', detail, [], FILE_TRANSFERS_RETRY_AFTER_S);
    }
    if (this.#count >= FILE_TRANSFERS_MAX) {
      const detail = `${FILE_TRANSFERS_MAX} files are on their way at this server`;
      throw new Refusal('overloaded', detail, [], FILE_TRANSFERS_RETRY_AFTER_S);
    }
    this.#count++;
    this.#byCaller.set(caller, ofCaller + 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#release(caller);
      isHeld = false;
    };
  }

  #release(caller: string): void {
    this.#count--;
    const left = (this.#byCaller.get(caller) ?? 1) - 1;
    if (left === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, left);
  }
}
