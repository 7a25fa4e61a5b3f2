import {
  nameProblem,
  OUTCOMES_PER_PULL_MAX,
  OUTCOMES_WAITING_MAX,
  type Outcome,
  Refusal,
  SETTLED_KEPT_MS,
  type Upload,
} from '@tidemark/protocol';
import { bytesMaxOf } from '../admission/quota.ts';
import type { LeasedJob } from '../ports/jobs.ts';
import type { Note, NoteRef, NoteWrite, PartitionKey, Store, StoredObject } from '../ports/store.ts';
import { BackendUploads, type BackendUploadsPorts } from './backend-uploads.ts';
import { commitPlan, persistPlan } from './commit-plan.ts';
import { type KeptOutcome, outcomeOf, readOutcome, tellsCurrent } from './outcome-note.ts';
import { planRound } from './plan-round.ts';
import { type PreparedUpload, prepareUploads } from './prepare-uploads.ts';
import { roundsOf } from './rounds.ts';
import type { UploadTarget } from './upload-target.ts';

export type UploadsPorts = BackendUploadsPorts;

/** Where outcomes wait. */
export type WaitingUploads = Pick<UploadTarget, 'source' | 'client' | 'partition' | 'earlier'>;

/**
 * Changes made on devices, applied exactly once however often they arrive: what became of an upload is written in the
 * very step that applies it, and told to the device until it says that it knows.
 */
export class Uploads {
  readonly #ports: UploadsPorts;
  readonly #store: Store;
  readonly #withBackend: BackendUploads;

  constructor(ports: UploadsPorts) {
    this.#ports = ports;
    this.#store = ports.store;
    this.#withBackend = new BackendUploads(ports);
  }

  /** Uploads of one device to one source, in their order; the outcomes in the same order. */
  async apply(target: UploadTarget, uploads: readonly Upload[]): Promise<readonly Outcome[]> {
    const told = await this.#toldEarlier(target, uploads);
    const fresh = uploads.filter(({ op_id }) => !told.has(op_id));
    if (fresh.length > 0) for (const outcome of await this.#apply(target, fresh)) told.set(outcome.op_id, outcome);
    return uploads.flatMap(({ op_id }) => told.get(op_id) ?? []);
  }

  /** What became of uploads that arrived while the user's data was elsewhere. They are repetitions. */
  async #toldEarlier(target: UploadTarget, uploads: readonly Upload[]): Promise<Map<string, Outcome>> {
    const { client, earlier } = target;
    const refs = uploads.flatMap(({ op_id: key }): NoteRef[] => [
      { kind: 'outcome', key },
      { kind: 'settled', key },
    ]);
    const known = new Map<string, KeptOutcome>();
    for (const partition of earlier) {
      for (const note of await this.#store.readNotes(partition, client, refs)) known.set(note.key, readOutcome(note));
    }
    const told = known.size === 0 ? [] : await this.#tell(target, [...known.keys()], known);
    return new Map(told.map((outcome) => [outcome.op_id, outcome]));
  }

  async #apply(target: UploadTarget, uploads: readonly Upload[]): Promise<readonly Outcome[]> {
    await this.#requireRoom(target, uploads.length);
    const outcomes = await (target.adapter === null
      ? this.#applyHere(target, uploads)
      : this.#withBackend.apply(target, uploads));
    return this.#tell(
      target,
      uploads.map(({ op_id }) => op_id),
      outcomes,
    );
  }

  /** Runs the job of an upload that was left to a queue. */
  run(job: LeasedJob, target: UploadTarget): Promise<void> {
    return this.#withBackend.run(job, target);
  }

  async #applyHere(target: UploadTarget, uploads: readonly Upload[]): Promise<ReadonlyMap<string, KeptOutcome>> {
    const prepared = await prepareUploads(this.#store, target, uploads, this.#ports.limits);
    const outcomes = new Map<string, KeptOutcome>();
    for (const round of roundsOf(firstOfEach(prepared))) {
      for (const [opId, outcome] of await this.#applyRound(target, round)) outcomes.set(opId, outcome);
    }
    return outcomes;
  }

  /** Outcomes the device has not acknowledged; those that find no room come when these are. */
  async waiting(target: WaitingUploads): Promise<readonly Outcome[]> {
    if (target.earlier.length === 0) return this.#waitingIn(target, target.partition);
    const here = await this.#waitingIn(target, target.partition);
    const before = await Promise.all(target.earlier.map((partition) => this.#waitingIn(target, partition)));
    return [...here, ...before.flat()];
  }

  /** The outcomes of where the user is, or was. */
  async #waitingIn(target: WaitingUploads, partition: PartitionKey): Promise<readonly Outcome[]> {
    const list = { kind: 'outcome', limit: OUTCOMES_PER_PULL_MAX } as const;
    const notes = await this.#store.listNotes(partition, target.client, list);
    if (notes.length === 0) return [];
    const outcomes = new Map(notes.map((note) => [note.key, readOutcome(note)]));
    return this.#tell(target, [...outcomes.keys()], outcomes);
  }

  /** The device knows these outcomes. What is still under way, or was acknowledged before, stays as it is. */
  async acknowledge(target: UploadTarget, opIds: readonly string[]): Promise<void> {
    const refs = [...new Set(opIds)].map((key): NoteRef => ({ kind: 'outcome', key }));
    for (const partition of [target.partition, ...target.earlier]) {
      await this.#acknowledgeIn({ ...target, partition }, refs);
    }
  }

  async #acknowledgeIn(target: UploadTarget, refs: readonly NoteRef[]): Promise<void> {
    await persistPlan(async () => {
      const notes = await this.#store.readNotes(target.partition, target.client, refs);
      const known = notes.filter((note) => readOutcome(note).status !== 'queued');
      const plan = { changes: [], kept: [], writes: known.flatMap((note) => this.#settled(note)) };
      return plan.writes.length === 0 || (await commitPlan(this.#ports, target, plan)) ? true : null;
    });
  }

  #settled({ key, text }: Note): NoteWrite[] {
    const endsAtMs = this.#ports.clock.nowMs() + SETTLED_KEPT_MS;
    return [
      { kind: 'outcome', key, text: null, expect: text },
      { kind: 'settled', key, text, endsAtMs },
    ];
  }

  /** Beyond the quota of the partition only deletions are done: a device that waits for room must not wait with these. */
  async #applyRound(target: UploadTarget, round: readonly PreparedUpload[]): Promise<ReadonlyMap<string, KeptOutcome>> {
    try {
      return await this.#tryRound(target, round);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'quota_exceeded') throw error;
      return this.#tryRound({ ...target, isFull: error }, round);
    }
  }

  /** One step for the whole round; again when somebody else was faster. */
  #tryRound(target: UploadTarget, round: readonly PreparedUpload[]): Promise<ReadonlyMap<string, KeptOutcome>> {
    const bytesMax = bytesMaxOf(this.#ports.limits, target.partition);
    return persistPlan(async () => {
      const plan = await planRound(this.#store, target, round, this.#ports.clock.nowMs());
      if (plan.writes.length === 0) return plan.outcomes;
      return (await commitPlan(this.#ports, target, { ...plan, bytesMax })) ? plan.outcomes : null;
    });
  }

  /** A device that never says what it knows must not fill the store. */
  async #requireRoom({ partition, client, source }: UploadTarget, more: number): Promise<void> {
    const limit = OUTCOMES_WAITING_MAX - more + 1;
    const waiting = await this.#store.listNotes(partition, client, { kind: 'outcome', limit });
    if (waiting.length < limit) return;
    const detail = `more than ${OUTCOMES_WAITING_MAX} outcomes of ${JSON.stringify(source)} would wait to be acknowledged`;
    throw new Refusal('limit_exceeded', detail);
  }

  /** Who is told that an upload was not applied is also told how the object is, where the user's data is now. */
  async #tell(
    { partition, source }: WaitingUploads,
    opIds: readonly string[],
    outcomes: ReadonlyMap<string, KeptOutcome>,
  ): Promise<readonly Outcome[]> {
    const ids = [...outcomes.values()].filter(tellsCurrent).map(({ id }) => id);
    const legal = [...new Set(ids)].filter((id) => nameProblem('object', id) === null);
    const objects = legal.length === 0 ? NO_OBJECTS : (await this.#store.readObjects(partition, legal)).objects;
    return opIds.flatMap((opId) => {
      const outcome = outcomes.get(opId);
      return outcome === undefined ? [] : [outcomeOf(opId, source, outcome, objects.get(outcome.id))];
    });
  }
}

const NO_OBJECTS: ReadonlyMap<string, StoredObject> = new Map();

/** An upload that stands twice in a call is the same upload. */
function firstOfEach(uploads: readonly PreparedUpload[]): readonly PreparedUpload[] {
  const seen = new Set<string>();
  return uploads.filter(({ opId }) => !seen.has(opId) && seen.add(opId));
}
