import { type Adapter, AdapterRefusal, type QueryCall, type UploadCall } from '@tidemark/core';
import { type JsonValue, Refusal } from '@tidemark/protocol';
import type { Rng } from '@tidemark/testing/kit';
import type { ModelPartition } from '../model/partition.ts';
import { partitionText } from '../model/partition.ts';
import type { Ledger, ModelUpload } from './ledger.ts';
import { type BackendPolicy, type FaultRates, PARTITIONS, partitionOf } from './step.ts';

type Attributes = Readonly<Record<string, JsonValue>>;
type Operation = 'create' | 'update' | 'delete';

interface Held {
  readonly release: (isAnswered: boolean) => void;
}

type Answer = { readonly id: string } | { readonly refusal: 'conflict' | 'rejected' };

type Fault = 'none' | keyof FaultRates;

/**
 * The model of a backend that does what docs/backend/contract.md asks: it remembers its answers by op id, pushes objects in the
 * order in which they changed, and finishes a push before it changes the object again. It checks every call of the server.
 */
export class ModelBackend implements Adapter {
  readonly #ledger: Ledger;
  readonly #policy: BackendPolicy;
  readonly #rng: Rng;
  readonly #partitions = new Map<string, Map<string, Attributes>>();
  readonly #answers = new Map<string, Answer>();
  /** Objects that were deleted at least once; they may be there again. */
  readonly #deleted = new Set<string>();
  /** The newest upload that was performed, by device and object. */
  readonly #newest = new Map<string, number>();
  #held: Held[] = [];
  #pushing: Promise<void> = Promise.resolve();
  #ids = 0;
  faults: FaultRates = { down: 0, lost: 0, heldBefore: 0, heldAfter: 0 };
  /** Pushes an object to the server; null: the object was deleted. */
  push: (partition: ModelPartition, id: string, attributes: Attributes | null) => Promise<void> = async () => undefined;

  constructor(ledger: Ledger, policy: BackendPolicy, rng: Rng) {
    this.#ledger = ledger;
    this.#policy = policy;
    this.#rng = rng;
  }

  create = (call: UploadCall & { readonly attributes: JsonValue }) =>
    this.#handle(call, 'create', call.attributes as Attributes);
  update = async (call: UploadCall & { readonly attributes: JsonValue }) =>
    void (await this.#handle(call, 'update', call.attributes as Attributes));
  delete = async (call: UploadCall) => void (await this.#handle(call, 'delete', {}));

  query = async ({ source, user }: QueryCall) => {
    const fault = this.#drawFault();
    if (fault === 'down' || fault === 'lost') throw unavailable();
    if (fault === 'heldBefore' && !(await this.#hold())) throw unavailable();
    const objects = Object.fromEntries(this.objects({ source, user }));
    if (fault === 'heldAfter' && !(await this.#hold())) throw unavailable();
    return { objects };
  };

  get heldCount(): number {
    return this.#held.length;
  }

  objects(partition: ModelPartition): ReadonlyMap<string, Attributes> {
    return this.#partition(partition);
  }

  /** Whether the object was deleted at some time. It may be there again. */
  wasDeleted(partition: ModelPartition, id: string): boolean {
    return this.#deleted.has(objectKey(partition, id));
  }

  /** Returns the id of the object that a create made; null: the create was not performed. */
  madeBy({ client, upload }: ModelUpload): string | null {
    const answer = this.#answers.get(`${client}:${upload.op_id}`);
    return answer !== undefined && 'id' in answer ? answer.id : null;
  }

  /** Answers one of the held calls, or fails it. */
  release(pick: number, isAnswered: boolean): void {
    const held = this.#held[pick % Math.max(1, this.#held.length)];
    this.#held = this.#held.filter((other) => other !== held);
    held?.release(isAnswered);
  }

  /** Drops the held calls, because the server that made them is dead. */
  dropHeld(): void {
    this.#held = [];
  }

  /** Deletes the data of a user. */
  forget(user: string): void {
    for (const partition of PARTITIONS) if (partition.user === user) this.#partitions.delete(partitionText(partition));
  }

  /** Changes an object in the backend itself; null as attributes deletes it. */
  async edit(partition: ModelPartition, id: string, attributes: Attributes | null, isPushed: boolean): Promise<void> {
    await this.#pushing;
    const objects = this.#partition(partition);
    if (attributes === null) this.#delete(partition, id);
    else objects.set(id, { ...objects.get(id), ...attributes });
    if (isPushed) await this.#pushObject(partition, id);
  }

  async #handle(call: UploadCall, op: Operation, attributes: Attributes): Promise<string> {
    const made = this.#checkArrival(call, op, attributes);
    const fault = this.#drawFault();
    if (made === undefined || fault === 'down') throw unavailable();
    const isHeld = fault === 'heldBefore';
    if (isHeld && !(await this.#hold())) throw unavailable();
    // The backend also fails a call that was held until a newer one was performed or its user was replaced.
    if (isHeld && (this.#isLate(call, made) || !this.#isCurrent(made))) throw unavailable();
    // A running push carries the state before this call, and must not arrive after it.
    await this.#pushing;
    const partition = partitionOf(call.source, call.user);
    const isNew = !this.#answers.has(call.opId);
    const answer = this.#answers.get(call.opId) ?? this.#perform(call, { op, attributes, made, partition });
    this.#answers.set(call.opId, answer);
    if (isNew && 'id' in answer && this.#rng.chance(this.#policy.pushPercent))
      await this.#pushObject(partition, answer.id);
    if (fault === 'lost' || (fault === 'heldAfter' && !(await this.#hold()))) throw unavailable();
    if ('id' in answer) return answer.id;
    throw new AdapterRefusal(answer.refusal, 'the backend refuses');
  }

  /** Checks whether the server may make this call. */
  #checkArrival(
    { opId, id, user, source }: UploadCall,
    op: Operation,
    attributes: Attributes,
  ): ModelUpload | undefined {
    const made = this.#ledger.find(opId.slice(opId.indexOf(':') + 1));
    const call = () => `the backend was asked to ${op} ${source} ${id} for ${user}, upload ${opId}`;
    this.#ledger.demand(made !== undefined, 'UPSIM-3', () => `${call()}, which no device made`);
    if (made === undefined) return undefined;
    this.#ledger.demand(user === made.user && this.#isCurrent(made), 'UPSIM-3', () => `${call()}, of ${made.person}`);
    const { creation, reference } = made;
    const own = creation === null ? null : this.madeBy(creation);
    this.#ledger.demand(own === null || own === id, 'UPSIM-2', () => `${call()}, which is called ${own}`);
    const named = reference === null ? null : this.madeBy(reference);
    const isRight = named === null || attributes.parent === undefined || attributes.parent === named;
    this.#ledger.demand(isRight, 'UPSIM-2', () => `${call()}, naming ${attributes.parent} instead of ${named}`);
    return made;
  }

  #perform(
    call: UploadCall,
    {
      op,
      attributes,
      made,
      partition,
    }: { op: Operation; attributes: Attributes; made: ModelUpload; partition: ModelPartition },
  ): Answer {
    const objects = this.#partition(partition);
    if (made.isBad) return { refusal: 'rejected' };
    const id = op === 'create' ? this.#nameOf(call.id) : call.id;
    if (op === 'create' && objects.has(id)) return { refusal: 'conflict' };
    if (op === 'update' && !objects.has(id)) return { refusal: 'rejected' };
    this.#ledger.demand(!this.#isLate({ ...call, id }, made), 'UPSIM-2', () => {
      return `upload ${call.opId} (number ${made.number}) of ${partitionText(partition)} ${id} came after a newer one of its device`;
    });
    this.#newest.set(newestKey(made, id), made.number);
    if (op === 'delete') this.#delete(partition, id);
    else objects.set(id, { ...objects.get(id), ...attributes });
    return { id };
  }

  #delete(partition: ModelPartition, id: string): void {
    if (this.#partition(partition).delete(id)) this.#deleted.add(objectKey(partition, id));
  }

  #isLate({ opId, id }: UploadCall, made: ModelUpload): boolean {
    return !this.#answers.has(opId) && made.number < (this.#newest.get(newestKey(made, id)) ?? 0);
  }

  #isCurrent({ person, user }: ModelUpload): boolean {
    return person === this.#ledger.personOf(user);
  }

  #nameOf(id: string): string {
    const { ids } = this.#policy;
    // The backend uses natural keys as they are.
    const isKept = ids === 'keep' || id.startsWith('k') || (ids === 'mixed' && id.endsWith('0'));
    return isKept ? id : `o${++this.#ids}`;
  }

  /** Pushes the object after earlier pushes, in the state that it has then. */
  #pushObject(partition: ModelPartition, id: string): Promise<void> {
    this.#pushing = this.#pushing.then(() => this.push(partition, id, this.#partition(partition).get(id) ?? null));
    return this.#pushing;
  }

  /** Waits for `release`. Returns false when the call must fail. */
  #hold(): Promise<boolean> {
    return new Promise((release) => this.#held.push({ release }));
  }

  #drawFault(): Fault {
    const { down, lost, heldBefore, heldAfter } = this.faults;
    const roll = this.#rng.below(100);
    if (roll < down) return 'down';
    if (roll < down + lost) return 'lost';
    if (roll < down + lost + heldBefore) return 'heldBefore';
    return roll < down + lost + heldBefore + heldAfter ? 'heldAfter' : 'none';
  }

  #partition(partition: ModelPartition): Map<string, Attributes> {
    const known = this.#partitions.get(partitionText(partition)) ?? new Map<string, Attributes>();
    this.#partitions.set(partitionText(partition), known);
    return known;
  }
}

function objectKey(partition: ModelPartition, id: string): string {
  return JSON.stringify([partitionText(partition), id]);
}

function newestKey({ client, upload }: ModelUpload, id: string): string {
  return JSON.stringify([client, upload.source, id]);
}

function unavailable(): Refusal {
  return new Refusal('backend_unavailable', 'the backend does not answer');
}
