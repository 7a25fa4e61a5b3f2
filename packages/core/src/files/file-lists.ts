import { parseJson, pointer, Refusal } from '@tidemark/protocol';
import { allEntries } from '../entries/all-entries.ts';
import { type Owner, partitionName, partitionParts } from '../ports/owner.ts';
import type { Entry, PartitionKey, Store } from '../ports/store.ts';
import { isoTime, isoTimeOrNull } from '../primitives/time.ts';
import { isStored } from './file-arrivals.ts';
import {
  type FileRecord,
  type ReadClaim,
  readClaims,
  readFile,
  readGeneration,
  readSender,
  readUsage,
  senderOf,
  waitingOnClient,
} from './file-entries.ts';

/** A file as administrators and backends see it. */
export interface FileView {
  readonly sha256: string;
  readonly size: number;
  /** Media type and name of the reference that came first; null: there was none, or it has no name. */
  readonly type: string | null;
  readonly name: string | null;
  readonly is_stored: boolean;
  readonly stored_at: string | null;
  /** Since when an object refers to bytes that are not here. */
  readonly missing_since: string | null;
  /** How many objects refer to it; not more than `REFERENCES_COUNTED_MAX` of a partition are counted. */
  readonly references: number;
  /** Users who have sent the bytes; null stands for the backend. */
  readonly senders: readonly (string | null)[];
  /** The devices that refer to a file which is missing, and thus have its bytes. */
  readonly devices: readonly FileDevice[];
}

export interface FileDevice {
  readonly user_id: string;
  readonly client_id: string;
}

/** An object that refers to a file. */
export interface FileObject {
  readonly source: string;
  readonly owner: Owner;
  /** The id of the object. */
  readonly object: string;
}

export type FileScope =
  | { readonly kind: 'all' }
  /** Files that objects of a source refer to. */
  | { readonly kind: 'source'; readonly source: string }
  /** Files that a user has sent or referred to, and those in the data of the user alone. */
  | { readonly kind: 'user'; readonly user: string }
  /** Files that objects refer to and that are not here, those that are missing longest first. */
  | { readonly kind: 'missing' };

export interface FilePosition {
  /** The `next` of the page before. */
  readonly after?: string | undefined;
  /** Absent: `FILES_LISTED_DEFAULT`. */
  readonly limit?: number | undefined;
}

/** `next` is null on the last page. A page may have fewer files than asked for, because it reads a bounded part. */
export interface FilePage {
  readonly files: readonly FileView[];
  readonly next: string | null;
}

export interface FileObjectPage {
  readonly objects: readonly FileObject[];
  readonly next: string | null;
}

export interface FileTotals {
  readonly files: number;
  readonly bytes: number;
  readonly missing: number;
  readonly oldest_missing_since: string | null;
}

const FILES_LISTED_DEFAULT = 100;
const REFERENCES_COUNTED_MAX = 1_000;
const SENDERS_SHOWN_MAX = 100;
/** Files that one page of a list looks at. */
const FILES_READ_MAX = 1_000;
const MISSING_PARTS = 2;

/** Lists files for people and backends. */
export class FileLists {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Null: nobody has sent the file, and no object refers to it. */
  async find(sha256: string): Promise<FileView | null> {
    const { value } = await readFile(this.#store, sha256);
    return value === null || value.isRemoved === true ? null : this.#view(sha256, value, await this.#claims(sha256));
  }

  /** Returns the objects that refer to a file, those of one partition after the other. */
  async where(sha256: string, { after, limit = FILES_LISTED_DEFAULT }: FilePosition): Promise<FileObjectPage> {
    const partitions = byName(partitionsIn(await this.#claims(sha256)));
    const objects: FileObject[] = [];
    // The partition of the page before may have lost its objects meanwhile.
    const first = after === undefined ? 0 : partitions.findIndex((partition) => partitionName(partition) > after);
    let at = first === -1 ? partitions.length : first;
    for (; at < partitions.length && objects.length < limit; at++) {
      const partition = partitions[at] as PartitionKey;
      const ids = await this.#store.objectsWithFile(partition, sha256, REFERENCES_COUNTED_MAX);
      objects.push(...ids.map((object) => ({ ...partition, object })));
    }
    const last = partitions[at - 1];
    return { objects, next: at < partitions.length && last !== undefined ? partitionName(last) : null };
  }

  async list(scope: FileScope, position: FilePosition): Promise<FilePage> {
    if (scope.kind === 'missing') return this.#missing(position);
    const { after, limit = FILES_LISTED_DEFAULT } = position;
    const files: FileView[] = [];
    const from = after === undefined ? {} : { after: [after] };
    const entries = await this.#store.listEntries({ kind: 'file', prefix: [], limit: FILES_READ_MAX, ...from });
    for (const [index, { key, value }] of entries.entries()) {
      const [sha256 = ''] = key;
      const row = await this.#rowOf(sha256, parseJson(value) as FileRecord, scope);
      if (row !== null) files.push(row);
      if (files.length === limit && index + 1 < entries.length) return { files, next: sha256 };
    }
    const last = entries.at(-1)?.key[0] ?? null;
    return { files, next: entries.length < FILES_READ_MAX ? null : last };
  }

  /** Returns the files that a device has referred to and that are not here, those that are missing longest first. */
  async waitingOn(client: string, limit: number): Promise<readonly FileView[]> {
    const rows: FileView[] = [];
    for await (const entry of allEntries(this.#store, 'file_waiting', waitingOnClient(client))) {
      const row = await this.#missingRow(entry);
      if (row?.devices.some(({ client_id }) => client_id === client)) rows.push(row);
      if (rows.length === limit) break;
    }
    return rows;
  }

  /** Counts the files that objects of a partition refer to and that are not here. */
  async countMissing(partition: PartitionKey): Promise<number> {
    let count = 0;
    for await (const entry of allEntries(this.#store, 'file_waiting', partitionParts(partition))) {
      const { sha256, record } = await this.#missingFile(entry);
      if (record === null) continue;
      if ((await this.#store.objectsWithFile(partition, sha256, 1)).length > 0) count++;
    }
    return count;
  }

  async usage(): Promise<FileTotals> {
    const { value } = await readUsage(this.#store, null);
    const missing = await this.#store.countEntries('file_missing');
    const [oldest] = await this.#store.listEntries({ kind: 'file_missing', prefix: [], limit: 1 });
    const since = oldest === undefined ? null : Number(oldest.key[0]);
    const { files, bytes } = value ?? { files: 0, bytes: 0 };
    return { files, bytes, missing, oldest_missing_since: isoTimeOrNull(since) };
  }

  async #missing({ after, limit = FILES_LISTED_DEFAULT }: FilePosition): Promise<FilePage> {
    const from = after === undefined ? {} : { after: missingKey(after) };
    const entries = await this.#store.listEntries({ kind: 'file_missing', prefix: [], limit, ...from });
    const files: FileView[] = [];
    for (const entry of entries) {
      const row = await this.#missingRow(entry);
      if (row !== null) files.push(row);
    }
    const last = entries.at(-1);
    return { files, next: last === undefined || entries.length < limit ? null : last.key.join('-') };
  }

  /** Null: it has arrived meanwhile, or nothing refers to it any more. */
  async #missingRow(entry: Entry): Promise<FileView | null> {
    const { sha256, record } = await this.#missingFile(entry);
    if (record === null) return null;
    const view = await this.#view(sha256, record, await this.#claims(sha256));
    return view.references === 0 ? null : view;
  }

  /** Reads the file of an entry in a list of missing ones. Null: it has arrived meanwhile, or is missing since another time. */
  async #missingFile({ key }: Entry): Promise<{ readonly sha256: string; readonly record: FileRecord | null }> {
    const sha256 = key.at(-1) ?? '';
    const { value } = await readFile(this.#store, sha256);
    const isMissing = value !== null && value.missingSinceMs === Number(key.at(-2));
    return { sha256, record: isMissing ? value : null };
  }

  async #rowOf(
    sha256: string,
    record: FileRecord,
    scope: Exclude<FileScope, { kind: 'missing' }>,
  ): Promise<FileView | null> {
    if (record.isRemoved === true) return null;
    const claims = await this.#claims(sha256);
    const view = await this.#view(sha256, record, claims);
    if (scope.kind === 'all') return view;
    if (scope.kind === 'user') {
      const { user } = scope;
      const isClaimed = claims.some(({ login, partition }) => login === user || isOwnedBy(partition.owner, user));
      return isClaimed || (await this.#hasSent(user, sha256, record)) ? view : null;
    }
    const own = partitionsIn(claims).filter(({ source }) => source === scope.source);
    return (await this.#countObjects(sha256, own)) > 0 ? view : null;
  }

  /** A view shows only some of the senders. */
  async #hasSent(user: string, sha256: string, { life }: FileRecord): Promise<boolean> {
    const sender = await readSender(this.#store, sha256, user);
    return sender?.life === life && sender.generation === (await readGeneration(this.#store, user));
  }

  async #view(sha256: string, record: FileRecord, claims: readonly ReadClaim[]): Promise<FileView> {
    const { size, type, name, life, missingSinceMs, storedAtMs } = record;
    const senders = await this.#store.listEntries({ kind: 'file_sender', prefix: [sha256], limit: SENDERS_SHOWN_MAX });
    const is_stored = isStored(record);
    return {
      sha256,
      ...{ size, type, name, is_stored },
      stored_at: storedAtMs === null ? null : isoTime(storedAtMs),
      missing_since: isoTimeOrNull(missingSinceMs),
      references: await this.#countObjects(sha256, partitionsIn(claims)),
      senders: senders
        .map(senderOf)
        .filter((sender) => sender.life === life)
        .map(({ login }) => login),
      devices: is_stored ? [] : devicesIn(claims),
    };
  }

  async #countObjects(sha256: string, partitions: readonly PartitionKey[]): Promise<number> {
    let count = 0;
    for (const partition of partitions) {
      count += (await this.#store.objectsWithFile(partition, sha256, REFERENCES_COUNTED_MAX)).length;
    }
    return count;
  }

  #claims(sha256: string): Promise<readonly ReadClaim[]> {
    return readClaims(this.#store, sha256);
  }
}

/** Each partition once, in the order of the claims. */
function partitionsIn(claims: readonly ReadClaim[]): readonly PartitionKey[] {
  return [...new Map(claims.map(({ partition }) => [partitionName(partition), partition])).values()];
}

function byName(partitions: readonly PartitionKey[]): readonly PartitionKey[] {
  const named = partitions.map((partition) => ({ partition, name: partitionName(partition) }));
  return named.sort((one, other) => (one.name < other.name ? -1 : 1)).map(({ partition }) => partition);
}

function devicesIn(claims: readonly ReadClaim[]): readonly FileDevice[] {
  return claims.flatMap(({ login, client }) =>
    login === null || client === null ? [] : [{ user_id: login, client_id: client }],
  );
}

function isOwnedBy(owner: Owner, login: string): boolean {
  return owner.kind === 'user' && owner.login === login;
}

/** Reads the `next` of a page of missing files. */
function missingKey(after: string): readonly string[] {
  const key = after.split('-');
  if (key.length === MISSING_PARTS) return key;
  const detail = 'must be the next of the page before';
  throw new Refusal('invalid_request', `after ${detail}`, [{ pointer: pointer('after'), detail }]);
}
