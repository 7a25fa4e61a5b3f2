import { type Limits, pointer, Refusal } from '@tidemark/protocol';
import type { ObjectsAnswer } from '../ports/adapter.ts';
import type { Pace } from '../ports/pace.ts';
import type { Guard, PartitionKey, PartitionState } from '../ports/store.ts';
import { WITHOUT_PAUSE } from '../primitives/work-budget.ts';
import { admitAnswer } from './admit-answer.ts';
import { admitName, quoted } from './admit-name.ts';
import { admitIds, admitManyObjects } from './admit-objects.ts';
import { type Admitted, type AdmittedObjects, asAdmitted, type ObjectTexts } from './admitted.ts';
import { customNameOf, DecidedOwner, type PartitionedSource } from './custom-partition.ts';
import { ParsedObjects } from './known-objects.ts';

/** What admission must know of the world. */
export interface Directory {
  sourceOf(name: string): Promise<PartitionedSource | null>;
  /** What tells this user from any other of the same login, before or after; null when there is none. */
  lifeOf(login: string): Promise<number | null>;
  /** Where the user's data of the source is. */
  partitionOf(source: PartitionedSource, login: string): Promise<PartitionKey>;
}

/** What is to happen to the objects of a partition. */
export type ObjectsChange =
  /** Attributes are merged into existing objects; missing objects are created. */
  | { readonly op: 'push_objects'; readonly objects: ObjectTexts }
  | { readonly op: 'push_deletes'; readonly ids: ReadonlySet<string> }
  /** Objects are replaced wholesale without a look at what was there. */
  | { readonly op: 'fast_insert'; readonly objects: ObjectTexts }
  /** Attributes that still hold the value in `remove` go, then those in `put` are set. */
  | { readonly op: 'fast_update'; readonly remove: ObjectTexts; readonly put: ObjectTexts }
  /** Attributes that still hold the given value go; an object without attributes is gone. */
  | { readonly op: 'fast_delete'; readonly remove: ObjectTexts }
  /** The objects become the whole document, except that nothing committed after `since` is undone. */
  | { readonly op: 'replace'; readonly objects: AdmittedObjects; readonly since: SeenState | null };

/** A state of a partition that was seen once, and whose it was then. */
export type SeenState = Pick<PartitionState, 'epoch' | 'head'> & { readonly life: number | null };

/** The partition a caller means, known to exist. */
export interface Target {
  readonly partition: PartitionKey;
  /** What must still be there when something is written. */
  readonly guards: readonly Guard[];
  /** Of the user whose it is; null when it is shared. */
  readonly life: number | null;
  /** On whose behalf; null when it is shared by all, or nobody was named. */
  readonly user: string | null;
}

export interface PartitionWrite {
  readonly partition: PartitionKey;
  readonly user: string | null;
  /** What must still exist when the write is committed. */
  readonly guards: readonly Guard[];
  readonly change: ObjectsChange;
}

/** A write as it arrives: nothing about it is known yet. */
export interface WriteCall {
  readonly source: unknown;
  readonly user_id?: unknown;
}

export type ObjectsCall = WriteCall & { readonly objects: unknown };
export type FastUpdateCall = WriteCall & { readonly delete_data: unknown; readonly data: unknown };
export type FastDeleteCall = WriteCall & { readonly data: unknown };
export type ReplaceCall = ObjectsCall & { readonly since: SeenState | null };
/** The answer to a query. `fence` must still be there when it is written. */
export type AnswerCall = WriteCall & {
  readonly answer: ObjectsAnswer;
  readonly since: SeenState;
  readonly fence?: Guard;
};

/** One admission for every kind of write: the call's objects first, since they can be judged without a look-up. */
export class WriteAdmission {
  readonly #directory: Directory;
  readonly #limits: Limits;
  readonly #pace: Pace;

  constructor(directory: Directory, limits: Limits, pace: Pace = WITHOUT_PAUSE) {
    this.#directory = directory;
    this.#limits = limits;
    this.#pace = pace;
  }

  async pushObjects(call: ObjectsCall): Promise<Admitted<PartitionWrite>> {
    return this.#admit(call, { op: 'push_objects', objects: await this.#objects(call.objects, 'objects') });
  }

  async pushDeletes(call: ObjectsCall): Promise<Admitted<PartitionWrite>> {
    return this.#admit(call, { op: 'push_deletes', ids: admitIds(call.objects, this.#limits, 'objects') });
  }

  async fastInsert(call: ObjectsCall): Promise<Admitted<PartitionWrite>> {
    return this.#admit(call, { op: 'fast_insert', objects: await this.#objects(call.objects, 'objects') });
  }

  async fastUpdate(call: FastUpdateCall): Promise<Admitted<PartitionWrite>> {
    const remove = await this.#objects(call.delete_data, 'delete_data');
    return this.#admit(call, { op: 'fast_update', remove, put: await this.#objects(call.data, 'data') });
  }

  async fastDelete(call: FastDeleteCall): Promise<Admitted<PartitionWrite>> {
    return this.#admit(call, { op: 'fast_delete', remove: await this.#objects(call.data, 'data') });
  }

  async replace(call: ReplaceCall): Promise<Admitted<PartitionWrite>> {
    const objects = new ParsedObjects(await this.#objects(call.objects, 'objects'));
    return this.#admit(call, { op: 'replace', objects, since: call.since });
  }

  async answer(call: AnswerCall): Promise<Admitted<PartitionWrite>> {
    const objects = await admitAnswer(call.answer, this.#limits, this.#pace);
    const write = await this.#admit(call, { op: 'replace', objects, since: call.since });
    return call.fence === undefined ? write : asAdmitted({ ...write, guards: [...write.guards, call.fence] });
  }

  async partition(call: WriteCall): Promise<Target> {
    const source = admitName('source', call.source, pointer('source'));
    const known = await this.#directory.sourceOf(source);
    if (known === null) throw new Refusal('source_not_found', `there is no source ${quoted(source)}`);
    const sourceGuard: Guard = { kind: 'source', key: [source] };
    const decided = call.user_id instanceof DecidedOwner ? { source, user: call.user_id.owner } : null;
    const named = decided === null ? call.user_id : decided.user;
    if (decided !== null && customNameOf(decided.user) !== null) {
      return { partition: decided, guards: [sourceGuard], life: null, user: null };
    }
    if (known.partition_type === 'app') {
      if (named !== undefined && named !== null) admitName('login', named, pointer('user_id'));
      return { partition: { source, user: null }, guards: [sourceGuard], life: null, user: null };
    }
    const user = admitName('login', named, pointer('user_id'));
    const life = await this.#directory.lifeOf(user);
    if (life === null) throw new Refusal('user_not_found', `there is no user ${quoted(user)}`);
    const partition = decided ?? (await this.#directory.partitionOf(known, user));
    const isOwn = customNameOf(partition.user) === null;
    // A custom partition outlives its users, so their lives say nothing about it.
    return { partition, guards: [sourceGuard, lifeGuard(user, life)], life: isOwn ? life : null, user };
  }

  #objects(objects: unknown, field: string): Promise<ObjectTexts> {
    return admitManyObjects(objects, this.#limits, field, this.#pace);
  }

  async #admit(call: WriteCall, change: ObjectsChange): Promise<Admitted<PartitionWrite>> {
    const { partition, guards, life, user } = await this.partition(call);
    const isOfAnother = change.op === 'replace' && change.since !== null && change.since.life !== life;
    if (isOfAnother) throw new Refusal('refresh_stale', 'the user has been deleted and made again since; query again');
    return asAdmitted({ partition, guards, change, user });
  }
}

/** The call that means this very partition, whoever is in it. */
export function callFor({ source, user }: PartitionKey): WriteCall {
  return { source, user_id: new DecidedOwner(user) };
}

/** Holds while this very user lives. */
export function lifeGuard(login: string, version: number): Guard {
  return { kind: 'setting', key: ['life', login], version };
}
