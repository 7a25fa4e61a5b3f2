import {
  keptBytes,
  type Note,
  type NoteKind,
  type NoteList,
  type NotePiece,
  type NoteRef,
  type NoteStore,
  type NotesWrite,
  type NoteWrite,
  type PartitionKey,
  partitionParts,
  userPartition,
} from '@tidemark/core/ports';
import type { Transaction } from 'lmdb';
import type { EngineContext } from './engine-context.ts';
import { behind, keyOf, lookUpKey, NUMBER_BYTES, textsOf } from './keys.ts';
import { partitionKeyOf, partitionName } from './partitions.ts';
import { changeRetainedBytes } from './retained-bytes.ts';
import { removeRange, type Tables } from './tables.ts';

// A note is stored as its expiry in milliseconds, or nothing when it never expires, a space, and its text.

/** Expired notes that one write removes. */
const EXPIRED_PER_WRITE_MAX = 100;

export function notes({ read }: EngineContext): Pick<NoteStore, 'readNotes' | 'listNotes'> {
  return {
    readNotes: async (key, client, refs) => readNotes(read(), key, client, refs),
    listNotes: async (key, client, list) => listNotes(read(), key, client, list),
  };
}

function readNotes(tables: Tables, partition: PartitionKey, client: string, refs: readonly NoteRef[]): readonly Note[] {
  const owner = ownerKey(partition, client);
  return refs.flatMap(({ kind, key }) => {
    const value = tables.notes.get(noteKey(owner, { kind, key }));
    return value === undefined ? [] : [{ kind, key, text: readNoteValue(value).text }];
  });
}

function listNotes(
  tables: Tables,
  partition: PartitionKey,
  client: string,
  { kind, after, limit }: NoteList,
): readonly Note[] {
  // Every pull asks, and most devices have no notes: a look-up costs a fraction of a range.
  if (tables.clientNotes.get(lookUpKey(client, ...partitionParts(partition))) === undefined) return [];
  const prefix = Buffer.concat([ownerKey(partition, client), keyOf(kind)]);
  const start = after === undefined ? prefix : Buffer.concat([prefix, keyOf(after)]);
  const found = tables.notes.getRange({ start, exclusiveStart: after !== undefined, ...endAt(prefix), limit });
  return [...found].map(({ key, value }) => {
    const [name = ''] = textsOf(key, prefix.length);
    return { kind, key: name, text: readNoteValue(value).text };
  });
}

// Writing: these run in the writer's transaction

/** Throws when the caller has a bug. */
export function requireSoundNotes({ writes }: NotesWrite): void {
  const names = new Set(writes.map(({ kind, key }) => JSON.stringify([kind, key])));
  if (names.size !== writes.length) throw new Error('a commit writes the same note twice');
}

/** What a commit does to the notes of a device, read before anything is written. */
export interface NotesPlan {
  /** What each note that is written was before. */
  readonly old: readonly (string | undefined)[];
  /** The keys of notes that have expired, in the table of expiries. */
  readonly expired: readonly Buffer[];
  /** The bytes of all texts that are written. */
  readonly added: number;
  /** By how many bytes the notes of the partition grow. */
  readonly growth: number;
}

/** Returns null when a note is not as it is expected. */
export function planNotes(tables: Tables, partition: PartitionKey, notes: NotesWrite): NotesPlan | null {
  const { client, writes, nowMs } = notes;
  const owner = ownerKey(partition, client);
  const old = writes.map((write) => tables.notes.get(noteKey(owner, write)));
  let added = 0;
  let removed = 0;
  for (const [index, { key, text, expect }] of writes.entries()) {
    const value = old[index];
    const before = value === undefined ? null : readNoteValue(value).text;
    if (expect !== undefined && expect !== before) return null;
    if (before !== null) removed += keptBytes(key, before);
    if (text !== null) added += keptBytes(key, text);
  }
  const end = Buffer.concat([owner, keyOf(nowMs + 1)]);
  const expired = [...tables.noteExpiry.getKeys({ start: owner, end, limit: EXPIRED_PER_WRITE_MAX })];
  removed += expiredBytes(tables, owner, expired, writes);
  return { old, expired, added, growth: added - removed };
}

/** Those that are written anyway are not counted again. */
function expiredBytes(tables: Tables, owner: Buffer, expired: readonly Buffer[], writes: readonly NoteRef[]): number {
  if (expired.length === 0) return 0;
  const written = new Set(writes.map(({ kind, key }) => JSON.stringify([kind, key])));
  let bytes = 0;
  for (const ref of expired.map((key) => expiredRef(key, owner))) {
    const value = tables.notes.get(noteKey(owner, ref));
    if (value === undefined || written.has(JSON.stringify([ref.kind, ref.key]))) continue;
    bytes += keptBytes(ref.key, readNoteValue(value).text);
  }
  return bytes;
}

function expiredRef(key: Buffer, owner: Buffer): NoteRef {
  const [kind = '', name = ''] = textsOf(key, owner.length + NUMBER_BYTES);
  return { kind: kind as NoteKind, key: name };
}

export function applyNotes(tables: Tables, partition: PartitionKey, { client, writes }: NotesWrite, plan: NotesPlan) {
  const owner = ownerKey(partition, client);
  for (const key of plan.expired) {
    tables.noteExpiry.remove(key);
    tables.notes.remove(noteKey(owner, expiredRef(key, owner)));
  }
  for (const [index, write] of writes.entries()) applyNote(tables, owner, write, plan.old[index]);
  tables.clientNotes.put(clientNotesKey(partition, client), '');
}

export function importNote(tables: Tables, { partition, client, note, endsAtMs }: NotePiece): void {
  const owner = ownerKey(partition, client);
  applyNote(tables, owner, { ...note, ...(endsAtMs === null ? {} : { endsAtMs }) }, undefined);
  tables.clientNotes.put(clientNotesKey(partition, client), '');
  changeRetainedBytes(tables, partition, keptBytes(note.key, note.text));
}

function applyNote(tables: Tables, owner: Buffer, write: NoteWrite, old: string | undefined): void {
  const key = noteKey(owner, write);
  if (old !== undefined) removeExpiry(tables, owner, write, readNoteValue(old).endsAtMs);
  const { text, endsAtMs = null } = write;
  if (text === null) {
    if (old !== undefined) tables.notes.remove(key);
    return;
  }
  tables.notes.put(key, `${endsAtMs ?? ''} ${text}`);
  if (endsAtMs !== null) tables.noteExpiry.put(expiryKey(owner, endsAtMs, write), '');
}

function removeExpiry(tables: Tables, owner: Buffer, ref: NoteRef, endsAtMs: number | null): void {
  if (endsAtMs !== null) tables.noteExpiry.remove(expiryKey(owner, endsAtMs, ref));
}

/** Removes the notes of a device on all partitions. */
export function removeNotesOf(tables: Tables, client: string): void {
  const prefix = keyOf(client);
  for (const key of [...tables.clientNotes.getKeys({ start: prefix, ...endAt(prefix) })]) {
    const name = key.subarray(prefix.length);
    const owner = Buffer.concat([name, prefix]);
    let bytes = 0;
    for (const size of noteSizes(tables, owner)) bytes += size;
    changeRetainedBytes(tables, partitionKeyOf(name), -bytes);
    removeAll(tables, owner);
    tables.clientNotes.remove(key);
  }
}

/** The bytes of each note on a partition, or of those of one device: `prefix` is the name of the partition, or its owner key. */
export function* noteSizes(tables: Tables, prefix: Buffer, transaction?: Transaction): Iterable<number> {
  const snapshot = transaction === undefined ? {} : { transaction };
  for (const { key, value } of tables.notes.getRange({ start: prefix, ...endAt(prefix), ...snapshot })) {
    yield keptBytes(textsOf(key).at(-1) ?? '', readNoteValue(value).text);
  }
}

/** Removes the notes of all devices on the partitions of a user. */
export function removeNotesOfUser(tables: Tables, user: string): void {
  const prefix = keyOf('user', user);
  for (const key of tables.notes.getKeys({ start: prefix, ...endAt(prefix) })) {
    const [, , source = '', client = ''] = textsOf(key);
    tables.clientNotes.remove(clientNotesKey(userPartition(source, user), client));
  }
  removeAll(tables, prefix);
}

/** Removes the notes of all devices on the partitions of a source. It reads all notes, since sources are rarely deleted. */
export function removeNotesOfSource(tables: Tables, source: string): void {
  for (const key of [...tables.clientNotes.getKeys()]) {
    const [client = ''] = textsOf(key);
    const partition = partitionKeyOf(key.subarray(keyOf(client).length));
    if (partition.source !== source) continue;
    removeAll(tables, ownerKey(partition, client));
    tables.clientNotes.remove(key);
  }
}

function removeAll(tables: Tables, prefix: Buffer): void {
  const end = behind(prefix) ?? Buffer.from([0xff]);
  removeRange(tables.notes, prefix, end);
  removeRange(tables.noteExpiry, prefix, end);
}

export function readNoteValue(value: string): { readonly endsAtMs: number | null; readonly text: string } {
  const space = value.indexOf(' ');
  return { endsAtMs: space === 0 ? null : Number(value.slice(0, space)), text: value.slice(space + 1) };
}

function ownerKey(partition: PartitionKey, client: string): Buffer {
  return Buffer.concat([partitionName(partition), keyOf(client)]);
}

function clientNotesKey(partition: PartitionKey, client: string): Buffer {
  return Buffer.concat([keyOf(client), partitionName(partition)]);
}

function noteKey(owner: Buffer, { kind, key }: NoteRef): Buffer {
  return Buffer.concat([owner, keyOf(kind, key)]);
}

function expiryKey(owner: Buffer, endsAtMs: number, { kind, key }: NoteRef): Buffer {
  return Buffer.concat([owner, keyOf(endsAtMs, kind, key)]);
}

function endAt(prefix: Buffer): { readonly end?: Buffer } {
  const end = behind(prefix);
  return end === undefined ? {} : { end };
}
