import { type AttributesOfSource, type SourceTypes, sameJson, type Untyped, type UploadOp } from '@tidemark/protocol';
import { ClientError } from '../client-error.ts';
import { UPLOADS_WAITING_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import { admitBySchema, type Schemas } from '../schemas/standard-schema.ts';
import { groupsHeld, groupsWith, isGrouped } from '../state/group-rows.ts';
import type { Reader, Transaction } from '../state/local-state.ts';
import { requireWriter, type User, writerOf } from '../state/owner.ts';
import type { Attributes, NewUpload, SourceRow, UploadRow } from '../state/rows.ts';
import { admitAttributes, admitName, admitRemoved } from '../uploads/admit-attributes.ts';
import { referencesOf, withRealReferences } from '../uploads/links.ts';
import { changed } from '../uploads/merge-upload.ts';
import { randomId } from '../uploads/random-id.ts';
import type { Replica } from './replica.ts';
import type { WriteQueue } from './write-queue.ts';

export interface CreateOptions {
  /** The id of the new object. Absent: a random one. */
  readonly id?: string;
  /** The group of the new object, if the data of the source belongs to groups. Absent: the only one of the device. */
  readonly group?: string;
}

interface DraftParts {
  readonly platform: Platform;
  readonly replica: Replica;
  readonly writes: WriteQueue;
}

/** Whether the store must have an object for a change to be right. */
interface Assumption {
  readonly source: string;
  readonly id: string;
  readonly exists: boolean;
}

type UploadChange = Pick<UploadRow, 'attributes' | 'removed' | 'group'>;

/** A source that a change is made in; `row` is undefined if the device has not read the list of sources yet. */
interface Target {
  readonly source: string;
  readonly row: SourceRow | undefined;
  readonly hasGroups: boolean;
}

/** The attributes of a new object; any object where the sources have no types. */
type NewAttributes<S extends SourceTypes, N extends keyof S & string> = string extends keyof S
  ? object
  : AttributesOfSource<S, N>;

/** Attributes to change, or to remove with the value undefined. */
type ChangedAttributes<S extends SourceTypes, N extends keyof S & string> = string extends keyof S
  ? object
  : { readonly [K in keyof AttributesOfSource<S, N>]?: AttributesOfSource<S, N>[K] | undefined };

/**
 * Changes that belong together: the app sees all of them or none, and they are uploaded in order. A refused call
 * refuses the whole draft.
 */
export class Draft<S extends SourceTypes = Untyped> {
  readonly #parts: DraftParts;
  readonly #schemas: Schemas;
  readonly #writer: User;
  /** Objects as changed by this draft, by source and id; null: deleted. */
  readonly #touched = new Map<string, Map<string, Attributes | null>>();
  readonly #uploads: NewUpload[] = [];
  /** What the changes rely on and the device could not see, because not all objects were loaded. */
  readonly #assumed: Assumption[] = [];
  #isUncertain = false;
  /** Objects on the disk that it needs and that are not loaded, by source. */
  readonly #missing = new Map<string, Set<string>>();

  constructor(parts: DraftParts, schemas: Schemas) {
    this.#parts = parts;
    this.#schemas = schemas;
    this.#writer = writerOf(parts.replica.reader);
  }

  get uploads(): readonly NewUpload[] {
    return this.#uploads;
  }

  /** True if a call needed an object, or its present attributes, and not all is loaded yet. Then the draft must be made again. */
  get isUncertain(): boolean {
    return this.#isUncertain;
  }

  /** Objects that a call needed and that are not loaded, by source. If there are any, the draft must be made again. */
  get missing(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#missing;
  }

  /**
   * To be called when all objects are loaded. Throws if another user has signed in, or if an object that the changes rely on is
   * missing, or exists already.
   */
  requireAssumed(tx: Transaction): void {
    requireWriter(tx, this.#writer);
    for (const { source, id, exists } of this.#assumed) {
      // The source has been moved to the disk since, where the object was not read.
      if (tx.isOnDisk('objects', source)) continue;
      if ((tx.get('objects', [source, id]) !== undefined) !== exists)
        throw exists ? notFound(source, id) : isThere(source, id);
    }
  }

  /** Returns the id of the new object, which is generated unless the app passes one. */
  create<N extends keyof S & string>(source: N, attributes: NewAttributes<S, N>, options: CreateOptions = {}): string {
    const target = this.#writable(source);
    const id = admitName('object', options.id ?? randomId(this.#parts.platform));
    // A random id is new.
    if (options.id !== undefined && (this.#find(source, id)?.attributes ?? null) !== null) throw isThere(source, id);
    if (options.id !== undefined) this.#assume({ source, id, exists: false });
    const admitted = this.#admit(target, this.#checked(source, attributes));
    if (Object.keys(admitted).length === 0) throw withoutAttributes();
    this.#add('create', target, id, { attributes: admitted, ...this.#groupOfNew(target, options.group) });
    this.#touch(source, id, admitted);
    return id;
  }

  /**
   * Uploads only attributes that differ, so that changes of others are kept. An attribute with the value undefined is
   * removed.
   */
  update<N extends keyof S & string>(source: N, givenId: string, changes: ChangedAttributes<S, N>): void {
    const target = this.#writable(source);
    const { id, current } = this.#require(source, givenId);
    const given = this.#checked(source, changes, current);
    const admitted = Object.entries(this.#admit(target, given));
    const differing = admitted.filter(
      ([name, value]) => !(Object.hasOwn(current, name) && sameJson(current[name], value)),
    );
    const named = admitRemoved(given);
    const removed = named.filter((name) => Object.hasOwn(current, name));
    // What looks unchanged may differ from what is stored: the last results of a query may be older.
    if (differing.length < admitted.length || removed.length < named.length) this.#noteMissing();
    if (differing.length === 0 && removed.length === 0) return;
    const attributes = Object.freeze(Object.fromEntries(differing));
    const change = { attributes, ...(removed.length === 0 ? {} : { removed }) };
    const after = changed(current, change);
    if (Object.keys(after).length === 0) throw withoutAttributes();
    this.#add('update', target, id, { ...change, ...this.#groupOf(target, id) });
    this.#touch(source, id, after);
  }

  delete(source: keyof S & string, givenId: string): void {
    const target = this.#writable(source);
    const { id } = this.#require(source, givenId);
    this.#add('delete', target, id, { attributes: null, ...this.#groupOf(target, id) });
    this.#touch(source, id, null);
  }

  #add(op: UploadOp, { source, row }: Target, id: string, change: UploadChange): void {
    const { writes, replica, platform } = this.#parts;
    if (writes.size + this.#uploads.length >= UPLOADS_WAITING_MAX) {
      throw new ClientError('limit_exceeded', `${UPLOADS_WAITING_MAX} changes wait to be uploaded already`);
    }
    const { group } = change;
    const base = group === undefined ? row : replica.reader.get('sources', [source, group]);
    const order = writes.takeOrder();
    const madeAtMs = platform.nowMs();
    const version = replica.reader.versions?.of(source);
    const upload = {
      order,
      source,
      ...(version === undefined ? {} : { version }),
      op,
      id,
      ...change,
      seen: base?.seen ?? null,
      state: 'waiting',
      settled: null,
    } as const;
    this.#uploads.push([randomId(platform), { ...upload, madeAtMs }]);
  }

  /** A new object goes to the group that the app names, or to the only one of the device. */
  #groupOfNew({ source, row, hasGroups }: Target, group: string | undefined): Pick<UploadRow, 'group'> {
    if (!hasGroups) return {};
    if (group !== undefined) return { group };
    const held = groupsHeld(this.#parts.replica.reader, source);
    const [only] = held;
    if (held.length === 1 && only !== undefined) return { group: only };
    // Before the first pull the server knows the groups of the user, and the device does not.
    if (held.length === 0 && row?.syncedAtMs === null) return {};
    throw new ClientError(
      'group_required',
      `the device has ${held.length} groups of ${source}: name the one of the new object`,
    );
  }

  /** An object in several groups is changed in the group that its attributes are from. */
  #groupOf({ source, hasGroups }: Target, id: string): Pick<UploadRow, 'group'> {
    if (!hasGroups) return {};
    const { reader } = this.#parts.replica;
    const [stored] = reader.isOnDisk(source)
      ? (this.#parts.replica.view(source).get(id)?.groups ?? [])
      : groupsWith(reader, source, id);
    const made = this.#madeHere(source, id, 'create');
    const group = stored ?? made?.[1].group;
    if (group !== undefined) return { group };
    this.#noteMissing();
    return {};
  }

  /** The last upload of that kind that was made of the object and is not part of the objects yet. */
  #madeHere(source: string, id: string, op: UploadOp): NewUpload | undefined {
    // Not `findLast`, which engines of phones may lack.
    return [...this.#parts.writes.uploads(), ...this.#uploads]
      .reverse()
      .find(([, row]) => row.source === source && row.id === id && row.op === op);
  }

  #checked(source: string, given: object, current?: Attributes): object {
    const schema = this.#schemas.get(source);
    return schema === undefined ? given : admitBySchema(schema, source, given, current);
  }

  #admit({ row }: Target, given: object): Attributes {
    return withRealReferences(
      this.#parts.replica.reader,
      referencesOf(row, this.#parts.replica.reader.versions),
      admitAttributes(given),
    );
  }

  /** The object as the app sees it and this draft has changed it; without attributes if the draft has deleted it. */
  #find(source: string, givenId: string): { readonly id: string; readonly attributes: Attributes | null } | undefined {
    const view = this.#parts.replica.view(source);
    const shown = view.get(givenId);
    if (!view.isLoaded(givenId)) this.#missing.set(source, (this.#missing.get(source) ?? new Set()).add(givenId));
    const id = shown?.id ?? givenId;
    const touched = this.#touched.get(source)?.get(id);
    return touched === undefined ? shown : { id, attributes: touched };
  }

  #require(source: string, givenId: string): { readonly id: string; readonly current: Attributes } {
    const found = this.#find(source, admitName('object', givenId));
    // The draft is made again, and had better find out now what else is not loaded.
    if (this.#missing.get(source)?.has(givenId) === true) return { id: givenId, current: {} };
    if (found === undefined || found.attributes === null) {
      this.#noteMissing();
      throw notFound(source, givenId);
    }
    const { id, attributes: current } = found;
    this.#assume({ source, id, exists: true });
    return { id, current };
  }

  #noteMissing(): void {
    this.#isUncertain ||= this.#parts.replica.loaded !== null;
  }

  /** The last results of a query may be older than what is stored, and do not show everything. */
  #assume(assumption: Assumption): void {
    const { source, id, exists } = assumption;
    if (this.#parts.replica.loaded === null || this.#parts.replica.reader.isOnDisk(source)) return;
    if (this.#madeHere(source, id, exists ? 'create' : 'delete') === undefined) this.#assumed.push(assumption);
  }

  #touch(source: string, id: string, attributes: Attributes | null): void {
    const ofSource = this.#touched.get(source) ?? new Map<string, Attributes | null>();
    this.#touched.set(source, ofSource.set(id, attributes));
  }

  #writable(source: string): Target {
    const { reader } = this.#parts.replica;
    const row = reader.get('sources', ['', source]);
    const hasGroups = isGrouped(row);
    if (row === undefined && isListKnown(reader)) {
      throw new ClientError('source_not_found', `the server has no source ${JSON.stringify(source)}`);
    }
    if (row?.description.read_only !== true) return { source, row, hasGroups };
    throw new ClientError('source_read_only', `${source} cannot be changed on devices`);
  }
}

/** True if the list of sources has come once. Before that a device cannot know what the server has. */
function isListKnown(reader: Reader): boolean {
  for (const _ of reader.entries('sources', '')) return true;
  return false;
}

function isThere(source: string, id: string): ClientError {
  return new ClientError('object_exists', `${source} has an object ${JSON.stringify(id)} already`);
}

function notFound(source: string, id: string): ClientError {
  return new ClientError('object_not_found', `${source} has no object ${JSON.stringify(id)}`);
}

function withoutAttributes(): ClientError {
  return new ClientError('invalid_value', 'an object needs at least one attribute');
}
