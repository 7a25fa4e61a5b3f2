import type {
  Note,
  NoteKind,
  NoteList,
  NotePiece,
  NoteRef,
  NoteStore,
  NotesWrite,
  NoteWrite,
  PartitionKey,
} from '@tidemark/core/ports';
import type { EngineContext } from './engine-context.ts';
import { behind, keyOf, lookUpKey, NUMBER_BYTES, textsOf } from './keys.ts';
import { partitionKeyOf, partitionName, partitionParts } from './partitions.ts';
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

export function areNotesExpected(tables: Tables, partition: PartitionKey, { client, writes }: NotesWrite): boolean {
  const owner = ownerKey(partition, client);
  return writes.every(({ expect, ...ref }) => expect === undefined || expect === textOf(tables, owner, ref));
}

export function applyNotes(tables: Tables, partition: PartitionKey, { client, writes, nowMs }: NotesWrite): void {
  const owner = ownerKey(partition, client);
  for (const write of writes) applyNote(tables, owner, write);
  removeExpired(tables, owner, nowMs);
  tables.clientNotes.put(clientNotesKey(partition, client), '');
}

export function importNote(tables: Tables, { partition, client, note, endsAtMs }: NotePiece): void {
  const owner = ownerKey(partition, client);
  applyNote(tables, owner, { ...note, ...(endsAtMs === null ? {} : { endsAtMs }) });
  tables.clientNotes.put(clientNotesKey(partition, client), '');
}

function applyNote(tables: Tables, owner: Buffer, write: NoteWrite): void {
  const key = noteKey(owner, write);
  const old = tables.notes.get(key);
  if (old !== undefined) removeExpiry(tables, owner, write, readNoteValue(old).endsAtMs);
  const { text, endsAtMs = null } = write;
  if (text === null) {
    tables.notes.remove(key);
    return;
  }
  tables.notes.put(key, `${endsAtMs ?? ''} ${text}`);
  if (endsAtMs !== null) tables.noteExpiry.put(expiryKey(owner, endsAtMs, write), '');
}

function removeExpiry(tables: Tables, owner: Buffer, ref: NoteRef, endsAtMs: number | null): void {
  if (endsAtMs !== null) tables.noteExpiry.remove(expiryKey(owner, endsAtMs, ref));
}

function removeExpired(tables: Tables, owner: Buffer, nowMs: number): void {
  const end = Buffer.concat([owner, keyOf(nowMs + 1)]);
  for (const key of [...tables.noteExpiry.getKeys({ start: owner, end, limit: EXPIRED_PER_WRITE_MAX })]) {
    const [kind = '', name = ''] = textsOf(key, owner.length + NUMBER_BYTES);
    tables.noteExpiry.remove(key);
    tables.notes.remove(noteKey(owner, { kind: kind as NoteKind, key: name }));
  }
}

/** Removes the notes of a device on all partitions. */
export function removeNotesOf(tables: Tables, client: string): void {
  const prefix = keyOf(client);
  for (const key of [...tables.clientNotes.getKeys({ start: prefix, ...endAt(prefix) })]) {
    removeAll(tables, Buffer.concat([key.subarray(prefix.length), prefix]));
    tables.clientNotes.remove(key);
  }
}

/** Removes the notes of all devices on the partitions of a user. */
export function removeNotesOfUser(tables: Tables, user: string): void {
  const prefix = keyOf('user', user);
  for (const key of tables.notes.getKeys({ start: prefix, ...endAt(prefix) })) {
    const [, , source = '', client = ''] = textsOf(key);
    tables.clientNotes.remove(clientNotesKey({ source, user }, client));
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

function textOf(tables: Tables, owner: Buffer, ref: NoteRef): string | null {
  const value = tables.notes.get(noteKey(owner, ref));
  return value === undefined ? null : readNoteValue(value).text;
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
