import {
  type FileReference,
  fileReferencesInText,
  type OutcomeStatus,
  type PartialError,
  parseJson,
  Refusal,
  SET_ASIDE_KEPT_MS,
  UPLOAD_GIVE_UP_MS,
  UPLOADS_AT_ONCE_MAX,
  type Upload,
} from '@tidemark/protocol';
import { liveRecord } from '../documents/effect.ts';
import { JobFailure, type LeasedJob } from '../ports/jobs.ts';
import type { Log } from '../ports/log.ts';
import type { Note } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { askBackend, type BackendTrouble, type BackendVerdict } from './ask-backend.ts';
import { type AwaitedFiles, FileWait } from './file-wait.ts';
import { decideLocally, isOpen, mayAsk, type OpenUpload } from './local-decision.ts';
import { type PreparedUpload, prepareAgain, prepareUploads, rereadUpload } from './prepare-uploads.ts';
import { readUploadJob } from './upload-job.ts';
import { outcomeRefs, readOutcome, type StoredOutcome, uploadWrite } from './upload-notes.ts';
import { type OriginBlocks, roundsOf } from './upload-order.ts';
import { commitPlan, planAgreed, planPushed, planRefused } from './upload-plan.ts';
import { UploadQueue, type UploadQueuePorts } from './upload-queue.ts';
import { commitRefusal } from './upload-quota.ts';
import type { UploadTarget } from './upload-target.ts';

/** A queued upload that has come to its outcome. */
export interface SettledUpload {
  readonly user: string;
  readonly client: string;
  readonly source: string;
  readonly op: Upload['op'];
  readonly opId: string;
  readonly id: string;
  readonly status: OutcomeStatus;
  /** The code of the error; null: there is none. */
  readonly code: string | null;
}

export interface BackendUploadsPorts extends UploadQueuePorts {
  readonly log: Log;
  /** Called when a job has brought an upload to its outcome, which waits for the device from then on. */
  readonly onOutcome?: (settled: SettledUpload) => void;
  /** Tells whether files have arrived, and how long the backend is not asked without them. */
  readonly awaited: AwaitedFiles;
  /** Counts a request to the backend and how long it took. */
  readonly count?: (metric: string, tookMs: number) => void;
}

/** What came of one attempt. `postponed`: the upload has no outcome yet and must be tried again. */
type Attempt =
  | { readonly kind: 'done'; readonly outcome: StoredOutcome }
  | {
      readonly kind: 'postponed';
      readonly error: PartialError;
      readonly retryAfterMs: number;
      readonly isLogged: boolean;
      /** Whether the backend is in trouble. Else the upload only waits for something. */
      readonly isTrouble: boolean;
      /** False: the next attempt comes after `retryAfterMs`, however many there were. */
      readonly backsOff: boolean;
    };

type Outcomes = ReadonlyMap<string, StoredOutcome>;
type Answer = Exclude<BackendVerdict, BackendTrouble>;
type Agreed = Extract<Answer, { readonly kind: 'agreed' }>;

/** How long a job waits for the backend to name an object that its upload refers to. */
const WAIT_MS = 1_000;

/**
 * Uploads to sources whose backend must agree. The backend is asked at least once, always with the same op id. The
 * outcome is written in the commit that applies the upload here, so after a crash in between the backend is only asked
 * again. Every commit expects the notes and objects that its plan was made from; after a conflict they are read again.
 */
export class BackendUploads {
  readonly #ports: BackendUploadsPorts;
  readonly #queue: UploadQueue;
  readonly #fileWait: FileWait;

  constructor(ports: BackendUploadsPorts) {
    this.#ports = ports;
    this.#queue = new UploadQueue(ports);
    this.#fileWait = new FileWait(ports.awaited, ports.clock);
  }

  /** Asks the backend about uploads of one device, or leaves them to a queue. `prepared` has each upload once. */
  async apply(target: UploadTarget, prepared: readonly PreparedUpload[], blocks: OriginBlocks): Promise<Outcomes> {
    if (target.queue !== null && this.#queue.isAvailable) return this.#queue.enqueue(target, prepared);
    const outcomes = new Map<string, StoredOutcome>();
    const later: PreparedUpload[] = [];
    for (const [index, batch] of batchesOf(target, prepared).entries()) {
      // The answers to the batch before may have named objects that this one refers to.
      const current = index === 0 ? batch : await prepareAgain(this.#ports, target, batch);
      const attempts = await Promise.all(current.map((one) => this.#tryNow(target, one, blocks)));
      for (const [at, upload] of current.entries()) {
        const attempt = attempts[at];
        if (attempt?.kind === 'done') outcomes.set(upload.opId, attempt.outcome);
        else later.push(upload);
      }
    }
    if (later.length === 0) return outcomes;
    const queued = await this.#queue.enqueue(target, await prepareAgain(this.#ports, target, later));
    return new Map([...outcomes, ...queued]);
  }

  /** Runs the job of one upload. Throws when it must be tried again, or has been given up. */
  async run(job: LeasedJob, target: UploadTarget): Promise<void> {
    const { clock, count, log } = this.#ports;
    const { opId, atMs } = readUploadJob(job);
    const { note, upload } = await this.#readKept(target, opId);
    if (note !== null && !mayAsk(job, note)) return;
    if (upload === null) {
      log.warn('upload_dropped', { source: target.source, reason: 'the upload is not kept any more' });
      return;
    }
    const [prepared] = (await prepareUploads(this.#ports, target, [upload])) as [PreparedUpload];
    const startMs = clock.nowMs();
    const attempt = mustWait(prepared, job) ? NOT_NAMED_YET : await this.#attempt(target, prepared, job);
    if (attempt.kind === 'done') {
      count?.(`sources:${upload.op}:${target.source}`, clock.nowMs() - startMs);
      this.#announceOutcome(target, upload, attempt.outcome);
      return;
    }
    const isFinal = clock.nowMs() - atMs >= UPLOAD_GIVE_UP_MS || job.attempt >= job.attemptsMax;
    if (isFinal) {
      await this.#setAside(target, prepared, { error: attempt.error, job });
      this.#announceOutcome(target, upload, { status: 'rejected', id: prepared.id, error: attempt.error });
    }
    throw new JobFailure(attempt.error.detail, { ...attempt, isFinal });
  }

  #announceOutcome({ user, client, source }: UploadTarget, { op, op_id: opId }: Upload, outcome: StoredOutcome): void {
    const { status, id, error } = outcome;
    this.#ports.onOutcome?.({ user, client, source, op, opId, id, status, code: error?.code ?? null });
  }

  /** Null: the upload must go to the queue. */
  async #tryNow(target: UploadTarget, prepared: PreparedUpload, blocks: OriginBlocks): Promise<Attempt | null> {
    const { origin, waits, createdIn } = prepared;
    if (waits || createdIn !== null || blocks.isBlocked(origin)) {
      blocks.block(origin);
      return null;
    }
    const attempt = await this.#attempt(target, prepared, null);
    if (attempt.kind === 'postponed') {
      blocks.block(origin);
      // Where there are references, a later upload may refer to this one.
      if (attempt.isTrouble || target.references.size > 0) blocks.close();
    }
    return attempt;
  }

  /** Decides here what needs no backend, asks the backend about the rest, and writes the outcome. */
  async #attempt(target: UploadTarget, prepared: PreparedUpload, job: LeasedJob | null): Promise<Attempt> {
    const local = await decideLocally(this.#ports, target, prepared, job);
    if (local.kind === 'done') return local;
    const { admitted, id } = local.upload;
    const files = fileReferencesInText(admitted.attributes.text);
    const wait = files.length === 0 ? null : await this.#claimAndWait(target, files, job);
    if (wait !== null) return wait;
    const startMs = this.#ports.clock.nowMs();
    const verdict = await askBackend(target, admitted, liveRecord(local.read?.objects.get(id)));
    if (verdict.kind !== 'trouble') {
      return { kind: 'done', outcome: await this.#writeAnswer(target, local, verdict) };
    }
    this.#logTrouble(target, prepared, verdict, this.#ports.clock.nowMs() - startMs);
    const { error, retryAfterMs } = verdict;
    return { kind: 'postponed', error, retryAfterMs, isLogged: true, isTrouble: true, backsOff: true };
  }

  /**
   * Notes that the device refers to files before the backend can do so in its place, and waits for them. Another backend may
   * have to say whether the user reads a file: as long as it cannot, the upload waits for it, and the rest of the call does not.
   */
  async #claimAndWait(
    target: UploadTarget,
    files: readonly FileReference[],
    job: LeasedJob | null,
  ): Promise<Attempt | null> {
    const { partition, user, client } = target;
    try {
      await this.#ports.files.claim(partition, files, { kind: 'user', login: user, client });
      // Without a queue nothing could wait.
      const wait = this.#queue.isAvailable ? await this.#fileWait.before(target, files, job) : null;
      return wait === null ? null : { kind: 'postponed', isLogged: true, isTrouble: false, backsOff: false, ...wait };
    } catch (error) {
      if (!(error instanceof Refusal) || !BACKEND_TROUBLE.has(error.code) || !this.#queue.isAvailable) throw error;
      const { code, message: detail } = error;
      return { ...WAITS_FOR_BACKEND, error: { code, detail }, isLogged: true };
    }
  }

  /** Writes what the backend has answered, unless the upload has come to its outcome meanwhile. */
  #writeAnswer(
    target: UploadTarget,
    { upload: before, read: readBefore, job }: OpenUpload,
    answer: Answer,
  ): Promise<StoredOutcome> {
    const { store, clock } = this.#ports;
    return retryOnConflict(async (isRetry) => {
      const upload = isRetry ? await rereadUpload(store, target, before) : before;
      if (upload.note !== null && !isOpen(upload.note)) return readOutcome(upload.note);
      if (answer.kind !== 'agreed') {
        const outcome: StoredOutcome = { status: answer.kind, id: upload.id, error: answer.error };
        const plan = planRefused(upload, outcome, clock.nowMs());
        return (await commitRefusal(this.#ports, target, plan, { job, note: upload.note })) ? outcome : null;
      }
      return this.#writeAgreed(target, upload, { answer, read: isRetry ? null : readBefore });
    });
  }

  /** Writes the object as well, unless a stream brings it. Null: something has changed meanwhile. */
  async #writeAgreed(
    target: UploadTarget,
    upload: OpenUpload['upload'],
    { answer: { id, isPushed }, read }: { readonly answer: Agreed; readonly read: OpenUpload['read'] },
  ): Promise<StoredOutcome | null> {
    const { store, clock, limits } = this.#ports;
    const nowMs = clock.nowMs();
    if (isPushed) {
      const isWritten = await commitPlan(this.#ports, target, planPushed(target, upload, nowMs));
      return isWritten ? { status: 'applied', id } : null;
    }
    const objects = read ?? (await store.readObjects(target.partition, [id]));
    const { outcome, plan } = planAgreed(target, upload, { id, read: objects, nowMs, limits });
    return (await commitPlan(this.#ports, target, plan)) ? outcome : null;
  }

  /** Gives up on an upload. The device is told that it is rejected; the upload is kept for when its job is revived. */
  async #setAside(
    target: UploadTarget,
    prepared: PreparedUpload,
    { error, job }: { readonly error: PartialError; readonly job: LeasedJob },
  ): Promise<void> {
    await retryOnConflict(async (isRetry) => {
      const upload = isRetry ? await rereadUpload(this.#ports.store, target, prepared) : prepared;
      if (upload.note !== null && !isOpen(upload.note)) return true;
      const nowMs = this.#ports.clock.nowMs();
      const { changes, writes } = planRefused(
        upload,
        { status: 'rejected', id: upload.id, error, setAsideBy: job.id },
        nowMs,
      );
      const kept = uploadWrite(upload.given, nowMs + SET_ASIDE_KEPT_MS);
      const plan = { changes, writes: [...writes.filter(({ kind }) => kind !== 'upload'), kept] };
      return (await commitPlan(this.#ports, target, plan)) ? true : null;
    });
  }

  /** The upload that was kept for a job, and what became of it. */
  async #readKept(
    { partition, client }: UploadTarget,
    opId: string,
  ): Promise<{ readonly note: Note | null; readonly upload: Upload | null }> {
    const refs = [...outcomeRefs(opId), { kind: 'upload', key: opId } as const];
    const notes = await this.#ports.store.readNotes(partition, client, refs);
    const kept = notes.find(({ kind }) => kind === 'upload');
    const note = notes.find(({ kind }) => kind !== 'upload') ?? null;
    return { note, upload: kept === undefined ? null : (parseJson(kept.text) as Upload) };
  }

  /** Successful requests are counted by the route or the job. */
  #logTrouble(target: UploadTarget, { opId, given: { op } }: PreparedUpload, trouble: BackendTrouble, tookMs: number) {
    const { source, client } = target;
    this.#ports.count?.(`sources:${op}_failed:${source}`, tookMs);
    const level = trouble.isLogged ? 'debug' : 'warn';
    const { error, reason } = trouble;
    this.#ports.log[level]('upload_failed', { source, client, op, op_id: opId, code: error.code, reason });
  }
}

const BACKEND_TROUBLE: ReadonlySet<string> = new Set(['backend_error', 'backend_unavailable']);
/** Another backend, or another upload, comes first. */
const WAITS_FOR_BACKEND = { kind: 'postponed', retryAfterMs: WAIT_MS, isTrouble: false, backsOff: true } as const;
const NOT_NAMED_YET: Attempt = {
  ...WAITS_FOR_BACKEND,
  error: { code: 'backend_unavailable', detail: 'it names an object that the backend has not named yet' },
  isLogged: false,
};

/**
 * Uploads that the backend is asked about at the same time. Where a source has references, an upload may refer to the one
 * before it, so they are asked about one by one.
 */
function batchesOf(target: UploadTarget, uploads: readonly PreparedUpload[]): readonly (readonly PreparedUpload[])[] {
  const size = target.references.size > 0 ? 1 : UPLOADS_AT_ONCE_MAX;
  return roundsOf(uploads, ({ origin }) => origin).flatMap((round) =>
    Array.from({ length: Math.ceil(round.length / size) }, (_, index) => round.slice(index * size, (index + 1) * size)),
  );
}

/** Jobs of one object run one after the other, so the job of its create is done unless that is in another queue. */
function mustWait({ waits, createdIn }: PreparedUpload, job: LeasedJob): boolean {
  return waits || (createdIn !== null && createdIn !== job.queue);
}
