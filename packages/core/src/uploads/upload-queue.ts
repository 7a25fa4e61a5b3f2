import { Refusal } from '@tidemark/protocol';
import type { Jobs } from '../ports/jobs.ts';
import type { NoteWrite } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { decideLocally } from './local-decision.ts';
import { type PreparedUpload, prepareAgain, rereadNotes } from './prepare-uploads.ts';
import { UPLOAD_QUEUE, uploadJob } from './upload-job.ts';
import { linkText, outcomeWrites, readLink, readOutcome, type StoredOutcome, uploadWrite } from './upload-notes.ts';
import { type CommitPorts, commitPlan } from './upload-plan.ts';
import type { UploadTarget } from './upload-target.ts';

export interface UploadQueuePorts extends CommitPorts {
  /** Takes uploads that cannot be done now. Absent: the call is refused, and the device uploads again. */
  readonly jobs?: Pick<Jobs, 'enqueueAll'>;
}

type Outcomes = ReadonlyMap<string, StoredOutcome>;

/** Leaves uploads to jobs. */
export class UploadQueue {
  readonly #ports: UploadQueuePorts;

  constructor(ports: UploadQueuePorts) {
    this.#ports = ports;
  }

  get isAvailable(): boolean {
    return this.#ports.jobs !== undefined;
  }

  /**
   * Enqueues a job for each upload. First come notes: the uploads themselves, and which ids the backend will name, so that
   * nothing that depends on them is done before them. Then come the jobs, and only when those are safe, the outcomes.
   * After a crash in between nothing was promised to the device.
   */
  async enqueue(target: UploadTarget, prepared: readonly PreparedUpload[]): Promise<Outcomes> {
    const { jobs, clock } = this.#ports;
    const outcomes = new Map<string, StoredOutcome>();
    const fresh = await retryOnConflict(async (isRetry) => {
      const current = isRetry ? await prepareAgain(this.#ports, target, prepared) : prepared;
      const open: PreparedUpload[] = [];
      for (const one of current) {
        const known = await this.#knownOutcome(target, one);
        if (known === null) open.push(one);
        else outcomes.set(one.opId, known);
      }
      if (open.length === 0 || jobs === undefined) return open;
      return (await commitPlan(this.#ports, target, { changes: [], writes: queuedWrites(target, open) })) ? open : null;
    });
    if (fresh.length === 0) return outcomes;
    if (jobs === undefined) throw new Refusal('backend_unavailable', 'the backend cannot be asked now; upload again');
    const newJobs = fresh.map((one) => uploadJob(target, one, clock.nowMs()));
    await jobs.enqueueAll(target.queue ?? UPLOAD_QUEUE, newJobs);
    return new Map([...outcomes, ...(await this.#noteQueued(target, fresh))]);
  }

  /** The outcome of an upload that needs no job: it is known, or can never be applied. Null: it needs one. */
  async #knownOutcome(target: UploadTarget, prepared: PreparedUpload): Promise<StoredOutcome | null> {
    if (prepared.note !== null) return readOutcome(prepared.note);
    if (prepared.refusal === null) return null;
    const decided = await decideLocally(this.#ports, target, prepared, null);
    return decided.kind === 'done' ? decided.outcome : null;
  }

  /** Notes that uploads are queued. A job may be done before this is: then its outcome stands. */
  #noteQueued(target: UploadTarget, fresh: readonly PreparedUpload[]): Promise<Outcomes> {
    return retryOnConflict(async (isRetry) => {
      const current = isRetry ? await rereadNotes(this.#ports.store, target, fresh) : fresh;
      const outcomes = new Map(
        current.map((one) => [one.opId, one.note === null ? queued(one) : readOutcome(one.note)]),
      );
      const open = current.filter(({ note }) => note === null);
      const writes = open.flatMap((one) => outcomeWrites(one.opId, queued(one), null));
      return open.length === 0 || (await commitPlan(this.#ports, target, { changes: [], writes })) ? outcomes : null;
    });
  }
}

/**
 * Keeps uploads for their jobs, and notes the ids that the backend has not named yet. An upload that has come to an
 * outcome meanwhile is a conflict, because nothing may wait for a create that is done.
 */
function queuedWrites(target: UploadTarget, uploads: readonly PreparedUpload[]): readonly NoteWrite[] {
  const queue = target.queue ?? UPLOAD_QUEUE;
  const links = new Map<string, NoteWrite>();
  for (const { given, origin, opId, link } of uploads) {
    if (given.op !== 'create' || (link !== null && readLink(link).state === 'given')) continue;
    const text = linkText({ state: 'pending', queue, opId });
    links.set(origin, { kind: 'link', key: origin, text, expect: link?.text ?? null });
  }
  const kept = uploads.flatMap(({ opId, given }) => [...outcomeWrites(opId, null, null), uploadWrite(given)]);
  return [...links.values(), ...kept];
}

function queued({ id, origin }: PreparedUpload): StoredOutcome {
  return { status: 'queued', id, ...(origin === id ? {} : { origin }) };
}
