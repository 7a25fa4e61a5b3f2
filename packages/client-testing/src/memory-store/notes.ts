import type { Note, NoteList, NoteRef, NotesWrite, PartitionKey } from '@tidemark/core';
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

export function applyNotes(data: MemoryData, partition: PartitionKey, { client, writes, nowMs }: NotesWrite): void {
  for (const { kind, key, text, endsAtMs = Number.POSITIVE_INFINITY } of writes) {
    const mapKey = mapKeyOf(partition, client, { kind, key });
    if (text === null) data.notes.delete(mapKey);
    else data.notes.set(mapKey, { partition, client, kind, key, text, endsAtMs });
  }
  const ended = notesOf(data, partition, client).filter(({ endsAtMs }) => endsAtMs <= nowMs);
  for (const note of ended.slice(0, ENDED_PER_WRITE_MAX)) data.notes.delete(mapKeyOf(partition, client, note));
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
