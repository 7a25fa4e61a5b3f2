import {
  type Limits,
  parseJson,
  Refusal,
  SET_ASIDE_KEPT_MS,
  UPLOAD_GIVE_UP_MS,
  UPLOADS_AT_ONCE_MAX,
  type Upload,
} from '@tidemark/protocol';
import { JobFailure, type Jobs, type LeasedJob } from '../ports/jobs.ts';
import type { Log } from '../ports/log.ts';
import type { Note, NoteRef, NoteWrite } from '../ports/store.ts';
import { askBackend, type BackendVerdict } from './ask-backend.ts';
import { type CommitPorts, commitPlan, persistPlan } from './commit-plan.ts';
import { linkText, readLink } from './link-note.ts';
import { type KeptOutcome, readOutcome } from './outcome-note.ts';
import { linkWrites, outcomeWrites, planAgreed, planRefused } from './plan-agreed.ts';
import { planRound, type RoundPlan } from './plan-round.ts';
import { type PreparedUpload, prepareUploads } from './prepare-uploads.ts';
import { roundsOf } from './rounds.ts';
import { readUploadJob, UPLOAD_QUEUE, uploadJob } from './upload-job.ts';
import { openLane, type UploadLane } from './upload-lane.ts';
import type { UploadTarget } from './upload-target.ts';

export interface BackendUploadsPorts extends CommitPorts {
  readonly limits: Limits;
  readonly log: Log;
  /** Where uploads are left for later. Absent: those that meet trouble are refused, for the device to repeat. */
  readonly jobs?: Pick<Jobs, 'enqueueAll'>;
  /** Told when a job has come to an outcome, which waits for its device from now on. */
  readonly onOutcome?: (device: { readonly user: string; readonly client: string }) => void;
  /** Hears of every upload the backend was asked about. */
  readonly count?: (metric: string, tookMs: number) => void;
}

/** How long an upload waits that names an object the backend has not named yet. */
const WAIT_MS = 1_000;

type Outcomes = ReadonlyMap<string, KeptOutcome>;

/**
 * Uploads to sources whose backend must agree. It is asked at least once and always with the same op id; what became of
 * the upload is written in the very step that applies it here, so whoever dies in between only asks again.
 */
export class BackendUploads {
  readonly #ports: BackendUploadsPorts;

  constructor(ports: BackendUploadsPorts) {
    this.#ports = ports;
  }

  /** Uploads of one device, in their order: asked about now, or left to a queue. */
  async apply(target: UploadTarget, uploads: readonly Upload[]): Promise<Outcomes> {
    const outcomes = new Map<string, KeptOutcome>();
    const later = await this.#applyNow(target, uploads, outcomes);
    for (const [opId, outcome] of await this.#leave(target, later)) outcomes.set(opId, outcome);
    return outcomes;
  }

  /** Runs one job. */
  async run(job: LeasedJob, target: UploadTarget): Promise<void> {
    const { opId, atMs } = readUploadJob(job);
    const { note, upload } = await this.#kept(target, opId);
    if (note !== null && !isOpen(note) && upload !== null) await this.#tidy(target, upload);
    if (note !== null && !mayAsk(job, note)) return;
    const [prepared] = upload === null ? [] : await this.#prepare(target, [upload]);
    if (prepared === undefined) {
      this.#ports.log.warn('upload_dropped', { source: target.source, reason: 'the upload is not kept any more' });
      return;
    }
    // Jobs of one object run one after the other, so its create is not before this one unless it waits in another queue.
    const isAhead = prepared.createdIn !== null && prepared.createdIn !== job.queue;
    const startMs = this.#ports.clock.nowMs();
    const trouble =
      prepared.waits || isAhead ? WAITING : await this.#decide(target, prepared, { outcomes: new Map(), job });
    if (trouble === null)
      this.#ports.count?.(`sources:${prepared.given.op}:${target.source}`, this.#ports.clock.nowMs() - startMs);
    const isSpent = this.#ports.clock.nowMs() - atMs >= UPLOAD_GIVE_UP_MS || job.attempt >= job.attemptsMax;
    if (trouble !== null && isSpent) await this.#setAside(target, prepared, { trouble, job });
    if (trouble === null || isSpent) this.#ports.onOutcome?.({ user: target.user, client: target.client });
    if (trouble === null) return;
    throw new JobFailure(trouble.error.detail, {
      retryAfterMs: trouble.retryAfterMs,
      isFinal: isSpent,
      isLogged: trouble !== WAITING,
    });
  }

  /** Answers those that must be left for later, in their order. */
  async #applyNow(
    target: UploadTarget,
    uploads: readonly Upload[],
    outcomes: Map<string, KeptOutcome>,
  ): Promise<readonly Upload[]> {
    if (target.queue !== null && this.#ports.jobs !== undefined) return uploads;
    const lane = await openLane(this.#ports.store, target.partition, target.client);
    const later: Upload[] = [];
    // References may lead from one upload to another, so then they are asked about one by one.
    const budget = target.references.size > 0 ? 1 : UPLOADS_AT_ONCE_MAX;
    const inOrder = (await this.#prepare(target, firstOfEach(uploads))).map(({ opId, origin, given }) => {
      return { opId, id: origin, given };
    });
    for (const round of roundsOf(inOrder)) {
      for (let start = 0; start < round.length; start += budget) {
        const asked = round.slice(start, start + budget).map(({ given }) => given);
        // Prepared anew: what was done before may have given names.
        const prepared = await this.#prepare(target, asked);
        const left = await Promise.all(prepared.map((one) => this.#tryNow(target, one, { lane, outcomes })));
        later.push(...left.flatMap((upload) => upload ?? []));
      }
    }
    return later;
  }

  /** Applies the upload, or answers it when it must go to the queue. */
  async #tryNow(
    target: UploadTarget,
    prepared: PreparedUpload,
    { lane, outcomes }: { readonly lane: UploadLane; readonly outcomes: Map<string, KeptOutcome> },
  ): Promise<Upload | null> {
    const { origin, waits, createdIn, given } = prepared;
    const mustWait = waits || createdIn !== null || lane.isBlocked(origin);
    const trouble = mustWait ? null : await this.#decide(target, prepared, { outcomes, job: null });
    if (!mustWait && trouble === null) return null;
    lane.block(origin);
    if (trouble !== null) lane.close();
    return given;
  }

  /** Decides here, asks the backend when there is nothing against it here, and writes what came of it. */
  async #decide(
    target: UploadTarget,
    prepared: PreparedUpload,
    { outcomes, job }: { readonly outcomes: Map<string, KeptOutcome>; readonly job: LeasedJob | null },
  ): Promise<PartialError | null> {
    const { opId } = prepared;
    const known = await this.#decideHere(target, prepared, job);
    if (known !== null || prepared.refusal !== null || target.adapter === null) {
      if (known !== null) outcomes.set(opId, known);
      return null;
    }
    const startMs = this.#ports.clock.nowMs();
    const verdict = await askBackend(target.adapter, target, prepared.upload);
    if (verdict.kind === 'trouble') {
      this.#tellTrouble(target, prepared, verdict, this.#ports.clock.nowMs() - startMs);
      return verdict;
    }
    outcomes.set(opId, await this.#settle(target, prepared, verdict));
    return null;
  }

  /**
   * The outcome when the backend need not be asked: it was here before, or cannot be applied as things are. Whether an id
   * is taken is for the backend to say: an object of that id may be the effect of an earlier attempt at this very create.
   */
  #decideHere(target: UploadTarget, prepared: PreparedUpload, job: LeasedJob | null): Promise<KeptOutcome | null> {
    const { store, clock } = this.#ports;
    return persistPlan(async (): Promise<{ readonly outcome: KeptOutcome | null } | null> => {
      const before = await this.#before(target, prepared.opId);
      if (before !== null && !mayAsk(job, before)) return { outcome: readOutcome(before) };
      if (prepared.upload?.op === 'create') return { outcome: null };
      const plan = await planRound(store, target, [{ ...prepared, opId: UNKNOWN_OP }], clock.nowMs());
      const decided = plan.outcomes.get(UNKNOWN_OP);
      if (decided === undefined || decided.status === 'applied') return { outcome: null };
      const refused = planRefused(prepared, decided, { note: before, nowMs: clock.nowMs() });
      return (await commitPlan(this.#ports, target, { ...refused, kept: plan.kept })) ? { outcome: decided } : null;
    }).then(({ outcome }) => outcome);
  }

  #settle(
    target: UploadTarget,
    prepared: PreparedUpload,
    verdict: Exclude<BackendVerdict, { readonly kind: 'trouble' }>,
  ): Promise<KeptOutcome> {
    return persistPlan(async () => {
      const note = await this.#before(target, prepared.opId);
      if (note !== null && !isOpen(note)) return readOutcome(note);
      const plan = await this.#planOf(target, prepared, verdict, note);
      return (await commitPlan(this.#ports, target, plan)) ? (plan.outcomes.get(prepared.opId) ?? null) : null;
    });
  }

  async #planOf(
    target: UploadTarget,
    prepared: PreparedUpload,
    verdict: Exclude<BackendVerdict, { readonly kind: 'trouble' }>,
    note: Note | null,
  ): Promise<RoundPlan> {
    const { store, clock } = this.#ports;
    const nowMs = clock.nowMs();
    if (verdict.kind === 'agreed' && prepared.refusal === null) {
      return planAgreed(store, target, prepared, { id: verdict.id, note, nowMs });
    }
    const error = verdict.kind === 'agreed' ? undefined : verdict.error;
    const status = verdict.kind === 'conflict' ? 'conflict' : 'rejected';
    return planRefused(
      prepared,
      { status, id: prepared.id, ...(error === undefined ? {} : { error }) },
      { note, nowMs },
    );
  }

  /** Told as rejected: the device must know that it is not on its way any more. */
  async #setAside(
    target: UploadTarget,
    prepared: PreparedUpload,
    { trouble: { error }, job }: { readonly trouble: PartialError; readonly job: LeasedJob },
  ): Promise<void> {
    await persistPlan(async () => {
      const note = await this.#before(target, prepared.opId);
      if (note !== null && !isOpen(note)) return true;
      const outcome: KeptOutcome = { status: 'rejected', id: prepared.id, error, setAsideBy: job.id };
      const nowMs = this.#ports.clock.nowMs();
      const refused = planRefused(prepared, outcome, { note, nowMs });
      const kept = keptUpload(prepared, nowMs + SET_ASIDE_KEPT_MS);
      const writes = [...refused.writes.filter(({ kind }) => kind !== 'upload'), kept];
      return (await commitPlan(this.#ports, target, { ...refused, writes })) ? true : null;
    });
  }

  /**
   * Leaves uploads to a queue. First come notes: the uploads themselves, and which ids will get another name, so that
   * nothing that depends on them runs ahead. Then come the jobs; and only when those are safe, the outcomes. Whoever dies
   * in between has promised nothing.
   */
  async #leave(target: UploadTarget, uploads: readonly Upload[]): Promise<Outcomes> {
    const { jobs } = this.#ports;
    const outcomes = new Map<string, KeptOutcome>();
    if (uploads.length === 0) return outcomes;
    const fresh: PreparedUpload[] = [];
    for (const prepared of await this.#prepare(target, firstOfEach(uploads))) {
      const known = await this.#decideUnlessOpen(target, prepared);
      if (known === null) fresh.push(prepared);
      else outcomes.set(prepared.opId, known);
    }
    if (fresh.length === 0) return outcomes;
    if (jobs === undefined) throw new Refusal('backend_unavailable', 'the backend cannot be asked now; upload again');
    await this.#keepUploads(target, fresh);
    await jobs.enqueueAll(
      target.queue ?? UPLOAD_QUEUE,
      fresh.map((prepared) => uploadJob(target, prepared, this.#ports.clock.nowMs())),
    );
    for (const prepared of fresh) outcomes.set(prepared.opId, await this.#noteQueued(target, prepared));
    return outcomes;
  }

  /** What is known already, or can never be applied, needs no job. */
  async #decideUnlessOpen(target: UploadTarget, prepared: PreparedUpload): Promise<KeptOutcome | null> {
    const before = await this.#before(target, prepared.opId);
    if (before !== null) return readOutcome(before);
    return prepared.refusal === null ? null : this.#decideHere(target, prepared, null);
  }

  /** Keeps the uploads for their jobs, and notes the ids that the backend has not named yet. */
  async #keepUploads(target: UploadTarget, fresh: readonly PreparedUpload[]): Promise<void> {
    const queue = target.queue ?? UPLOAD_QUEUE;
    const creates = new Map(fresh.filter(({ given }) => given.op === 'create').map((one) => [one.origin, one.opId]));
    await persistPlan(async () => {
      const known = await this.#links(target, [...creates.keys()]);
      const links = [...creates].flatMap(([key, opId]): NoteWrite[] => {
        const link = known.get(key);
        if (link !== undefined && readLink(link).state === 'given') return [];
        const text = linkText({ state: 'pending', queue, opId });
        return [{ kind: 'link', key, text, expect: link?.text ?? null }];
      });
      const writes = [...links, ...fresh.map((prepared) => keptUpload(prepared))];
      return (await commitPlan(this.#ports, target, { changes: [], kept: [], writes })) ? true : null;
    });
  }

  /**
   * Takes back what `#keepUploads` noted of an upload that had come to an outcome by then, in a request beside that one:
   * nothing may wait for a create that is done.
   */
  async #tidy(target: UploadTarget, upload: Upload): Promise<void> {
    const { op_id: opId, id } = upload;
    await persistPlan(async () => {
      const note = await this.#before(target, opId);
      if (note === null || isOpen(note)) return true;
      const link = (await this.#links(target, upload.op === 'create' ? [id] : [])).get(id);
      const state = link === undefined ? null : readLink(link);
      const isStale = state?.state === 'pending' && state.opId === opId;
      const links = isStale ? linkWrites(upload, readOutcome(note), this.#ports.clock.nowMs()) : [];
      const expected = links.map((write) => (write.key === id && link ? { ...write, expect: link.text } : write));
      const writes = [{ kind: 'upload', key: opId, text: null } as const, ...expected];
      return (await commitPlan(this.#ports, target, { changes: [], kept: [], writes })) ? true : null;
    });
  }

  async #links({ partition, client }: UploadTarget, keys: readonly string[]): Promise<ReadonlyMap<string, Note>> {
    const refs = keys.map((key) => ({ kind: 'link', key }) as const);
    const notes = refs.length === 0 ? [] : await this.#ports.store.readNotes(partition, client, refs);
    return new Map(notes.map((note) => [note.key, note]));
  }

  /** The job may be done before this is: then its outcome is the one. */
  #noteQueued(target: UploadTarget, prepared: PreparedUpload): Promise<KeptOutcome> {
    return persistPlan(async () => {
      const note = await this.#before(target, prepared.opId);
      if (note !== null) return readOutcome(note);
      const { id, origin } = prepared;
      const outcome: KeptOutcome = { status: 'queued', id, ...(origin === id ? {} : { origin }) };
      const writes = outcomeWrites(prepared.opId, outcome, null);
      return (await commitPlan(this.#ports, target, { changes: [], kept: [], writes })) ? outcome : null;
    });
  }

  /** What was noted of the upload, told or acknowledged. */
  async #before({ partition, client }: UploadTarget, opId: string): Promise<Note | null> {
    const [note] = await this.#ports.store.readNotes(partition, client, outcomeRefs(opId));
    return note ?? null;
  }

  /** The same with the upload that was kept for its job. */
  async #kept(
    { partition, client }: UploadTarget,
    opId: string,
  ): Promise<{ readonly note: Note | null; readonly upload: Upload | null }> {
    const refs = [...outcomeRefs(opId), { kind: 'upload', key: opId } as const];
    const notes = await this.#ports.store.readNotes(partition, client, refs);
    const kept = notes.find(({ kind }) => kind === 'upload');
    const note = notes.find(({ kind }) => kind !== 'upload') ?? null;
    return { note, upload: kept === undefined ? null : (parseJson(kept.text) as Upload) };
  }

  #prepare(target: UploadTarget, uploads: readonly Upload[]): Promise<readonly PreparedUpload[]> {
    return prepareUploads(this.#ports.store, target, uploads, this.#ports.limits);
  }

  /** What went well in a request is counted by whoever took the request. */
  #tellTrouble(
    target: UploadTarget,
    { opId, given: { op } }: PreparedUpload,
    trouble: PartialError,
    tookMs: number,
  ): void {
    const { source, client } = target;
    this.#ports.count?.(`sources:${op}_failed:${source}`, tookMs);
    this.#ports.log[trouble.isLogged ? 'debug' : 'warn']('upload_failed', {
      source,
      client,
      op,
      op_id: opId,
      code: trouble.error.code,
      reason: trouble.reason,
    });
  }
}

type PartialError = Extract<BackendVerdict, { readonly kind: 'trouble' }>;

const WAITING: PartialError = {
  kind: 'trouble',
  error: { code: 'backend_unavailable', detail: 'it names an object that the backend has not named yet' },
  retryAfterMs: WAIT_MS,
  reason: 'waiting',
  isLogged: false,
};

/**
 * Nothing is noted under it: what is noted of the upload has been looked at. No device can choose a control character,
 * and this one is allowed in the keys of every engine.
 */
const UNKNOWN_OP = '\u001f';

function outcomeRefs(opId: string): readonly NoteRef[] {
  return [
    { kind: 'outcome', key: opId },
    { kind: 'settled', key: opId },
  ];
}

/** The note from which the job reads the upload. */
function keptUpload({ opId, given }: PreparedUpload, endsAtMs?: number): NoteWrite {
  const text = JSON.stringify(given);
  return { kind: 'upload', key: opId, text, ...(endsAtMs === undefined ? {} : { endsAtMs }) };
}

/** Whether an answer of the backend still counts: the upload is on its way, or was set aside. */
function isOpen(note: Note): boolean {
  const { status, setAsideBy } = readOutcome(note);
  return status === 'queued' || setAsideBy !== undefined;
}

/** An upload that was set aside is tried again by the job that did so, once that is revived, and by nobody else. */
function mayAsk(job: LeasedJob | null, note: Note): boolean {
  const { status, setAsideBy } = readOutcome(note);
  return status === 'queued' || (job !== null && setAsideBy === job.id);
}

/** An upload that stands twice in a call is the same upload. */
function firstOfEach(uploads: readonly Upload[]): readonly Upload[] {
  const seen = new Set<string>();
  return uploads.filter(({ op_id }) => !seen.has(op_id) && seen.add(op_id));
}
