import type { Note, NoteList, NoteRef, NotesWrite, PartitionKey } from '@tidemark/core';
import { compareUtf8 } from './compare-tuples.ts';
import type { MemoryLife, MemoryNote } from './memory-life.ts';
import { tupleKey } from './tuple-key.ts';

/** Ended notes that go with one write. */
const ENDED_PER_WRITE_MAX = 100;

export function readNotes(
  life: MemoryLife,
  partition: PartitionKey,
  client: string,
  refs: readonly NoteRef[],
): readonly Note[] {
  return refs.flatMap((ref) => {
    const note = life.notes.get(placeOf(partition, client, ref));
    return note === undefined ? [] : [noteOf(note)];
  });
}

export function listNotes(
  life: MemoryLife,
  partition: PartitionKey,
  client: string,
  { kind, after, limit }: NoteList,
): readonly Note[] {
  return notesOf(life, partition, client)
    .filter((note) => note.kind === kind && (after === undefined || compareUtf8(note.key, after) > 0))
    .sort((left, right) => compareUtf8(left.key, right.key))
    .slice(0, limit)
    .map(noteOf);
}

export function assertSoundNotes({ client, writes }: NotesWrite): void {
  const places = new Set(writes.map(({ kind, key }) => tupleKey(client, kind, key)));
  if (places.size !== writes.length) throw new Error('a note stands twice in a commit');
}

export function areNotesExpected(life: MemoryLife, partition: PartitionKey, { client, writes }: NotesWrite): boolean {
  return writes.every((write) => {
    const text = life.notes.get(placeOf(partition, client, write))?.text ?? null;
    return write.expect === undefined || write.expect === text;
  });
}

export function applyNotes(life: MemoryLife, partition: PartitionKey, { client, writes, nowMs }: NotesWrite): void {
  for (const { kind, key, text, endsAtMs = Number.POSITIVE_INFINITY } of writes) {
    const place = placeOf(partition, client, { kind, key });
    if (text === null) life.notes.delete(place);
    else life.notes.set(place, { partition, client, kind, key, text, endsAtMs });
  }
  const ended = notesOf(life, partition, client).filter(({ endsAtMs }) => endsAtMs <= nowMs);
  for (const note of ended.slice(0, ENDED_PER_WRITE_MAX)) life.notes.delete(placeOf(partition, client, note));
}

function notesOf(life: MemoryLife, { source, user }: PartitionKey, client: string): MemoryNote[] {
  return [...life.notes.values()].filter(
    (note) => note.partition.source === source && note.partition.user === user && note.client === client,
  );
}

function placeOf({ source, user }: PartitionKey, client: string, { kind, key }: NoteRef): string {
  return tupleKey(source, user, client, kind, key);
}

function noteOf({ kind, key, text }: Note): Note {
  return { kind, key, text };
}
