import type { Outcome, Upload } from '@tidemark/protocol';
import type { ModelPartition } from '../model/partition.ts';
import type { Ledger, ModelUpload } from './ledger.ts';
import type { ModelBackend } from './model-backend.ts';
import { type Edit, partitionOf, sourceAt } from './step.ts';

/** Errors of uploads whose job was abandoned. The backend may have performed such an upload nevertheless. */
const ABANDONED: ReadonlySet<string> = new Set(['backend_unavailable', 'backend_error']);

/** An upload and the object it is about. */
export interface AboutObject {
  readonly partition: ModelPartition;
  readonly id: string;
  readonly upload: ModelUpload;
}

/** An object that the device may change: made by itself, or pulled. */
interface Candidate {
  readonly id: string;
  readonly creation: ModelUpload | null;
}

/**
 * The model of a device that uploads. It keeps uploads until they are answered, sends them in order, and compares their
 * outcomes with what the backend did.
 */
export class UploadingDevice {
  readonly user: string;
  readonly client: string;
  readonly person: string;
  /** The number of the device, which is also in the name of the attribute that only this device writes. */
  readonly index: number;
  readonly #ledger: Ledger;
  readonly #backend: ModelBackend;
  /** Not answered yet, in order. */
  #outbox: ModelUpload[] = [];
  readonly #uploads: ModelUpload[] = [];
  readonly #outcomes = new Map<string, Outcome>();
  readonly #unacknowledged = new Map<string, string>();
  /** Ids it has pulled, by source. */
  readonly #replica = new Map<string, ReadonlySet<string>>();
  /** Uploads rejected because their object is missing, and applied uploads, to be compared with md. */
  readonly dependent: AboutObject[] = [];
  readonly applied: AboutObject[] = [];
  /** The number of the latest push; answers to earlier ones are ignored. */
  pushes = 0;

  constructor(spec: { user: string; client: string; index: number }, ledger: Ledger, backend: ModelBackend) {
    this.user = spec.user;
    this.client = spec.client;
    this.index = spec.index;
    this.#ledger = ledger;
    this.#backend = backend;
    this.person = ledger.personOf(spec.user);
  }

  get outbox(): readonly Upload[] {
    return this.#outbox.map(({ upload }) => upload);
  }

  /** Uploads without an outcome. */
  get open(): readonly ModelUpload[] {
    return this.#uploads.filter(({ upload }) => !this.#outcomes.has(upload.op_id));
  }

  acknowledged(): ReadonlyMap<string, readonly string[]> {
    const bySource = new Map<string, string[]>();
    for (const [opId, source] of this.#unacknowledged) {
      bySource.set(source, [...(bySource.get(source) ?? []), opId]);
    }
    this.#unacknowledged.clear();
    return bySource;
  }

  edit({ op, source: picked, pick, usesOldId, key, reference, isBad }: Edit): void {
    const { name: source, refersTo } = sourceAt(picked);
    const number = this.#ledger.nextNumber();
    const candidate = op === 'create' ? null : this.#candidate(source, pick, usesOldId);
    if (op !== 'create' && candidate === null) return;
    const named = op === 'delete' || refersTo === null || reference === null ? null : this.#made(refersTo, reference);
    const id = candidate?.id ?? (key === null ? `t${this.index}-${number}` : `k${key}`);
    const user = partitionOf(source, this.user).user;
    const attributes = {
      [`d${this.index}`]: this.#ledger.value(user, number),
      ...(named === null ? {} : { parent: named.upload.id }),
    };
    const upload: Upload = { op_id: `u${number}`, source, op, id, ...(op === 'delete' ? {} : { attributes }) };
    const creation = candidate?.creation ?? null;
    const made: ModelUpload = {
      ...{ upload, number, creation, reference: named, isBad: isBad && op !== 'delete', step: this.#ledger.step },
      ...{ person: this.person, user: this.user, client: this.client },
    };
    this.#ledger.add(made);
    this.#uploads.push(made);
    this.#outbox.push(made);
  }

  /** Records the ids that a pull of the whole source returned. */
  holds(source: string, ids: ReadonlySet<string>): void {
    this.#replica.set(source, ids);
  }

  /** Takes the outcome of an upload, from a push or a pull. */
  receiveOutcome(outcome: Outcome): void {
    const { op_id: opId, status, source } = outcome;
    const made = this.#ledger.find(opId);
    const isOwn = made?.person === this.person && made.client === this.client;
    this.#ledger.demand(
      isOwn,
      'UPSIM-3',
      () => `${this.client} of ${this.person} got the outcome of ${opId} of ${made?.person}`,
    );
    if (made === undefined || !isOwn) return;
    this.#outbox = this.#outbox.filter(({ upload }) => upload.op_id !== opId);
    if (status === 'queued') return;
    this.#unacknowledged.set(opId, source);
    const before = this.#outcomes.get(opId);
    this.#outcomes.set(opId, outcome);
    const isSame = before === undefined || isAbandoned(before) || before.status === status;
    this.#ledger.demand(isSame, 'UPSIM-1', () => `the outcome of ${opId} was ${before?.status}, then ${status}`);
    this.#compare(made, outcome);
  }

  #compare(made: ModelUpload, outcome: Outcome): void {
    const { status, id, error } = outcome;
    const done = this.#backend.madeBy(made);
    const { op, op_id: opId } = made.upload;
    const partition = partitionOf(made.upload.source, this.user);
    if (status === 'applied') {
      this.#ledger.demand(
        done === id,
        'UPSIM-1',
        () => `${opId} was reported as applied to ${id}, the backend applied it to ${done}`,
      );
      if (op !== 'delete') this.applied.push({ partition, id, upload: made });
      return;
    }
    // The backend has applied the update, and somebody has deleted the object before the server could commit it.
    const isGone =
      op === 'update' && error?.code === 'object_not_found' && this.#backend.wasDeleted(partition, done ?? '');
    const isRight = done === null || isAbandoned(outcome) || isGone;
    this.#ledger.demand(
      isRight,
      'UPSIM-1',
      () => `${opId} was reported as ${status} (${error?.code}), but the backend applied it`,
    );
    if (error?.code === 'dependency_rejected' && made.reference === null) {
      this.dependent.push({ partition, id: made.upload.id, upload: made });
    }
  }

  /**
   * Returns an object to change, under one of the ids that this device may use. A device may pull its own object before it
   * gets the outcome with the new id; it does not touch that one, because it cannot know yet that both are the same.
   */
  #candidate(source: string, pick: number, usesOldId: boolean): Candidate | null {
    const own = this.#uploads.filter(({ upload }) => upload.op === 'create' && upload.source === source);
    const creations = own.flatMap((made): Candidate[] => {
      const outcome = this.#outcomes.get(made.upload.op_id);
      if (outcome !== undefined && outcome.status !== 'applied') return [];
      return [{ id: usesOldId || outcome === undefined ? made.upload.id : outcome.id, creation: made }];
    });
    const taken = new Set(creations.map(({ creation }) => creation?.upload.id));
    const renamed = new Set(own.map((made) => this.#backend.madeBy(made)));
    const pulled = [...(this.#replica.get(source) ?? [])].filter((id) => !taken.has(id) && !renamed.has(id));
    const all = [...creations, ...pulled.map((id): Candidate => ({ id, creation: null }))];
    return all[pick % Math.max(1, all.length)] ?? null;
  }

  /** Returns one of the device's own creates, to refer to. */
  #made(source: string, pick: number): ModelUpload | null {
    const own = this.#uploads.filter(({ upload }) => upload.op === 'create' && upload.source === source);
    return own[pick % Math.max(1, own.length)] ?? null;
  }
}

function isAbandoned({ error }: Outcome): boolean {
  return error !== undefined && ABANDONED.has(error.code);
}
