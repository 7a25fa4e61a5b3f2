import { keptBytes, type Note, type NoteList, type NoteRef, type NotesWrite, type PartitionKey } from '@tidemark/core';
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
    const note = data.notes.get(mapKeyOf(partition, client, ref));
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
    const text = data.notes.get(mapKeyOf(partition, client, write))?.text ?? null;
    return write.expect === undefined || write.expect === text;
  });
}

export function applyNotes(data: MemoryData, partition: PartitionKey, notes: NotesWrite): void {
  const { client, writes } = notes;
  for (const note of endedNotes(data, partition, notes)) data.notes.delete(mapKeyOf(partition, client, note));
  for (const { kind, key, text, endsAtMs = Number.POSITIVE_INFINITY } of writes) {
    const mapKey = mapKeyOf(partition, client, { kind, key });
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
    const old = data.notes.get(mapKeyOf(partition, client, { kind, key }));
    if (old !== undefined) gone.add(old);
    if (text !== null) growth += keptBytes(key, text);
  }
  for (const { key, text } of gone) growth -= keptBytes(key, text);
  return growth;
}

export function bytesOfNotes(data: MemoryData, { source, user }: PartitionKey): number {
  let bytes = 0;
  for (const { partition, key, text } of data.notes.values()) {
    if (partition.source === source && partition.user === user) bytes += keptBytes(key, text);
  }
  return bytes;
}

function endedNotes(data: MemoryData, partition: PartitionKey, { client, nowMs }: NotesWrite): readonly MemoryNote[] {
  const ended = notesOf(data, partition, client).filter(({ endsAtMs }) => endsAtMs <= nowMs);
  return ended.slice(0, ENDED_PER_WRITE_MAX);
}

function notesOf(data: MemoryData, { source, user }: PartitionKey, client: string): MemoryNote[] {
  return [...data.notes.values()].filter(
    (note) => note.partition.source === source && note.partition.user === user && note.client === client,
  );
}

function mapKeyOf({ source, user }: PartitionKey, client: string, { kind, key }: NoteRef): string {
  return tupleKey(source, user, client, kind, key);
}

function noteOf({ kind, key, text }: Note): Note {
  return { kind, key, text };
}
