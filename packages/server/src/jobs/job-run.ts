import { JobFailure, type JobHandler, type LeasedJob } from '@tidemark/core';
import type { JobPermit } from './queue-gate.ts';

/** Why a job was interrupted. */
export type InterruptReason = 'lease_lost' | 'stopping' | 'too_slow';

export type JobEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'interrupted'; readonly reason: InterruptReason };

const DONE: JobEnd = { kind: 'done' };

/** The run of one leased job. It ends once: by itself or by an interruption. */
export class JobRun {
  readonly job: LeasedJob;
  readonly permit: JobPermit;
  readonly startMs: number;
  readonly #onEnd: (run: JobRun, end: JobEnd) => void;
  #controller: AbortController | null = null;
  #interruptReason: InterruptReason | null = null;
  #hasEnded = false;

  constructor(job: LeasedJob, permit: JobPermit, startMs: number, onEnd: (run: JobRun, end: JobEnd) => void) {
    this.job = job;
    this.permit = permit;
    this.startMs = startMs;
    this.#onEnd = onEnd;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Does nothing if the run was interrupted before. */
  begin(handler: JobHandler | undefined): void {
    if (this.#hasEnded) return;
    if (handler === undefined) {
      const error = new JobFailure(`there is no handler for jobs of the kind ${this.job.kind}`);
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

  /** Ends the run even if the handler goes on: its result no longer counts. Does nothing after the end. */
  interrupt(reason: InterruptReason): void {
    if (this.#hasEnded) return;
    this.#interruptReason = reason;
    this.#controller?.abort(reason);
    this.#end({ kind: 'interrupted', reason });
  }

  #end(end: JobEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onEnd(this, end);
  }

  /** Created only for handlers that use it: most do not, and there are many jobs. */
  #signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#interruptReason !== null) this.#controller.abort(this.#interruptReason);
    }
    return this.#controller.signal;
  }
}
