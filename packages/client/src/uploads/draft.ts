import type { UploadOp } from '@tidemark/protocol';
import { ClientError } from '../client-error.ts';
import { UPLOADS_WAITING_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import type { Schemas } from '../schemas/standard-schema.ts';
import { frozen } from '../state/frozen.ts';
import { groupsHeld, groupsWith, rowKey } from '../state/group-rows.ts';
import type { Reader, Transaction } from '../state/local-state.ts';
import type { NewUpload, Replica } from '../state/replica.ts';
import type { Attributes, UploadRow } from '../state/rows.ts';
import { sameJson } from '../state/same-json.ts';
import { admitAttributes, admitName, admitRemoved } from './admit-attributes.ts';
import { realId, withRealReferences } from './links.ts';
import { changed } from './merge-upload.ts';
import { randomId } from './random-id.ts';

export interface CreateOptions {
  /** The id of the new object. Absent: a random one. */
  readonly id?: string;
  /** The group of the new object, if the data of the source belongs to groups. Absent: the only one of the device. */
  readonly group?: string;
}

/** Whether the store must have an object for a change to be right. */
interface Assumption {
  readonly source: string;
  readonly id: string;
  readonly exists: boolean;
}

/**
 * Changes that belong together: the app sees all of them or none, and they are uploaded in order. A refused call
 * refuses the whole draft.
 */
export class Draft {
  readonly #platform: Platform;
  readonly #replica: Replica;
  readonly #schemas: Schemas;
  /** Objects as changed by this draft, by source and id; null: deleted. */
  readonly #touched = new Map<string, Map<string, Attributes | null>>();
  readonly #uploads: NewUpload[] = [];
  /** What the changes rely on and the device could not see, because not all objects were loaded. */
  readonly #assumed: Assumption[] = [];
  #isUncertain = false;

  constructor(platform: Platform, replica: Replica, schemas: Schemas) {
    this.#platform = platform;
    this.#replica = replica;
    this.#schemas = schemas;
  }

  get uploads(): readonly NewUpload[] {
    return this.#uploads;
  }

  /** True if a call needed an object, or its present attributes, and not all is loaded yet. Then the draft must be made again. */
  get isUncertain(): boolean {
    return this.#isUncertain;
  }

  /** To be called when all objects are loaded. Throws if one that the changes rely on is missing, or exists already. */
  requireAssumed(tx: Transaction): void {
    for (const { source, id, exists } of this.#assumed) {
      if ((tx.get('objects', [source, id]) !== undefined) !== exists)
        throw exists ? notFound(source, id) : isThere(source, id);
    }
  }

  /** Returns the id of the new object, which is generated unless the app passes one. */
  create(source: string, attributes: object, options: CreateOptions = {}): string {
    this.#requireWritable(source);
    const id = admitName('object', options.id ?? randomId(this.#platform));
    if (this.#current(source, id) !== undefined) throw isThere(source, id);
    if (options.id !== undefined) this.#assume({ source, id, exists: false });
    const admitted = this.#admit(source, this.#schemas.admit(source, attributes));
    if (Object.keys(admitted).length === 0) throw withoutAttributes();
    this.#add('create', source, id, { attributes: admitted, ...this.#groupOfNew(source, options.group) });
    this.#touch(source, id, admitted);
    return id;
  }

  /**
   * Uploads only attributes that differ, so that changes of others are kept. An attribute with the value undefined is
   * removed.
   */
  update(source: string, givenId: string, changes: object): void {
    this.#requireWritable(source);
    const { id, current } = this.#require(source, givenId);
    const given = this.#schemas.admit(source, changes, current);
    const admitted = Object.entries(this.#admit(source, given));
    const differing = admitted.filter(
      ([name, value]) => !(Object.hasOwn(current, name) && sameJson(current[name], value)),
    );
    const named = admitRemoved(given);
    const removed = named.filter((name) => Object.hasOwn(current, name));
    // What looks unchanged may differ from what is stored: the last results of a query may be older.
    if (differing.length < admitted.length || removed.length < named.length) this.#noteMissing();
    if (differing.length === 0 && removed.length === 0) return;
    const attributes = frozen(Object.fromEntries(differing));
    const change = { attributes, ...(removed.length === 0 ? {} : { removed }) };
    const after = changed(current, change);
    if (Object.keys(after).length === 0) throw withoutAttributes();
    this.#add('update', source, id, { ...change, ...this.#groupOf(source, id) });
    this.#touch(source, id, after);
  }

  delete(source: string, givenId: string): void {
    this.#requireWritable(source);
    const { id } = this.#require(source, givenId);
    this.#add('delete', source, id, { attributes: null, ...this.#groupOf(source, id) });
    this.#touch(source, id, null);
  }

  #add(op: UploadOp, source: string, id: string, change: Pick<UploadRow, 'attributes' | 'removed' | 'group'>): void {
    if (this.#replica.uploadsStored + this.#uploads.length >= UPLOADS_WAITING_MAX) {
      throw new ClientError('limit_exceeded', `${UPLOADS_WAITING_MAX} changes wait to be uploaded already`);
    }
    const row: UploadRow = {
      order: this.#replica.takeOrder(),
      source,
      op,
      id,
      ...change,
      seen: this.#replica.reader.get('sources', rowKey({ source, ...change }))?.seen ?? null,
      state: 'waiting',
      settled: null,
      madeAtMs: this.#platform.nowMs(),
    };
    this.#uploads.push([randomId(this.#platform), row]);
  }

  /** A new object goes to the group that the app names, or to the only one of the device. */
  #groupOfNew(source: string, group: string | undefined): Pick<UploadRow, 'group'> {
    if (!this.#isGrouped(source)) return {};
    if (group !== undefined) return { group };
    const held = groupsHeld(this.#replica.reader, source);
    const [only] = held;
    if (held.length === 1 && only !== undefined) return { group: only };
    // Before the first pull the server knows the groups of the user, and the device does not.
    const isPulled = (this.#replica.reader.get('sources', ['', source])?.syncedAtMs ?? null) !== null;
    if (held.length === 0 && !isPulled) return {};
    throw new ClientError(
      'group_required',
      `the device has ${held.length} groups of ${source}: name the one of the new object`,
    );
  }

  /** An object in several groups is changed in the group that its attributes are from. */
  #groupOf(source: string, id: string): Pick<UploadRow, 'group'> {
    const [stored] = groupsWith(this.#replica.reader, source, id);
    const made = [...this.#replica.uploads(), ...this.#uploads].findLast(
      ([, row]) => row.source === source && row.id === id && row.op === 'create',
    );
    const group = stored ?? made?.[1].group;
    if (group !== undefined) return { group };
    if (this.#isGrouped(source)) this.#noteMissing();
    return {};
  }

  #isGrouped(source: string): boolean {
    return this.#replica.reader.get('sources', ['', source])?.description.partition_type === 'group';
  }

  #admit(source: string, attributes: object): Attributes {
    return frozen(withRealReferences(this.#replica.reader, source, admitAttributes(attributes)));
  }

  #require(source: string, givenId: string): { readonly id: string; readonly current: Attributes } {
    const id = realId(this.#replica.reader, source, admitName('object', givenId));
    const current = this.#current(source, id);
    if (current === undefined) {
      this.#noteMissing();
      throw notFound(source, givenId);
    }
    this.#assume({ source, id, exists: true });
    return { id, current };
  }

  #noteMissing(): void {
    this.#isUncertain ||= this.#replica.loaded !== null;
  }

  /** The last results of a query may be older than what is stored, and do not show everything. */
  #assume(assumption: Assumption): void {
    if (this.#replica.loaded === null) return;
    const { source, id, exists } = assumption;
    const isMadeHere = [...this.#replica.uploads(), ...this.#uploads].some(
      ([, row]) => row.source === source && row.id === id && row.op === (exists ? 'create' : 'delete'),
    );
    if (!isMadeHere) this.#assumed.push(assumption);
  }

  #current(source: string, id: string): Attributes | undefined {
    const touched = this.#touched.get(source)?.get(id);
    return touched === undefined ? this.#replica.view(source).get(id)?.attributes : (touched ?? undefined);
  }

  #touch(source: string, id: string, attributes: Attributes | null): void {
    const ofSource = this.#touched.get(source) ?? new Map<string, Attributes | null>();
    this.#touched.set(source, ofSource.set(id, attributes));
  }

  #requireWritable(source: string): void {
    const { reader } = this.#replica;
    const row = reader.get('sources', ['', source]);
    if (row === undefined && isListKnown(reader)) {
      throw new ClientError('source_not_found', `the server has no source ${JSON.stringify(source)}`);
    }
    if (row?.description.read_only !== true) return;
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
