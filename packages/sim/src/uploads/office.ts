import { type Adapter, AdapterRefusal, type QueryCall, type UploadCall } from '@tidemark/core';
import { type JsonValue, Refusal } from '@tidemark/protocol';
import type { Dice } from '@tidemark/testing/kit';
import type { Ledger, ModelUpload } from './ledger.ts';
import { type BackendPolicy, type Space, spaceKey, spaceOf, type Weather } from './step.ts';

type Attributes = Readonly<Record<string, JsonValue>>;
type Operation = 'create' | 'update' | 'delete';

interface Held {
  readonly release: (isAnswered: boolean) => void;
}

type Answer = { readonly id: string } | { readonly refusal: 'conflict' | 'rejected' };

type Fate = 'prompt' | keyof Weather;

/**
 * A backend that does what docs/backend.md asks for: it remembers op ids with its answers, pushes objects in the order in
 * which they changed, and ends a push before it changes the object again. It checks whatever the server asks of it.
 */
export class Office implements Adapter {
  readonly #ledger: Ledger;
  readonly #policy: BackendPolicy;
  readonly #dice: Dice;
  readonly #spaces = new Map<string, Map<string, Attributes>>();
  readonly #answers = new Map<string, Answer>();
  /** The newest upload that was done, by device and object. */
  readonly #newest = new Map<string, number>();
  #held: Held[] = [];
  #pushing: Promise<void> = Promise.resolve();
  #ids = 0;
  weather: Weather = { down: 0, lost: 0, heldBefore: 0, heldAfter: 0 };
  /** How objects are pushed; null: the object is gone. */
  push: (space: Space, id: string, attributes: Attributes | null) => Promise<void> = async () => undefined;

  constructor(ledger: Ledger, policy: BackendPolicy, dice: Dice) {
    this.#ledger = ledger;
    this.#policy = policy;
    this.#dice = dice;
  }

  create = (call: UploadCall & { readonly attributes: JsonValue }) =>
    this.#perform(call, 'create', call.attributes as Attributes);
  update = async (call: UploadCall & { readonly attributes: JsonValue }) =>
    void (await this.#perform(call, 'update', call.attributes as Attributes));
  delete = async (call: UploadCall) => void (await this.#perform(call, 'delete', {}));

  query = async ({ source, user }: QueryCall) => {
    const fate = this.#drawFate();
    if (fate === 'down' || fate === 'lost') throw trouble();
    if (fate === 'heldBefore' && !(await this.#hold())) throw trouble();
    const objects = Object.fromEntries(this.objects({ source, user }));
    if (fate === 'heldAfter' && !(await this.#hold())) throw trouble();
    return { objects };
  };

  get heldCount(): number {
    return this.#held.length;
  }

  objects(space: Space): ReadonlyMap<string, Attributes> {
    return this.#space(space);
  }

  /** The id of the object that a create has made; null: it has not been done. */
  madeBy({ client, upload }: ModelUpload): string | null {
    const answer = this.#answers.get(`${client}:${upload.op_id}`);
    return answer !== undefined && 'id' in answer ? answer.id : null;
  }

  /** Answers one of the calls that are held, or breaks it off. */
  release(pick: number, isAnswered: boolean): void {
    const held = this.#held[pick % Math.max(1, this.#held.length)];
    this.#held = this.#held.filter((other) => other !== held);
    held?.release(isAnswered);
  }

  /** Nobody waits for the held calls any more. Those that were not done yet never are. */
  dropHeld(): void {
    this.#held = [];
  }

  /** The data of a person who left. */
  forget(user: string): void {
    for (const key of this.#spaces.keys()) if (key.endsWith(`/${user}`)) this.#spaces.delete(key);
  }

  /** Somebody in the office makes, changes or deletes an object; null as attributes: deletes. */
  async edit(space: Space, id: string, attributes: Attributes | null, isPushed: boolean): Promise<void> {
    await this.#pushing;
    const objects = this.#space(space);
    if (attributes === null) objects.delete(id);
    else objects.set(id, { ...objects.get(id), ...attributes });
    if (isPushed) await this.#pushObject(space, id);
  }

  async #perform(call: UploadCall, op: Operation, attributes: Attributes): Promise<string> {
    const made = this.#checkArrival(call, op, attributes);
    const fate = this.#drawFate();
    if (made === undefined || fate === 'down') throw trouble();
    const isHeldBack = fate === 'heldBefore';
    if (isHeldBack && !(await this.#hold())) throw trouble();
    // A call that was held for so long that it makes no sense any more is given up by the office, too.
    if (isHeldBack && (this.#isLate(call, made) || !this.#isCurrent(made))) throw trouble();
    // A push under way carries what was before, and must not arrive after what is done now.
    await this.#pushing;
    const space = spaceOf(call.source, call.user);
    const isNew = !this.#answers.has(call.opId);
    const answer = this.#answers.get(call.opId) ?? this.#do(call, { op, attributes, made, space });
    this.#answers.set(call.opId, answer);
    if (isNew && 'id' in answer && this.#dice.chance(this.#policy.pushPercent))
      await this.#pushObject(space, answer.id);
    if (fate === 'lost' || (fate === 'heldAfter' && !(await this.#hold()))) throw trouble();
    if ('id' in answer) return answer.id;
    throw new AdapterRefusal(answer.refusal, 'the office says no');
  }

  /** What is wrong with being asked this at all. */
  #checkArrival(
    { opId, id, user, source }: UploadCall,
    op: Operation,
    attributes: Attributes,
  ): ModelUpload | undefined {
    const made = this.#ledger.find(opId.slice(opId.indexOf(':') + 1));
    const told = () => `the backend was asked to ${op} ${source} ${id} for ${user}, upload ${opId}`;
    this.#ledger.demand(made !== undefined, 'UPSIM-3', () => `${told()}, which nobody made`);
    if (made === undefined) return undefined;
    this.#ledger.demand(user === made.user && this.#isCurrent(made), 'UPSIM-3', () => `${told()}, of ${made.person}`);
    const { creation, reference } = made;
    const own = creation === null ? null : this.madeBy(creation);
    this.#ledger.demand(own === null || own === id, 'UPSIM-2', () => `${told()}, which is called ${own}`);
    const named = reference === null ? null : this.madeBy(reference);
    const isRight = named === null || attributes.parent === undefined || attributes.parent === named;
    this.#ledger.demand(isRight, 'UPSIM-2', () => `${told()}, naming ${attributes.parent} instead of ${named}`);
    return made;
  }

  #do(
    call: UploadCall,
    { op, attributes, made, space }: { op: Operation; attributes: Attributes; made: ModelUpload; space: Space },
  ): Answer {
    const objects = this.#space(space);
    if (made.isBad) return { refusal: 'rejected' };
    const id = op === 'create' ? this.#nameOf(call.id) : call.id;
    if (op === 'create' && objects.has(id)) return { refusal: 'conflict' };
    if (op === 'update' && !objects.has(id)) return { refusal: 'rejected' };
    this.#ledger.demand(!this.#isLate({ ...call, id }, made), 'UPSIM-2', () => {
      return `upload ${call.opId} (number ${made.number}) of ${spaceKey(space)} ${id} came after a newer one of its device`;
    });
    this.#newest.set(newestKey(made, id), made.number);
    if (op === 'delete') objects.delete(id);
    else objects.set(id, { ...objects.get(id), ...attributes });
    return { id };
  }

  #isLate({ opId, id }: UploadCall, made: ModelUpload): boolean {
    return !this.#answers.has(opId) && made.number < (this.#newest.get(newestKey(made, id)) ?? 0);
  }

  #isCurrent({ person, user }: ModelUpload): boolean {
    return person === this.#ledger.personOf(user);
  }

  #nameOf(id: string): string {
    const { ids } = this.#policy;
    // Natural keys are what things are called in the office, too.
    const isKept = ids === 'keep' || id.startsWith('k') || (ids === 'mixed' && id.endsWith('0'));
    return isKept ? id : `o${++this.#ids}`;
  }

  /** Pushes the object as it is when its turn has come. */
  #pushObject(space: Space, id: string): Promise<void> {
    this.#pushing = this.#pushing.then(() => this.push(space, id, this.#space(space).get(id) ?? null));
    return this.#pushing;
  }

  /** False: the call breaks off. */
  #hold(): Promise<boolean> {
    return new Promise((release) => this.#held.push({ release }));
  }

  #drawFate(): Fate {
    const { down, lost, heldBefore, heldAfter } = this.weather;
    const roll = this.#dice.below(100);
    if (roll < down) return 'down';
    if (roll < down + lost) return 'lost';
    if (roll < down + lost + heldBefore) return 'heldBefore';
    return roll < down + lost + heldBefore + heldAfter ? 'heldAfter' : 'prompt';
  }

  #space(space: Space): Map<string, Attributes> {
    const known = this.#spaces.get(spaceKey(space)) ?? new Map<string, Attributes>();
    this.#spaces.set(spaceKey(space), known);
    return known;
  }
}

function newestKey({ client, upload }: ModelUpload, id: string): string {
  return JSON.stringify([client, upload.source, id]);
}

function trouble(): Refusal {
  return new Refusal('backend_unavailable', 'nobody answers');
}
