import { parseJson } from '@tidemark/protocol';
import { allEntries } from '../entries/all-entries.ts';
import { refs } from '../entries/refs.ts';
import { partitionFrom, partitionParts } from '../ports/owner.ts';
import type { Entry, EntryWrite, PartitionKey, Store } from '../ports/store.ts';

/** What is known of a file that an object refers to, or that somebody has sent. */
export interface FileRecord {
  /** Another one after the file was removed: who had sent it before has to send it again. */
  readonly life: string;
  readonly size: number;
  /** Media type and name of the reference that came first; null: there was none, or it has no name. */
  readonly type: string | null;
  readonly name: string | null;
  /** Null: the bytes are not here. */
  readonly storedAtMs: number | null;
  /** Since when an object refers to bytes that are not here; null: none does. */
  readonly missingSinceMs: number | null;
  /** When somebody last sent the file, was told that it is here, or referred to it for the first time. */
  readonly touchedMs: number;
  /** True: the bytes were removed, and what belongs to the file is being cleared. */
  readonly isRemoved?: boolean;
}

/** Says who has referred to a file in a partition. It is written before the reference, and stays as long as there is one. */
export interface FileClaim {
  /** Whether somebody who had the file has referred to it here: the backend, or a user who had sent it or could read it. */
  readonly isProven: boolean;
  /**
   * The generation of the user who owns the partition, else of the user who referred to the file; null: the backend did. A
   * claim that was never proven and whose user was deleted has that of `NOBODY`: bytes of the backend do not prove it.
   */
  readonly generation: number | null;
  /** The device that referred to the file; null: none did. */
  readonly client: string | null;
  readonly atMs: number;
  /** Since when nothing in the partition refers to the file, as far as the collector has seen; null: something does. */
  readonly idleSinceMs: number | null;
}

/** Says who has sent the bytes of a file. */
export interface SenderRecord {
  readonly life: string;
  readonly generation: number | null;
  readonly size: number;
}

/** How much a user has sent, or all have. */
export interface FileUsage {
  readonly generation: number | null;
  readonly files: number;
  readonly bytes: number;
  /** Files of the user that become stored now, by hash. Absent: none. */
  readonly arriving?: Readonly<Record<string, ArrivingFile>>;
}

/** Room in the quota for a file that becomes stored now. */
export interface ArrivingFile {
  readonly size: number;
  /** Uploads of the file that end now: the room is kept until the last of them has failed. Absent: one. */
  readonly uploads?: number;
  /** Whatever has become of it, the room is free then. */
  readonly untilMs: number;
}

/** An entry as it was read; `version` is 0 when there is none. */
export interface Versioned<T> {
  readonly value: T | null;
  readonly version: number;
}

/** A claim with what its key says. */
export interface ReadClaim extends FileClaim {
  readonly key: readonly string[];
  readonly version: number;
  readonly partition: PartitionKey;
  /** Null: the backend. */
  readonly login: string | null;
}

/** A sender with what its key says. */
export interface ReadSender extends SenderRecord {
  readonly key: readonly string[];
  readonly version: number;
  /** Null: the backend. */
  readonly login: string | null;
}

/** The generation that no user has. */
export const NOBODY = -1;
const CLAIM_PARTITION_AT = 1;
const NO_USAGE: FileUsage = { generation: null, files: 0, bytes: 0 };

function readValue<T>(entry: Entry | null): Versioned<T> {
  return entry === null ? { value: null, version: 0 } : { value: parseJson(entry.value) as T, version: entry.version };
}

export async function readFile(store: Store, sha256: string): Promise<Versioned<FileRecord>> {
  return readValue(await store.readEntry(refs.file(sha256)));
}

export async function readUsage(store: Store, login: string | null): Promise<Versioned<FileUsage>> {
  return readValue(await store.readEntry(refs.fileUsage(login)));
}

export async function readSender(store: Store, sha256: string, login: string | null): Promise<ReadSender | null> {
  const entry = await store.readEntry(refs.fileSender(sha256, login));
  return entry === null ? null : senderOf(entry);
}

export function senderOf({ key, value, version }: Entry): ReadSender {
  return { ...(parseJson(value) as SenderRecord), key, version, login: key[1] ?? null };
}

export function claimOf({ key, value, version }: Entry): ReadClaim {
  const parts = key.slice(CLAIM_PARTITION_AT);
  const length = parts[0] === 'shared' ? 2 : 3;
  const partition = partitionFrom(parts.slice(0, length));
  return { ...(parseJson(value) as FileClaim), key, version, partition, login: parts[length] ?? null };
}

/** A claim that was read has members of its key as well. */
export function claimText({ isProven, generation, client, atMs, idleSinceMs }: FileClaim): string {
  return JSON.stringify({ isProven, generation, client, atMs, idleSinceMs });
}

/** Changes a claim, which must be as it was read. */
export function claimWrite(claim: ReadClaim, change: Partial<FileClaim>): EntryWrite {
  return { kind: 'file_claim', key: claim.key, value: claimText({ ...claim, ...change }), expect: claim.version };
}

export async function readGeneration(store: Store, login: string): Promise<number | null> {
  return (await store.readEntry(refs.generation(login)))?.version ?? null;
}

type Waiting = Pick<ReadClaim, 'partition' | 'client'>;

/** Returns whose lists of missing files a claim puts its file on: that of its partition, and that of its device. */
function listsOf({ partition, client }: Waiting): readonly (readonly string[])[] {
  const ofPartition = partitionParts(partition);
  return client === null ? [ofPartition] : [ofPartition, waitingOnClient(client)];
}

export function waitingOnClient(client: string): readonly string[] {
  return ['client', client];
}

/** Puts a missing file on the lists of those who claim it. Entries that outlive their claim do no harm: readers look again. */
export function waitingWrites(sha256: string, sinceMs: number | null, claims: readonly Waiting[]): EntryWrite[] {
  if (sinceMs === null) return [];
  return onLists(sha256, sinceMs, claims.flatMap(listsOf), 'true');
}

/** Takes a missing file from the lists on which only a claim has put it that goes. */
export function waitingRemovals(
  sha256: string,
  sinceMs: number | null,
  { going, staying }: { readonly going: Waiting; readonly staying: readonly Waiting[] },
): EntryWrite[] {
  if (sinceMs === null) return [];
  const kept = new Set(staying.flatMap(listsOf).map(String));
  const lists = listsOf(going).filter((list) => !kept.has(String(list)));
  return onLists(sha256, sinceMs, lists, null);
}

/** One batch changes an entry once. */
function onLists(
  sha256: string,
  sinceMs: number,
  lists: readonly (readonly string[])[],
  value: string | null,
): EntryWrite[] {
  const once = new Map(lists.map((list) => [JSON.stringify(list), list]));
  return [...once.values()].map((list) => ({ ...refs.fileWaiting(list, sinceMs, sha256), value }));
}

/** Reads all claims of a file, or those in a partition. */
export async function readClaims(
  store: Store,
  sha256: string,
  partition?: PartitionKey,
): Promise<readonly ReadClaim[]> {
  const prefix = partition === undefined ? [sha256] : [sha256, ...partitionParts(partition)];
  const claims: ReadClaim[] = [];
  for await (const entry of allEntries(store, 'file_claim', prefix)) claims.push(claimOf(entry));
  return claims;
}

/**
 * Writes what is known of a file, together with its entries in the lists of missing ones. It expects the file as it was read,
 * so that of two calls about one file the second one reads again.
 */
export async function fileWrites(
  store: Store,
  sha256: string,
  { value: old, version }: Versioned<FileRecord>,
  next: FileRecord,
): Promise<EntryWrite[]> {
  const write: EntryWrite = { ...refs.file(sha256), value: JSON.stringify(next), expect: version };
  const before = old?.missingSinceMs ?? null;
  const { missingSinceMs: after } = next;
  if (before === after) return [write];
  // A file of which nothing was known has no claims.
  const claims = old === null || old.isRemoved === true ? [] : await readClaims(store, sha256);
  return [write, ...missingRemovals(sha256, before, claims), ...missingWrites(sha256, after, claims)];
}

/** Removes all that is known of a file, and its entries in the lists of missing ones. */
export async function fileRemovals(
  store: Store,
  sha256: string,
  { value: old, version }: Versioned<FileRecord>,
): Promise<EntryWrite[]> {
  const since = old?.missingSinceMs ?? null;
  const removal: EntryWrite = { ...refs.file(sha256), value: null, expect: version };
  return [removal, ...missingRemovals(sha256, since, since === null ? [] : await readClaims(store, sha256))];
}

function missingWrites(sha256: string, sinceMs: number | null, claims: readonly Waiting[]): EntryWrite[] {
  if (sinceMs === null) return [];
  return [{ ...refs.fileMissing(sinceMs, sha256), value: 'true' }, ...waitingWrites(sha256, sinceMs, claims)];
}

function missingRemovals(sha256: string, sinceMs: number | null, claims: readonly Waiting[]): EntryWrite[] {
  if (sinceMs === null) return [];
  const waiting = onLists(sha256, sinceMs, claims.flatMap(listsOf), null);
  return [{ ...refs.fileMissing(sinceMs, sha256), value: null }, ...waiting];
}

/** Returns the usage of a user, without files whose arrival has ended otherwise. That of a user who was deleted begins anew. */
export function usageOf(value: FileUsage | null, generation: number | null, nowMs = 0): Required<FileUsage> {
  const { arriving = {}, ...old } = value === null || value.generation !== generation ? NO_USAGE : value;
  const alive = Object.entries(arriving).filter(([, { untilMs }]) => untilMs > nowMs);
  return { ...old, generation, arriving: Object.fromEntries(alive) };
}

/** Adds to a usage. The room that is kept for a file is free when it is counted. */
export function usageWrite(
  login: string | null,
  { value, version }: Versioned<FileUsage>,
  change: Omit<FileUsage, 'arriving'>,
  counted?: string,
): EntryWrite {
  const old = usageOf(value, change.generation);
  const next = { ...old, files: old.files + change.files, bytes: old.bytes + change.bytes };
  return arrivingWrite(login, { value: next, version }, withoutFile(next.arriving, counted));
}

/** Takes a file off a usage. If the user sends it again right now, the room that it has left is kept for it. */
export function forgottenWrite(
  login: string,
  { value, version }: Versioned<FileUsage>,
  { sha256, generation, size }: { readonly sha256: string; readonly generation: number | null; readonly size: number },
): EntryWrite {
  const { arriving, ...old } = usageOf(value, generation);
  const next = { ...old, files: old.files - 1, bytes: old.bytes - size };
  const room = arriving[sha256];
  return arrivingWrite(
    login,
    { value: next, version },
    room === undefined ? arriving : { ...arriving, [sha256]: { ...room, size } },
  );
}

/** Keeps room for files that arrive. */
export function arrivingWrite(
  login: string | null,
  { value, version }: Versioned<FileUsage>,
  arriving: Readonly<Record<string, ArrivingFile>>,
): EntryWrite {
  const { arriving: _old, ...rest } = value ?? NO_USAGE;
  const next: FileUsage = Object.keys(arriving).length === 0 ? rest : { ...rest, arriving };
  return { ...refs.fileUsage(login), value: JSON.stringify(next), expect: version };
}

export function withoutFile(
  arriving: Readonly<Record<string, ArrivingFile>>,
  sha256: string | undefined,
): Readonly<Record<string, ArrivingFile>> {
  return Object.fromEntries(Object.entries(arriving).filter(([name]) => name !== sha256));
}
