import { JobFailure, type JobHandler, type LeasedJob } from '@tidemark/core';
import type { Place } from './queue-gate.ts';

/** Why the work was cut short. */
export type Cut = 'lease_lost' | 'stopping' | 'too_slow';

export type WorkEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'cut'; readonly cut: Cut };

const DONE: WorkEnd = { kind: 'done' };

/** The work on one leased job. It ends once: by itself, or when somebody cuts it short. */
export class JobRun {
  readonly job: LeasedJob;
  readonly place: Place;
  readonly startMs: number;
  readonly #onEnd: (run: JobRun, end: WorkEnd) => void;
  #controller: AbortController | null = null;
  #cutBecause: Cut | null = null;
  #isSpent = false;

  constructor(job: LeasedJob, place: Place, startMs: number, onEnd: (run: JobRun, end: WorkEnd) => void) {
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
  cut(cut: Cut): void {
    if (this.#isSpent) return;
    this.#cutBecause = cut;
    this.#controller?.abort(cut);
    this.#end({ kind: 'cut', cut });
  }

  #end(end: WorkEnd): void {
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
