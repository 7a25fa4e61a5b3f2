import { type Limits, Refusal } from '@tidemark/protocol';
import type { ObjectsAnswer } from '../ports/adapter.ts';
import { groupOf, groupPartition, sharedPartition } from '../ports/owner.ts';
import type { Pace } from '../ports/pace.ts';
import type { Guard, PartitionKey, PartitionState } from '../ports/store.ts';
import { WITHOUT_PAUSE } from '../primitives/work-budget.ts';
import { admitAnswer } from './admit-answer.ts';
import { admitName, quoted } from './admit-name.ts';
import { admitIds, admitIdsBeside, admitManyObjects } from './admit-objects.ts';
import { type Admitted, asAdmitted, DocumentObjects, type ObjectTexts } from './admitted.ts';
import type { PartitionedSource } from './partitioned-source.ts';
import { type SchemaCheck, WriteCheck } from './schema-check.ts';

/** Looks up the sources and users that calls name. */
export interface Directory {
  readonly sources: {
    find(name: string): Promise<PartitionedSource | null>;
    /** Returns the partition that holds the user's data of the source. */
    partitionOf(source: PartitionedSource, login: string): Promise<PartitionKey>;
    /** What the schema of a source that `find` returned asks; null: nothing is checked. */
    checkOf(source: PartitionedSource): SchemaCheck | null;
  };
  readonly users: {
    /** Returns a number that no other user of this login ever had or will have; null when there is no such user. */
    generationOf(login: string): Promise<number | null>;
  };
}

/** A change to the objects of a partition. */
export type ObjectsChange =
  /**
   * Attributes are merged into existing objects; missing objects are created. `deletes` go in the same commit, and `isWhole`
   * removes the attributes that are not given.
   */
  | {
      readonly op: 'push_objects';
      readonly objects: ObjectTexts;
      readonly deletes?: ReadonlySet<string>;
      readonly isWhole?: boolean;
    }
  | { readonly op: 'push_deletes'; readonly ids: ReadonlySet<string> }
  /** Objects are replaced as a whole, without reading the stored ones. */
  | { readonly op: 'fast_insert'; readonly objects: ObjectTexts }
  /** Attributes that still hold the value in `remove` are removed, then those in `put` are set. */
  | { readonly op: 'fast_update'; readonly remove: ObjectTexts; readonly put: ObjectTexts }
  /** Attributes that still hold the given value are removed; an object left without attributes is deleted. */
  | { readonly op: 'fast_delete'; readonly remove: ObjectTexts }
  /** The objects become the whole document, except that nothing committed after `since` is undone. */
  | { readonly op: 'replace'; readonly objects: DocumentObjects; readonly since: SeenState | null };

/** A state of a partition that was read earlier, with the `generation` of its user at that time. */
export type SeenState = Pick<PartitionState, 'epoch' | 'head'> & { readonly generation: number | null };

/** The partition a call is about. Its source and user exist. */
export interface Target {
  readonly partition: PartitionKey;
  /** Entries that must still exist when the write is committed. */
  readonly guards: readonly Guard[];
  /** The generation of the user who owns the partition; null when users share it. */
  readonly generation: number | null;
  /** The user on whose behalf the call is made; null when all users share the partition, or the call names none. */
  readonly user: string | null;
  /** What the schema of the source asks; null: nothing is checked. */
  readonly schema: SchemaCheck | null;
}

export interface PartitionWrite {
  readonly partition: PartitionKey;
  readonly user: string | null;
  /** Entries that must still exist when the write is committed. */
  readonly guards: readonly Guard[];
  readonly change: ObjectsChange;
  /** The check of what the write makes of stored objects. Absent: nothing is checked. */
  readonly check?: WriteCheck;
}

/** Names the partition of a call: by source and user or group, or, in calls the server makes itself, by its key. */
export type WriteCall =
  | { readonly source: unknown; readonly user_id?: unknown; readonly group?: unknown; readonly partition?: never }
  | { readonly partition: PartitionKey; readonly source?: never; readonly user_id?: never; readonly group?: never };

export type ObjectsCall = WriteCall & { readonly objects: unknown };
export type PushCall = ObjectsCall & { readonly deletes?: unknown; readonly whole?: boolean };
export type FastUpdateCall = WriteCall & { readonly delete_data: unknown; readonly data: unknown };
export type FastDeleteCall = WriteCall & { readonly data: unknown };
export type ReplaceCall = ObjectsCall & { readonly since: SeenState | null };
/** The answer of a backend to a query. The entry `fence` must still exist when the answer is written. */
export type AnswerCall = WriteCall & {
  readonly answer: ObjectsAnswer;
  readonly since: SeenState;
  readonly fence?: Guard;
};

/** Objects that go from one group of a source to another. */
export interface MoveCall {
  readonly source: unknown;
  readonly from: unknown;
  readonly to: unknown;
  readonly objects: unknown;
}

export interface MoveWrite {
  readonly from: PartitionKey;
  readonly to: PartitionKey;
  readonly guards: readonly Guard[];
  readonly ids: ReadonlySet<string>;
}

/** Admits writes of every kind. It checks the objects first, because that needs no look-up. */
export class WriteAdmission {
  readonly #directory: Directory;
  readonly #limits: Limits;
  readonly #pace: Pace;

  constructor(directory: Directory, limits: Limits, pace: Pace = WITHOUT_PAUSE) {
    this.#directory = directory;
    this.#limits = limits;
    this.#pace = pace;
  }

  async pushObjects(call: PushCall): Promise<Admitted<PartitionWrite>> {
    const objects = await this.#objects(call.objects, 'objects');
    const deletes = call.deletes === undefined ? null : admitIdsBeside(objects, call.deletes, this.#limits);
    const whole = call.whole === true ? { isWhole: true } : {};
    const change = { op: 'push_objects', objects, ...(deletes === null ? {} : { deletes }), ...whole } as const;
    return this.#admit(call, change, { set: call.objects, isWhole: call.whole === true });
  }

  async pushDeletes(call: ObjectsCall): Promise<Admitted<PartitionWrite>> {
    return this.#admit(call, { op: 'push_deletes', ids: admitIds(call.objects, this.#limits, 'objects') });
  }

  async fastInsert(call: ObjectsCall): Promise<Admitted<PartitionWrite>> {
    const objects = await this.#objects(call.objects, 'objects');
    return this.#admit(call, { op: 'fast_insert', objects }, { set: call.objects, isWhole: true });
  }

  async fastUpdate(call: FastUpdateCall): Promise<Admitted<PartitionWrite>> {
    const remove = await this.#objects(call.delete_data, 'delete_data');
    const put = await this.#objects(call.data, 'data');
    const given = { set: call.data, field: 'data', taken: call.delete_data };
    return this.#admit(call, { op: 'fast_update', remove, put }, given);
  }

  async fastDelete(call: FastDeleteCall): Promise<Admitted<PartitionWrite>> {
    const remove = await this.#objects(call.data, 'data');
    return this.#admit(call, { op: 'fast_delete', remove }, { field: 'data', taken: call.data });
  }

  async replace(call: ReplaceCall): Promise<Admitted<PartitionWrite>> {
    const objects = DocumentObjects.parsed(await this.#objects(call.objects, 'objects'));
    const given = { set: call.objects, isWhole: true };
    return this.#admit(call, { op: 'replace', objects, since: call.since }, given);
  }

  async answer(call: AnswerCall): Promise<Admitted<PartitionWrite>> {
    const { schema } = await this.partition(call);
    const check = schema === null ? null : new WriteCheck(schema);
    const objects = await admitAnswer(call.answer, this.#limits, this.#pace, check);
    const write = await this.#admit(call, { op: 'replace', objects, since: call.since });
    const guards = call.fence === undefined ? write.guards : [...write.guards, call.fence];
    return asAdmitted({ ...write, guards, ...(check === null ? {} : { check }) });
  }

  async move({ source, from, to, objects }: MoveCall): Promise<Admitted<MoveWrite>> {
    const ids = admitIds(objects, this.#limits, 'objects');
    const [groupFrom, groupTo] = [admitName('group', from, '/from'), admitName('group', to, '/to')];
    if (groupFrom === groupTo) {
      const detail = 'must be another group than from';
      throw new Refusal('invalid_value', `to ${detail}`, [{ pointer: '/to', detail }]);
    }
    const target = await this.partition({ source, group: groupFrom });
    const { guards, partition } = target;
    return asAdmitted({ from: partition, to: groupPartition(partition.source, groupTo), guards, ids });
  }

  async partition(call: WriteCall): Promise<Target> {
    const owner = call.partition?.owner;
    const name = admitName('source', call.partition?.source ?? call.source, '/source');
    const source = await this.#directory.sources.find(name);
    if (source === null) throw new Refusal('source_not_found', `there is no source ${quoted(name)}`);
    const sourceGuard: Guard = { kind: 'source', key: [name] };
    const schema = this.#directory.sources.checkOf(source);
    const shared = { guards: [sourceGuard], generation: null, user: null, schema };
    if (owner?.kind === 'group') return { ...shared, partition: { source: name, owner } };
    if (source.partition_type === 'group') {
      return { ...shared, partition: groupPartition(name, admitGroup(name, call.group)) };
    }
    refuseGroup(name, call.group);
    if (source.partition_type === 'app') {
      if (call.user_id !== undefined && call.user_id !== null) admitName('login', call.user_id, '/user_id');
      return { ...shared, partition: sharedPartition(name) };
    }
    const user = admitName('login', owner?.kind === 'user' ? owner.login : call.user_id, '/user_id');
    const generation = await this.#directory.users.generationOf(user);
    if (generation === null) throw new Refusal('user_not_found', `there is no user ${quoted(user)}`);
    const partition = call.partition ?? (await this.#directory.sources.partitionOf(source, user));
    // A group outlives its members, so its data does not depend on the generation of any of them.
    return {
      partition,
      guards: [sourceGuard, generationGuard(user, generation)],
      generation: groupOf(partition) === null ? generation : null,
      user,
      schema,
    };
  }

  #objects(objects: unknown, field: string): Promise<ObjectTexts> {
    return admitManyObjects(objects, this.#limits, field, this.#pace);
  }

  async #admit(call: WriteCall, change: ObjectsChange, given: GivenObjects = {}): Promise<Admitted<PartitionWrite>> {
    const { partition, guards, generation, user, schema } = await this.partition(call);
    const isOfAnotherUser = change.op === 'replace' && change.since !== null && change.since.generation !== generation;
    if (isOfAnotherUser)
      throw new Refusal('refresh_stale', 'the user has been deleted and made again since; query again');
    const check = schema === null ? null : await this.#checkGiven(schema, given);
    return asAdmitted({ partition, guards, change, user, ...(check === null ? {} : { check }) });
  }

  async #checkGiven(
    schema: SchemaCheck,
    { set, field = 'objects', isWhole = false, taken }: GivenObjects,
  ): Promise<WriteCheck> {
    const check = new WriteCheck(schema);
    if (taken !== undefined) check.noteTaken(taken, field);
    if (set !== undefined) await check.checkGiven(set, { field, isWhole, pace: this.#pace });
    return check;
  }
}

/** The objects of a call that was admitted, as they were given. */
interface GivenObjects {
  /** Attributes that the call sets. */
  readonly set?: unknown;
  /** The name of `set` in the call. */
  readonly field?: string;
  /** True: the objects have no other attributes then. */
  readonly isWhole?: boolean;
  /** Attributes that the call may remove. */
  readonly taken?: unknown;
}

/** The group that a call about a source of groups must name. */
export function admitGroup(source: string, group: unknown): string {
  if (group !== undefined && group !== null) return admitName('group', group, '/group');
  const detail = `the data of ${quoted(source)} belongs to groups: name one`;
  throw new Refusal('group_required', detail, [{ pointer: '/group', detail: 'is needed' }]);
}

/** Data of other sources belongs to no group, so a call that names one means something else. */
function refuseGroup(source: string, group: unknown): void {
  if (group === undefined || group === null) return;
  const detail = `the data of ${quoted(source)} does not belong to groups`;
  throw new Refusal('invalid_request', detail, [{ pointer: '/group', detail }]);
}

/** A guard that fails once the user is deleted, even if a new user gets the same login. */
export function generationGuard(login: string, version: number): Guard {
  return { kind: 'setting', key: ['life', login], version };
}
