import type { Note, NoteKind, NoteList, NoteRef, NotesWrite, NoteWrite, PartitionKey } from '@tidemark/core/ports';
import { DIGITS, digitsOf, exclusive, keyOf, membersFrom, placeOf, textsOf } from './keys.ts';
import { listArgs } from './lists.ts';
import type { Places } from './places.ts';
import { textOf } from './reply.ts';
import { listNotesScript, readNotesScript } from './scripts/devices.ts';
import type { Argument } from './wire.ts';

// A note is kept as the digits of the moment it ends, and its text.

/** Instead of digits. */
const NEVER = '-'.repeat(DIGITS);

export async function readNotes(
  places: Places,
  partition: PartitionKey,
  client: string,
  refs: readonly NoteRef[],
): Promise<readonly Note[]> {
  const args = listArgs(refs.map((ref) => noteField(client, ref)));
  const [, ...values] = await places.read({ place: placeOf(partition), client, script: readNotesScript, args });
  return refs.flatMap(({ kind, key }, index) => {
    const value = textOf(values[index]);
    return value === '' ? [] : [{ kind, key, text: value.slice(DIGITS) }];
  });
}

export async function listNotes(
  places: Places,
  partition: PartitionKey,
  client: string,
  { kind, after, limit }: NoteList,
): Promise<readonly Note[]> {
  const { min, max } = membersFrom(keyOf(client, kind));
  const from = after === undefined ? min : exclusive(noteField(client, { kind, key: after }));
  const read = { place: placeOf(partition), client, script: listNotesScript, args: [from, max, limit] };
  const [, ...found] = await places.read(read);
  const notes: Note[] = [];
  for (let index = 0; index < found.length; index += 2) {
    const [, noteKind, key = ''] = textsOf(textOf(found[index]));
    notes.push({ kind: noteKind as NoteKind, key, text: textOf(found[index + 1]).slice(DIGITS) });
  }
  return notes;
}

/** These would be bugs of the caller. */
export function requireSoundNotes({ writes }: NotesWrite): void {
  const names = new Set(writes.map(({ kind, key }) => JSON.stringify([kind, key])));
  if (names.size !== writes.length) throw new Error('a note stands twice in a commit');
}

/** As the script takes them. */
export function notesArgs({ client, writes, nowMs }: NotesWrite): Argument[] {
  const triples = writes.flatMap((write) => [noteField(client, write), noteValue(write), expectation(write)]);
  return ['1', keyOf(client), keyOf(client) + digitsOf(nowMs + 1), ...listArgs(triples)];
}

/** Under which the end of a note stands: by device, in the order in which they come. */
export function noteEnd(client: string, { kind, key }: NoteRef, endsAtMs: number): string {
  return keyOf(client) + digitsOf(endsAtMs) + keyOf(kind, key);
}

export function noteField(client: string, { kind, key }: NoteRef): string {
  return keyOf(client, kind, key);
}

export function noteValue({ text, endsAtMs }: NoteWrite): string {
  if (text === null) return '';
  return `${endsAtMs === undefined ? NEVER : digitsOf(endsAtMs)}${text}`;
}

function expectation({ expect }: NoteWrite): string {
  if (expect === undefined) return '';
  return expect === null ? '-' : `=${expect}`;
}
