import {
  type PartialError,
  parseJson,
  Refusal,
  SET_ASIDE_KEPT_MS,
  UPLOAD_GIVE_UP_MS,
  UPLOADS_AT_ONCE_MAX,
  type Upload,
} from '@tidemark/protocol';
import { JobFailure, type Jobs, type LeasedJob } from '../ports/jobs.ts';
import type { Log } from '../ports/log.ts';
import type { Note, NoteWrite, ObjectsRead } from '../ports/store.ts';
import { askBackend, type BackendTrouble, type BackendVerdict } from './ask-backend.ts';
import { type PreparedUpload, prepareUploads, rereadNotes } from './prepare-uploads.ts';
import { readUploadJob, UPLOAD_QUEUE, uploadJob } from './upload-job.ts';
import {
  type KeptOutcome,
  linkText,
  outcomeRefs,
  outcomeWrites,
  readLink,
  readOutcome,
  uploadWrite,
} from './upload-notes.ts';
import { roundsOf, type UploadLane } from './upload-order.ts';
import {
  type CommitPorts,
  commitPlan,
  decide,
  planAgreed,
  planRefused,
  retryOnConflict,
  seenIn,
} from './upload-plan.ts';
import type { UploadTarget } from './upload-target.ts';

export interface BackendUploadsPorts extends CommitPorts {
  readonly log: Log;
  /** Takes uploads that cannot be done now. Absent: the call is refused, and the device uploads again. */
  readonly jobs?: Pick<Jobs, 'enqueueAll'>;
  /** Called when a job has brought an upload to its outcome, which waits for the device from then on. */
  readonly onOutcome?: (device: { readonly user: string; readonly client: string }) => void;
  /** Counts a request to the backend and how long it took. */
  readonly count?: (metric: string, tookMs: number) => void;
}

/** What came of one attempt. `postponed`: the upload has no outcome yet and must be tried again. */
type Attempt =
  | { readonly kind: 'done'; readonly outcome: KeptOutcome }
  | {
      readonly kind: 'postponed';
      readonly error: PartialError;
      readonly retryAfterMs: number;
      readonly isLogged: boolean;
    };

type Outcomes = ReadonlyMap<string, KeptOutcome>;
type Answer = Exclude<BackendVerdict, BackendTrouble>;

type AppliableUpload = PreparedUpload & { readonly refusal: null };

/** An upload about which the backend must be asked, with its object if that was read. */
interface OpenUpload {
  readonly kind: 'open';
  readonly upload: AppliableUpload;
  readonly read: ObjectsRead | null;
}

type Decided = OpenUpload | Extract<Attempt, { readonly kind: 'done' }>;

/** How long a job waits for the backend to name an object that its upload refers to. */
const WAIT_MS = 1_000;

/**
 * Uploads to sources whose backend must agree. The backend is asked at least once, always with the same op id. The
 * outcome is written in the commit that applies the upload here, so after a crash in between the backend is only asked
 * again. Every commit expects the notes and objects that its plan was made from; after a conflict they are read again.
 */
export class BackendUploads {
  readonly #ports: BackendUploadsPorts;

  constructor(ports: BackendUploadsPorts) {
    this.#ports = ports;
  }

  /** Asks the backend about uploads of one device, or leaves them to a queue. `prepared` has each upload once. */
  async apply(target: UploadTarget, prepared: readonly PreparedUpload[], lane: UploadLane): Promise<Outcomes> {
    if (target.queue !== null && this.#ports.jobs !== undefined) return this.#leave(target, prepared);
    const outcomes = new Map<string, KeptOutcome>();
    const later: Upload[] = [];
    for (const [index, batch] of batchesOf(target, prepared).entries()) {
      // The answers to the batch before may have named objects that this one refers to.
      const current = index === 0 ? batch : await this.#prepareAgain(target, batch);
      const attempts = await Promise.all(current.map((one) => this.#tryNow(target, one, lane)));
      for (const [at, { opId, given }] of current.entries()) {
        const attempt = attempts[at];
        if (attempt?.kind === 'done') outcomes.set(opId, attempt.outcome);
        else later.push(given);
      }
    }
    if (later.length === 0) return outcomes;
    const left = await this.#leave(target, await prepareUploads(this.#ports, target, later));
    return new Map([...outcomes, ...left]);
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
      this.#announceOutcome(target);
      return;
    }
    const isFinal = clock.nowMs() - atMs >= UPLOAD_GIVE_UP_MS || job.attempt >= job.attemptsMax;
    if (isFinal) {
      await this.#setAside(target, prepared, { error: attempt.error, job });
      this.#announceOutcome(target);
    }
    const { error, retryAfterMs, isLogged } = attempt;
    throw new JobFailure(error.detail, { retryAfterMs, isFinal, isLogged });
  }

  #announceOutcome({ user, client }: UploadTarget): void {
    this.#ports.onOutcome?.({ user, client });
  }

  /** Null: the upload must go to the queue. */
  async #tryNow(target: UploadTarget, prepared: PreparedUpload, lane: UploadLane): Promise<Attempt | null> {
    const { origin, waits, createdIn } = prepared;
    if (waits || createdIn !== null || lane.isBlocked(origin)) {
      lane.block(origin);
      return null;
    }
    const attempt = await this.#attempt(target, prepared, null);
    if (attempt.kind === 'postponed') {
      lane.block(origin);
      lane.close();
    }
    return attempt;
  }

  /** Decides here what needs no backend, asks the backend about the rest, and writes the outcome. */
  async #attempt(target: UploadTarget, prepared: PreparedUpload, job: LeasedJob | null): Promise<Attempt> {
    const local = await this.#decideHere(target, prepared, job);
    if (local.kind === 'done') return local;
    const startMs = this.#ports.clock.nowMs();
    const verdict = await askBackend(target, local.upload.admitted);
    if (verdict.kind !== 'trouble') {
      return { kind: 'done', outcome: await this.#writeAnswer(target, local, verdict) };
    }
    this.#logTrouble(target, prepared, verdict, this.#ports.clock.nowMs() - startMs);
    const { error, retryAfterMs } = verdict;
    return { kind: 'postponed', error, retryAfterMs, isLogged: true };
  }

  /**
   * Finds the outcome if it is known already, or if the upload cannot be applied as things are. Whether the id of a create
   * is taken is for the backend to say: an object of that id may be the effect of an earlier attempt at this very create.
   */
  #decideHere(target: UploadTarget, prepared: PreparedUpload, job: LeasedJob | null): Promise<Decided> {
    const { store, clock } = this.#ports;
    return retryOnConflict(async (isRetry): Promise<Decided | null> => {
      const upload = isRetry ? await this.#reread(target, prepared) : prepared;
      if (upload.note !== null && !mayAsk(job, upload.note)) return { kind: 'done', outcome: readOutcome(upload.note) };
      if (isAppliable(upload) && upload.admitted.op === 'create') return { kind: 'open', upload, read: null };
      const read = isAppliable(upload) ? await store.readObjects(target.partition, [upload.id]) : null;
      const { outcome, kept } = decide(target, upload, read);
      if (isAppliable(upload) && outcome.status === 'applied') return { kind: 'open', upload, read };
      const plan = { ...planRefused(upload, outcome, clock.nowMs()), kept, ...seenIn(read) };
      return (await commitPlan(this.#ports, target, plan)) ? { kind: 'done', outcome } : null;
    });
  }

  /** Writes what the backend has answered, unless the upload has come to its outcome meanwhile. */
  #writeAnswer(
    target: UploadTarget,
    { upload: before, read: readBefore }: OpenUpload,
    answer: Answer,
  ): Promise<KeptOutcome> {
    const { store, clock } = this.#ports;
    return retryOnConflict(async (isRetry) => {
      const upload = isRetry ? await this.#reread(target, before) : before;
      if (upload.note !== null && !isOpen(upload.note)) return readOutcome(upload.note);
      if (answer.kind !== 'agreed') {
        const outcome: KeptOutcome = { status: answer.kind, id: upload.id, error: answer.error };
        return (await commitPlan(this.#ports, target, planRefused(upload, outcome, clock.nowMs()))) ? outcome : null;
      }
      const { id } = answer;
      const read = isRetry || readBefore === null ? await store.readObjects(target.partition, [id]) : readBefore;
      const { outcome, plan } = planAgreed(target, upload, { id, read, nowMs: clock.nowMs() });
      return (await commitPlan(this.#ports, target, plan)) ? outcome : null;
    });
  }

  /** Gives up on an upload. The device is told that it is rejected; the upload is kept for when its job is revived. */
  async #setAside(
    target: UploadTarget,
    prepared: PreparedUpload,
    { error, job }: { readonly error: PartialError; readonly job: LeasedJob },
  ): Promise<void> {
    await retryOnConflict(async (isRetry) => {
      const upload = isRetry ? await this.#reread(target, prepared) : prepared;
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

  /**
   * Leaves uploads to a queue. First come notes: the uploads themselves, and which ids the backend will name, so that
   * nothing that depends on them is done before them. Then come the jobs, and only when those are safe, the outcomes.
   * After a crash in between nothing was promised to the device.
   */
  async #leave(target: UploadTarget, prepared: readonly PreparedUpload[]): Promise<Outcomes> {
    const { jobs, clock } = this.#ports;
    const outcomes = new Map<string, KeptOutcome>();
    const fresh = await retryOnConflict(async (isRetry) => {
      const current = isRetry ? await this.#prepareAgain(target, prepared) : prepared;
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
  async #knownOutcome(target: UploadTarget, prepared: PreparedUpload): Promise<KeptOutcome | null> {
    if (prepared.note !== null) return readOutcome(prepared.note);
    if (prepared.refusal === null) return null;
    const decided = await this.#decideHere(target, prepared, null);
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

  #prepareAgain(target: UploadTarget, uploads: readonly PreparedUpload[]): Promise<readonly PreparedUpload[]> {
    return prepareUploads(
      this.#ports,
      target,
      uploads.map(({ given }) => given),
    );
  }

  async #reread<T extends PreparedUpload>(target: UploadTarget, upload: T): Promise<T> {
    const [current] = await rereadNotes(this.#ports.store, target, [upload]);
    return current as T;
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

const NOT_NAMED_YET: Attempt = {
  kind: 'postponed',
  error: { code: 'backend_unavailable', detail: 'it names an object that the backend has not named yet' },
  retryAfterMs: WAIT_MS,
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

function queued({ id, origin }: PreparedUpload): KeptOutcome {
  return { status: 'queued', id, ...(origin === id ? {} : { origin }) };
}

/** Jobs of one object run one after the other, so the job of its create is done unless that is in another queue. */
function mustWait({ waits, createdIn }: PreparedUpload, job: LeasedJob): boolean {
  return waits || (createdIn !== null && createdIn !== job.queue);
}

function isAppliable(upload: PreparedUpload): upload is AppliableUpload {
  return upload.refusal === null;
}

/** Whether an answer of the backend still counts: the upload is queued, or was set aside. */
function isOpen(note: Note): boolean {
  const { status, setAsideBy } = readOutcome(note);
  return status === 'queued' || setAsideBy !== undefined;
}

/** Whether the backend may be asked: an upload that was set aside is tried again only by the job that did so. */
function mayAsk(job: LeasedJob | null, note: Note): boolean {
  const { status, setAsideBy } = readOutcome(note);
  return status === 'queued' || (job !== null && setAsideBy === job.id);
}
