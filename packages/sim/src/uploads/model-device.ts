import type { Outcome, Upload } from '@tidemark/protocol';
import type { Ledger, ModelUpload } from './ledger.ts';
import type { Office } from './office.ts';
import { type Edit, type Space, sourceAt, spaceOf } from './step.ts';

/** An upload whose job was given up: the device is told so, and something may come of it all the same. */
const GIVEN_UP: ReadonlySet<string> = new Set(['backend_unavailable', 'backend_error']);

/** An upload and the object it is about. */
export interface AboutObject {
  readonly space: Space;
  readonly id: string;
  readonly upload: ModelUpload;
}

/** An object that the device may change: made by itself, or pulled. */
interface Candidate {
  readonly id: string;
  readonly creation: ModelUpload | null;
}

/**
 * A device of one person. It keeps uploads until they are answered, sends them in order, and compares what it is told
 * with what the office has done.
 */
export class ModelDevice {
  readonly user: string;
  readonly client: string;
  readonly person: string;
  /** Its number, which is also the name of the attribute that only this device writes. */
  readonly index: number;
  readonly #ledger: Ledger;
  readonly #office: Office;
  /** Not answered yet, in order. */
  #outbox: ModelUpload[] = [];
  readonly #uploads: ModelUpload[] = [];
  readonly #told = new Map<string, Outcome>();
  readonly #unacknowledged = new Map<string, string>();
  /** Ids it has pulled, by source. */
  readonly #replica = new Map<string, ReadonlySet<string>>();
  /** Uploads rejected because of the object they are about, and uploads told as applied, to be compared with md. */
  readonly dependent: AboutObject[] = [];
  readonly applied: AboutObject[] = [];
  /** Which push is waited for; answers to earlier ones are not. */
  pushes = 0;

  constructor(spec: { user: string; client: string; index: number }, ledger: Ledger, office: Office) {
    this.user = spec.user;
    this.client = spec.client;
    this.index = spec.index;
    this.#ledger = ledger;
    this.#office = office;
    this.person = ledger.personOf(spec.user);
  }

  get outbox(): readonly Upload[] {
    return this.#outbox.map(({ upload }) => upload);
  }

  /** Uploads nobody knows the end of yet. */
  get open(): readonly ModelUpload[] {
    return this.#uploads.filter(({ upload }) => !this.#told.has(upload.op_id));
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
    const user = spaceOf(source, this.user).user;
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

  /** The device has pulled all of a source. */
  holds(source: string, ids: ReadonlySet<string>): void {
    this.#replica.set(source, ids);
  }

  /** What became of an upload, by push or pull. */
  tell(outcome: Outcome): void {
    const { op_id: opId, status, source } = outcome;
    const made = this.#ledger.find(opId);
    const isOwn = made?.person === this.person && made.client === this.client;
    this.#ledger.demand(
      isOwn,
      'UPSIM-3',
      () => `${this.client} of ${this.person} was told of ${opId} of ${made?.person}`,
    );
    if (made === undefined || !isOwn) return;
    this.#outbox = this.#outbox.filter(({ upload }) => upload.op_id !== opId);
    if (status === 'queued') return;
    this.#unacknowledged.set(opId, source);
    const before = this.#told.get(opId);
    this.#told.set(opId, outcome);
    const isSame = before === undefined || isGivenUp(before) || before.status === status;
    this.#ledger.demand(isSame, 'UPSIM-1', () => `${opId} was told as ${before?.status}, then as ${status}`);
    this.#compare(made, outcome);
  }

  #compare(made: ModelUpload, outcome: Outcome): void {
    const { status, id, error } = outcome;
    const done = this.#office.madeBy(made);
    const { op, op_id: opId } = made.upload;
    const space = spaceOf(made.upload.source, this.user);
    if (status === 'applied') {
      this.#ledger.demand(done === id, 'UPSIM-1', () => `${opId} was told as applied to ${id}, the office did ${done}`);
      if (op !== 'delete') this.applied.push({ space, id, upload: made });
      return;
    }
    const isGone =
      op === 'update' && error?.code === 'object_not_found' && !this.#office.objects(space).has(done ?? '');
    const isRight = done === null || isGivenUp(outcome) || isGone;
    this.#ledger.demand(isRight, 'UPSIM-1', () => `${opId} was told as ${status} (${error?.code}), the office did it`);
    if (error?.code === 'dependency_rejected' && made.reference === null) {
      this.dependent.push({ space, id: made.upload.id, upload: made });
    }
  }

  /**
   * An object to change, under one of the names this device may call it by. A device may pull its own object before it was
   * told what that is called; nobody could tell then that both are one, so it does not touch the pulled one.
   */
  #candidate(source: string, pick: number, usesOldId: boolean): Candidate | null {
    const own = this.#uploads.filter(({ upload }) => upload.op === 'create' && upload.source === source);
    const creations = own.flatMap((made): Candidate[] => {
      const told = this.#told.get(made.upload.op_id);
      if (told !== undefined && told.status !== 'applied') return [];
      return [{ id: usesOldId || told === undefined ? made.upload.id : told.id, creation: made }];
    });
    const taken = new Set(creations.map(({ creation }) => creation?.upload.id));
    const renamed = new Set(own.map((made) => this.#office.madeBy(made)));
    const pulled = [...(this.#replica.get(source) ?? [])].filter((id) => !taken.has(id) && !renamed.has(id));
    const all = [...creations, ...pulled.map((id): Candidate => ({ id, creation: null }))];
    return all[pick % Math.max(1, all.length)] ?? null;
  }

  /** One of its own creates, to refer to. */
  #made(source: string, pick: number): ModelUpload | null {
    const own = this.#uploads.filter(({ upload }) => upload.op === 'create' && upload.source === source);
    return own[pick % Math.max(1, own.length)] ?? null;
  }
}

function isGivenUp({ error }: Outcome): boolean {
  return error !== undefined && GIVEN_UP.has(error.code);
}
