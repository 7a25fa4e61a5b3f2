import type {
  Note,
  NoteKind,
  NoteList,
  NotePiece,
  NoteRef,
  NotesWrite,
  NoteWrite,
  PartitionKey,
} from '@tidemark/core/ports';
import { behind, keyOf, lookUpKey, NUMBER_BYTES, textsOf } from './keys.ts';
import { partitionKeyOf, partitionName, partitionParts } from './partitions.ts';
import { removeRange } from './ranges.ts';
import type { Tables } from './tables.ts';

// A note is kept as the moment it ends, in milliseconds or nothing, a space, and its text.

/** Ended notes that go with one write. */
const ENDED_PER_WRITE_MAX = 100;

export function readNotes(
  tables: Tables,
  partition: PartitionKey,
  client: string,
  refs: readonly NoteRef[],
): readonly Note[] {
  const owner = ownerKey(partition, client);
  return refs.flatMap(({ kind, key }) => {
    const value = tables.notes.get(noteKey(owner, { kind, key }));
    return value === undefined ? [] : [{ kind, key, text: readNoteValue(value).text }];
  });
}

export function listNotes(
  tables: Tables,
  partition: PartitionKey,
  client: string,
  { kind, after, limit }: NoteList,
): readonly Note[] {
  // Most devices upload nothing, and every pull asks: a look-up costs a fraction of a range.
  if (tables.noted.get(lookUpKey(client, ...partitionParts(partition))) === undefined) return [];
  const prefix = Buffer.concat([ownerKey(partition, client), keyOf(kind)]);
  const start = after === undefined ? prefix : Buffer.concat([prefix, keyOf(after)]);
  const found = tables.notes.getRange({ start, exclusiveStart: after !== undefined, ...endOf(prefix), limit });
  return [...found].map(({ key, value }) => {
    const [name = ''] = textsOf(key, prefix.length);
    return { kind, key: name, text: readNoteValue(value).text };
  });
}

// Writing: these run in the writer's transaction

/** These would be bugs of the caller. */
export function requireSoundNotes({ writes }: NotesWrite): void {
  const names = new Set(writes.map(({ kind, key }) => JSON.stringify([kind, key])));
  if (names.size !== writes.length) throw new Error('a note stands twice in a commit');
}

export function areNotesExpected(tables: Tables, partition: PartitionKey, { client, writes }: NotesWrite): boolean {
  const owner = ownerKey(partition, client);
  return writes.every(({ expect, ...ref }) => expect === undefined || expect === textOf(tables, owner, ref));
}

export function applyNotes(tables: Tables, partition: PartitionKey, { client, writes, nowMs }: NotesWrite): void {
  const owner = ownerKey(partition, client);
  for (const write of writes) applyNote(tables, owner, write);
  removeEnded(tables, owner, nowMs);
  tables.noted.put(notedKey(partition, client), '');
}

/** Puts down a note as it is. */
export function importNote(tables: Tables, { partition, client, note, endsAtMs }: NotePiece): void {
  const owner = ownerKey(partition, client);
  applyNote(tables, owner, { ...note, ...(endsAtMs === null ? {} : { endsAtMs }) });
  tables.noted.put(notedKey(partition, client), '');
}

function applyNote(tables: Tables, owner: Buffer, write: NoteWrite): void {
  const place = noteKey(owner, write);
  const old = tables.notes.get(place);
  if (old !== undefined) forgetEnd(tables, owner, write, readNoteValue(old).endsAtMs);
  const { text, endsAtMs = null } = write;
  if (text === null) {
    tables.notes.remove(place);
    return;
  }
  tables.notes.put(place, `${endsAtMs ?? ''} ${text}`);
  if (endsAtMs !== null) tables.ending.put(endKey(owner, endsAtMs, write), '');
}

function forgetEnd(tables: Tables, owner: Buffer, ref: NoteRef, endsAtMs: number | null): void {
  if (endsAtMs !== null) tables.ending.remove(endKey(owner, endsAtMs, ref));
}

function removeEnded(tables: Tables, owner: Buffer, nowMs: number): void {
  const end = Buffer.concat([owner, keyOf(nowMs + 1)]);
  for (const key of [...tables.ending.getKeys({ start: owner, end, limit: ENDED_PER_WRITE_MAX })]) {
    const [kind = '', name = ''] = textsOf(key, owner.length + NUMBER_BYTES);
    tables.ending.remove(key);
    tables.notes.remove(noteKey(owner, { kind: kind as NoteKind, key: name }));
  }
}

/** Of a device, on all partitions. */
export function removeNotesOf(tables: Tables, client: string): void {
  const prefix = keyOf(client);
  for (const key of [...tables.noted.getKeys({ start: prefix, ...endOf(prefix) })]) {
    removeAll(tables, Buffer.concat([key.subarray(prefix.length), prefix]));
    tables.noted.remove(key);
  }
}

/** Of all devices, on the partitions of a user. */
export function removeNotesOfUser(tables: Tables, user: string): void {
  const prefix = keyOf('user', user);
  for (const key of tables.notes.getKeys({ start: prefix, ...endOf(prefix) })) {
    const [, , source = '', client = ''] = textsOf(key);
    tables.noted.remove(notedKey({ source, user }, client));
  }
  removeAll(tables, prefix);
}

/** Of all devices, on the partitions of a source. Sources go so rarely that looking at all who have notes is fine. */
export function removeNotesOfSource(tables: Tables, source: string): void {
  for (const key of [...tables.noted.getKeys()]) {
    const [client = ''] = textsOf(key);
    const partition = partitionKeyOf(key.subarray(keyOf(client).length));
    if (partition.source !== source) continue;
    removeAll(tables, ownerKey(partition, client));
    tables.noted.remove(key);
  }
}

function removeAll(tables: Tables, prefix: Buffer): void {
  const end = behind(prefix) ?? Buffer.from([0xff]);
  removeRange(tables.notes, prefix, end);
  removeRange(tables.ending, prefix, end);
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

function notedKey(partition: PartitionKey, client: string): Buffer {
  return Buffer.concat([keyOf(client), partitionName(partition)]);
}

function noteKey(owner: Buffer, { kind, key }: NoteRef): Buffer {
  return Buffer.concat([owner, keyOf(kind, key)]);
}

function endKey(owner: Buffer, endsAtMs: number, { kind, key }: NoteRef): Buffer {
  return Buffer.concat([owner, keyOf(endsAtMs, kind, key)]);
}

function endOf(prefix: Buffer): { readonly end?: Buffer } {
  const end = behind(prefix);
  return end === undefined ? {} : { end };
}
