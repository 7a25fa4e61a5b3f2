import { JobFailure, type JobHandler, type LeasedJob } from '@tidemark/core';
import type { JobPermit } from './queue-gate.ts';

/** Why the work was cut short. */
export type InterruptReason = 'lease_lost' | 'stopping' | 'too_slow';

export type JobEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'cut'; readonly cut: InterruptReason };

const DONE: JobEnd = { kind: 'done' };

/** The work on one leased job. It ends once: by itself, or when somebody cuts it short. */
export class JobRun {
  readonly job: LeasedJob;
  readonly place: JobPermit;
  readonly startMs: number;
  readonly #onEnd: (run: JobRun, end: JobEnd) => void;
  #controller: AbortController | null = null;
  #cutBecause: InterruptReason | null = null;
  #isSpent = false;

  constructor(job: LeasedJob, place: JobPermit, startMs: number, onEnd: (run: JobRun, end: JobEnd) => void) {
    this.job = job;
    this.place = place;
    this.startMs = startMs;
    this.#onEnd = onEnd;
  }

  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** Does nothing when the work was cut short before it began. */
  begin(handler: JobHandler | undefined): void {
    if (this.#isSpent) return;
    if (handler === undefined) {
      const error = new JobFailure(`nobody here runs jobs of the kind ${this.job.kind}`);
      this.#end({ kind: 'failed', error });
      return;
    }
    const onFailure = (error: unknown) => this.#end({ kind: 'failed', error });
    try {
      handler(this.job, () => this.#signal()).then(() => this.#end(DONE), onFailure);
    } catch (error) {
      onFailure(error);
    }
  }

  /** Ends the work also when the handler does not: its result no longer counts. Does nothing once it has ended. */
  cut(cut: InterruptReason): void {
    if (this.#isSpent) return;
    this.#cutBecause = cut;
    this.#controller?.abort(cut);
    this.#end({ kind: 'cut', cut });
  }

  #end(end: JobEnd): void {
    if (this.#isSpent) return;
    this.#isSpent = true;
    this.#onEnd(this, end);
  }

  /** Made only for a handler that wants it: most do not, and there are many jobs. */
  #signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#cutBecause !== null) this.#controller.abort(this.#cutBecause);
    }
    return this.#controller.signal;
  }
}
