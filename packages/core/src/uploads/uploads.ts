import {
  nameProblem,
  OUTCOMES_PER_PULL_MAX,
  OUTCOMES_WAITING_MAX,
  type Outcome,
  pointer,
  Refusal,
  UPLOADS_PER_PUSH_MAX,
  type Upload,
} from '@tidemark/protocol';
import { bytesMaxOf } from '../admission/quota.ts';
import { requireCount } from '../admission/require-count.ts';
import type { DeviceCaller, DeviceSessions, RegisteredDevice } from '../devices/device-sessions.ts';
import type { LeasedJob } from '../ports/jobs.ts';
import { partitionName } from '../ports/owner.ts';
import type { Note, PartitionKey, Store, StoredObject } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import { requireOpId } from './admit-upload.ts';
import { BackendUploads, type BackendUploadsPorts } from './backend-uploads.ts';
import { type Acknowledged, OutcomeAcknowledgements } from './outcome-acknowledgements.ts';
import { firstOfEach, type PreparedUpload, prepareUploads, rereadNotes } from './prepare-uploads.ts';
import { readUploadJob } from './upload-job.ts';
import { includesCurrent, outcomeOf, outcomeRefs, readOutcome, type StoredOutcome } from './upload-notes.ts';
import { batchesByTarget, batchesInOrder, mayShareTarget, OriginBlocks, roundsOf } from './upload-order.ts';
import { commitPlan, decide, planRound, seenIn } from './upload-plan.ts';
import { isQuotaRefusal, splitByQuota } from './upload-quota.ts';
import { type UploadTarget, UploadTargets, type UploadTargetsParts } from './upload-target.ts';

export interface UploadsParts extends BackendUploadsPorts, UploadTargetsParts {
  readonly sessions: DeviceSessions;
}

export interface DevicePushCall {
  readonly changes: readonly Upload[];
  readonly acknowledged?: Acknowledged;
}

type Outcomes = ReadonlyMap<string, StoredOutcome>;

/**
 * Changes that devices upload. Each is applied exactly once, however often it arrives, because its outcome is written in
 * the commit that applies it. Outcomes are sent to the device until it acknowledges them.
 */
export class Uploads {
  readonly #parts: UploadsParts;
  readonly #store: Store;
  readonly #targets: UploadTargets;
  readonly #backend: BackendUploads;
  readonly #acknowledgements: OutcomeAcknowledgements;

  constructor(parts: UploadsParts) {
    this.#parts = parts;
    this.#store = parts.store;
    this.#targets = new UploadTargets(parts);
    this.#backend = new BackendUploads(parts);
    this.#acknowledgements = new OutcomeAcknowledgements(parts, this.#targets);
  }

  /** Applies changes of a device. Returns their outcomes in the same order. */
  async push(caller: DeviceCaller, { changes, acknowledged }: DevicePushCall): Promise<readonly Outcome[]> {
    requireCount(changes.length, UPLOADS_PER_PUSH_MAX, 'changes');
    for (const [index, { op_id }] of changes.entries()) requireOpId(op_id, pointer('changes', index, 'op_id'));
    const device = await this.#parts.sessions.identify(caller);
    await this.#acknowledgements.note(device, acknowledged);
    const answers: Answer[] = [];
    for (const indexes of await this.#batchesOf(changes)) {
      const uploads = indexes.map((index) => changes[index] as Upload);
      const applied = await this.#applyToSource(device, uploads);
      for (const [at, index] of indexes.entries()) answers[index] = applied[at] as Answer;
    }
    return this.#withRights(caller, device, answers);
  }

  /** Runs the job of an upload that was left to a queue. */
  async runJob(job: LeasedJob): Promise<void> {
    const upload = readUploadJob(job);
    const target = await this.#targets.ofJob(upload).catch((error: unknown) => {
      if (!(error instanceof Refusal) || !GONE.has(error.code)) throw error;
      this.#parts.log.warn('upload_dropped', { source: upload.source, reason: error.message });
      return null;
    });
    if (target !== null) await this.#backend.run(job, target);
  }

  /** Stops sending outcomes that the device has received. */
  async acknowledge(caller: DeviceCaller, acknowledged: Acknowledged): Promise<void> {
    await this.#acknowledgements.note(await this.#parts.sessions.identify(caller), acknowledged);
  }

  /**
   * Reads the outcomes that the device has not acknowledged, a bounded number of them for each partition. Somebody who may
   * not read the partition any more gets what became of the uploads, and nothing of the objects.
   */
  async waiting(target: WaitingTarget, isReadable: boolean): Promise<readonly Outcome[]> {
    const partitions = [target.partition, ...target.earlier];
    const outcomes = await Promise.all(partitions.map((partition) => this.#waitingIn(target, partition)));
    return isReadable ? outcomes.flat() : outcomes.flat().map(withoutObject);
  }

  async #waitingIn(target: WaitingTarget, partition: PartitionKey): Promise<readonly Outcome[]> {
    const list = { kind: 'outcome', limit: OUTCOMES_PER_PULL_MAX } as const;
    const notes = await this.#store.listNotes(partition, target.client, list);
    if (notes.length === 0) return [];
    return this.#outcomesFor(target, new Map(notes.map((note) => [note.key, readOutcome(note)])));
  }

  /** The indexes of changes that are applied together. */
  async #batchesOf(changes: readonly Upload[]): Promise<readonly (readonly number[])[]> {
    const { sources, adapters } = this.#parts;
    const byTarget = batchesByTarget(changes);
    if (byTarget.length === 1) return byTarget;
    // Where a backend may name objects, changes of different sources keep their order, so that a reference comes after
    // the create it refers to.
    const hasBackend = async () => (await sources.list()).some(({ adapter }) => adapter !== NO_ADAPTER);
    const isOrdered = mayShareTarget(changes) || (adapters !== undefined && (await hasBackend()));
    return isOrdered ? batchesInOrder(changes) : byTarget;
  }

  /** `uploads` have the same source and group. Those of an unknown source or group are rejected by themselves. */
  async #applyToSource(device: RegisteredDevice, uploads: readonly Upload[]): Promise<readonly Answer[]> {
    const { source = '', group } = uploads[0] ?? {};
    try {
      const target = await this.#targets.current(device, source, group);
      return (await this.#apply(target, uploads)).map((outcome) => ({ outcome, partition: target.partition }));
    } catch (error) {
      if (!(error instanceof Refusal) || !REFUSED_BY_SOURCE.has(error.code)) throw error;
      const { code, message: detail } = error;
      const whose = { source, ...(group === undefined ? {} : { group }) };
      return uploads.map(({ op_id, id }) => {
        return { outcome: { op_id, ...whose, status: 'rejected', id, error: { code, detail }, current: null } };
      });
    }
  }

  /**
   * Checks after the last read that the device may have the objects in its outcomes. While a backend was asked, the
   * device or its token may have ended, and the user may have left the group or partition.
   */
  async #withRights(
    caller: DeviceCaller,
    device: RegisteredDevice,
    answers: readonly Answer[],
  ): Promise<readonly Outcome[]> {
    if (!answers.some(hasObject)) return answers.map(({ outcome }) => outcome);
    await this.#parts.sessions.verify(caller, device);
    const names = new Set(answers.filter(hasObject).map(({ outcome }) => outcome.source));
    const readable = new Set<string>();
    for (const name of names) for (const one of await this.#targets.readableBy(device.user, name)) readable.add(one);
    return answers.map(({ outcome, partition }) => {
      const isOwn = partition !== undefined && readable.has(partitionName(partition));
      return isOwn ? outcome : withoutObject(outcome);
    });
  }

  async #apply(target: UploadTarget, uploads: readonly Upload[]): Promise<readonly Outcome[]> {
    const known = await this.#knownEarlier(target, uploads);
    const fresh = firstOfEach(uploads.filter(({ op_id }) => !known.has(op_id)));
    const applied = fresh.length === 0 ? known : new Map([...known, ...(await this.#applyFresh(target, fresh))]);
    const outcomes = new Map((await this.#outcomesFor(target, applied)).map((outcome) => [outcome.op_id, outcome]));
    return uploads.flatMap(({ op_id }) => outcomes.get(op_id) ?? []);
  }

  /** The outcomes of uploads that arrived while the user's data was in another partition. */
  async #knownEarlier({ client, earlier }: UploadTarget, uploads: readonly Upload[]): Promise<Outcomes> {
    const refs = uploads.flatMap(({ op_id }) => outcomeRefs(op_id));
    const known = new Map<string, StoredOutcome>();
    for (const partition of earlier) {
      for (const note of await this.#store.readNotes(partition, client, refs)) known.set(note.key, readOutcome(note));
    }
    return known;
  }

  async #applyFresh(target: UploadTarget, uploads: readonly Upload[]): Promise<Outcomes> {
    const waiting = await this.#requireRoom(target, uploads.length);
    const prepared = await prepareUploads(this.#parts, target, uploads);
    if (target.adapter !== null) {
      const { fitting, rejected } = await splitByQuota(this.#parts, target, prepared);
      return new Map([...rejected, ...(await this.#backend.apply(target, fitting, new OriginBlocks(waiting)))]);
    }
    const outcomes = new Map<string, StoredOutcome>();
    for (const [index, round] of roundsOf(prepared, ({ id }) => id).entries()) {
      // The round before has changed the notes of the same objects.
      const current = index === 0 ? round : await rereadNotes(this.#store, target, round);
      for (const [opId, outcome] of await this.#applyRound(target, current, index)) outcomes.set(opId, outcome);
    }
    return outcomes;
  }

  /**
   * Refuses uploads of a device that acknowledges nothing, so that outcomes cannot fill the store. Returns all outcomes
   * that wait.
   */
  async #requireRoom({ partition, client, source }: UploadTarget, more: number): Promise<readonly Note[]> {
    const limit = OUTCOMES_WAITING_MAX - more + 1;
    const waiting = await this.#store.listNotes(partition, client, { kind: 'outcome', limit });
    if (waiting.length < limit) return waiting;
    const detail = `more than ${OUTCOMES_WAITING_MAX} outcomes of ${JSON.stringify(source)} would wait to be acknowledged`;
    throw new Refusal('limit_exceeded', detail);
  }

  /** Beyond the quota of the partition, the deletions of a round are still applied, since they make room. */
  async #applyRound(target: UploadTarget, round: readonly PreparedUpload[], index: number): Promise<Outcomes> {
    try {
      return await this.#tryRound(target, round, index);
    } catch (error) {
      if (!isQuotaRefusal(error)) throw error;
      return this.#tryRound({ ...target, isFull: error }, round, index);
    }
  }

  /** Applies a round in one commit. */
  #tryRound(target: UploadTarget, round: readonly PreparedUpload[], index: number): Promise<Outcomes> {
    const bound = target.isFull === undefined ? { bytesMax: bytesMaxOf(this.#parts.limits, target.partition) } : {};
    return retryOnConflict(async (isRetry) => {
      const current = isRetry ? await rereadNotes(this.#store, target, round) : round;
      const known = current.flatMap(({ opId, note }) => (note === null ? [] : [[opId, readOutcome(note)] as const]));
      const fresh = current.filter(({ note }) => note === null);
      if (fresh.length === 0) return new Map(known);
      const ids = fresh.filter(({ refusal }) => refusal === null).map(({ id }) => id);
      const read = ids.length === 0 ? null : await this.#store.readObjects(target.partition, ids);
      const decided = fresh.map((prepared) => decide(target, prepared, read, this.#parts.limits));
      const plan = planRound(target, decided, { nowMs: this.#parts.clock.nowMs(), index });
      if (!(await commitPlan(this.#parts, target, { ...plan, ...seenIn(read), ...bound }))) return null;
      return new Map([...known, ...decided.map(({ prepared, outcome }) => [prepared.opId, outcome] as const)]);
    });
  }

  /** The outcomes as devices get them: one that was not applied comes with the object as it is in the current partition. */
  async #outcomesFor({ partition, source, group }: WaitingTarget, outcomes: Outcomes): Promise<readonly Outcome[]> {
    const ids = new Set([...outcomes.values()].filter(includesCurrent).map(({ id }) => id));
    const legal = [...ids].filter((id) => nameProblem('object', id) === null);
    const objects = legal.length === 0 ? NO_OBJECTS : (await this.#store.readObjects(partition, legal)).objects;
    const whose = { source, ...(group === null ? {} : { group }) };
    return Array.from(outcomes, ([opId, outcome]) => outcomeOf(opId, whose, outcome, objects.get(outcome.id)));
  }
}

/** The outcome of an upload, and the partition in which its object is. Absent: the upload was refused before it had one. */
interface Answer {
  readonly outcome: Outcome;
  readonly partition?: PartitionKey;
}

function withoutObject(outcome: Outcome): Outcome {
  return 'current' in outcome ? { ...outcome, current: null } : outcome;
}

/** Whether the object was read for the device. Null says that there is none. */
function hasObject({ outcome, partition }: Answer): boolean {
  return partition !== undefined && 'current' in outcome;
}

/** The partitions in which outcomes of a device wait. */
type WaitingTarget = Pick<UploadTarget, 'source' | 'group' | 'client' | 'partition' | 'earlier'>;

const NO_OBJECTS: ReadonlyMap<string, StoredObject> = new Map();
/** A job whose source, user or device does not exist any more is dropped. */
const GONE: ReadonlySet<string> = new Set(['source_not_found', 'user_not_found', 'client_not_found']);
const REFUSED_BY_SOURCE: ReadonlySet<string> = new Set([
  'source_not_found',
  'invalid_name',
  'group_required',
  'not_a_member',
  'app_too_old',
]);
