import type { FileReference, PartialError } from '@tidemark/protocol';
import type { Files } from '../files/files.ts';
import type { Clock } from '../ports/clock.ts';
import type { LeasedJob } from '../ports/jobs.ts';
import { readUploadJob } from './upload-job.ts';
import type { UploadTarget } from './upload-target.ts';

export type AwaitedFiles = Pick<Files, 'hasArrived' | 'backendWaitMs'>;

const LOOK_MS_MIN = 1_000;
const LOOK_MS_MAX = 300_000;
const LOOK_SHARE = 0.1;

/** Decides how long the backend is not asked about an object whose files have not arrived. */
export class FileWait {
  readonly #files: AwaitedFiles;
  readonly #clock: Clock;

  constructor(files: AwaitedFiles, clock: Clock) {
    this.#files = files;
    this.#clock = clock;
  }

  /** Null: the backend is asked now, because the files are here, or have not come for too long. */
  async before(
    { adapter, user }: UploadTarget,
    files: readonly FileReference[],
    job: LeasedJob | null,
  ): Promise<{ readonly error: PartialError; readonly retryAfterMs: number } | null> {
    if (adapter?.waitsForFiles !== true) return null;
    const waitedMs = job === null ? 0 : this.#clock.nowMs() - readUploadJob(job).atMs;
    const leftMs = this.#files.backendWaitMs - waitedMs;
    if (leftMs <= 0) return null;
    const arrived = await Promise.all(files.map(({ sha256 }) => this.#files.hasArrived(user, sha256)));
    const missing = arrived.filter((isHere) => !isHere).length;
    if (missing === 0) return null;
    const detail = `it waits for ${missing === 1 ? 'a file that has' : `${missing} files that have`} not arrived yet`;
    return { error: { code: 'file_not_found', detail }, retryAfterMs: Math.min(leftMs, nextLookMs(waitedMs)) };
  }
}

/** A tenth of the wait so far: nobody waits much longer for the look than for the files, and an hour takes some 70 looks. */
function nextLookMs(waitedMs: number): number {
  return Math.min(LOOK_MS_MAX, Math.max(LOOK_MS_MIN, Math.ceil(waitedMs * LOOK_SHARE)));
}
