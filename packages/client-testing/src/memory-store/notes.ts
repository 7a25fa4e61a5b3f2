import {
  isSameOwner,
  keptBytes,
  type Note,
  type NoteList,
  type NoteRef,
  type NotesWrite,
  ownerText,
  type PartitionKey,
} from '@tidemark/core';
import type { MemoryData, MemoryNote } from './memory-data.ts';
import { compareUtf8, tupleKey } from './tuples.ts';

/** Expired notes that one write removes. */
const ENDED_PER_WRITE_MAX = 100;

export function readNotes(
  data: MemoryData,
  partition: PartitionKey,
  client: string,
  refs: readonly NoteRef[],
): readonly Note[] {
  return refs.flatMap((ref) => {
    const note = data.notes.get(noteKeyOf(partition, client, ref));
    return note === undefined ? [] : [noteOf(note)];
  });
}

export function listNotes(
  data: MemoryData,
  partition: PartitionKey,
  client: string,
  { kind, after, limit }: NoteList,
): readonly Note[] {
  return notesOf(data, partition, client)
    .filter((note) => note.kind === kind && (after === undefined || compareUtf8(note.key, after) > 0))
    .sort((left, right) => compareUtf8(left.key, right.key))
    .slice(0, limit)
    .map(noteOf);
}

export function assertSoundNotes({ client, writes }: NotesWrite): void {
  const places = new Set(writes.map(({ kind, key }) => tupleKey(client, kind, key)));
  if (places.size !== writes.length) throw new Error('a note stands twice in a commit');
}

export function areNotesExpected(data: MemoryData, partition: PartitionKey, { client, writes }: NotesWrite): boolean {
  return writes.every((write) => {
    const text = data.notes.get(noteKeyOf(partition, client, write))?.text ?? null;
    return write.expect === undefined || write.expect === text;
  });
}

export function applyNotes(data: MemoryData, partition: PartitionKey, notes: NotesWrite): void {
  const { client, writes } = notes;
  for (const note of endedNotes(data, partition, notes)) data.notes.delete(noteKeyOf(partition, client, note));
  for (const { kind, key, text, endsAtMs = Number.POSITIVE_INFINITY } of writes) {
    const mapKey = noteKeyOf(partition, client, { kind, key });
    if (text === null) data.notes.delete(mapKey);
    else data.notes.set(mapKey, { partition, client, kind, key, text, endsAtMs });
  }
}

/** By how many bytes the notes of a partition grow. */
export function growthOfNotes(data: MemoryData, partition: PartitionKey, notes: NotesWrite): number {
  const { client, writes } = notes;
  const gone = new Set<Note>(endedNotes(data, partition, notes));
  let growth = 0;
  for (const { kind, key, text } of writes) {
    const old = data.notes.get(noteKeyOf(partition, client, { kind, key }));
    if (old !== undefined) gone.add(old);
    if (text !== null) growth += keptBytes(key, text);
  }
  for (const { key, text } of gone) growth -= keptBytes(key, text);
  return growth;
}

export function bytesOfNotes(data: MemoryData, whose: PartitionKey): number {
  let bytes = 0;
  for (const { partition, key, text } of data.notes.values()) {
    if (isSame(partition, whose)) bytes += keptBytes(key, text);
  }
  return bytes;
}

function endedNotes(data: MemoryData, partition: PartitionKey, { client, nowMs }: NotesWrite): readonly MemoryNote[] {
  const ended = notesOf(data, partition, client).filter(({ endsAtMs }) => endsAtMs <= nowMs);
  return ended.slice(0, ENDED_PER_WRITE_MAX);
}

function notesOf(data: MemoryData, whose: PartitionKey, client: string): MemoryNote[] {
  return [...data.notes.values()].filter((note) => isSame(note.partition, whose) && note.client === client);
}

function isSame(left: PartitionKey, right: PartitionKey): boolean {
  return left.source === right.source && isSameOwner(left.owner, right.owner);
}

/** The key of a note in `notes`. */
export function noteKeyOf({ source, owner }: PartitionKey, client: string, { kind, key }: NoteRef): string {
  return tupleKey(source, ownerText(owner), client, kind, key);
}

function noteOf({ kind, key, text }: Note): Note {
  return { kind, key, text };
}
