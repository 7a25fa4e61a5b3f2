import {
  type NoteKind,
  type NoteRef,
  type NoteStore,
  type NotesWrite,
  type NoteWrite,
  scopeOf,
} from '@tidemark/core/ports';
import { DIGITS, digitsOf, exclusive, keyOf, membersFrom, textsOf } from './keys.ts';
import type { EngineContext } from './scope-access.ts';
import { listNotesScript, readNotesScript } from './scripts/devices.ts';
import { pairsOf, textOf } from './wire.ts';

/** A note is stored as the digits of the time at which it expires, or these dashes, and its text. */
const NEVER = '-'.repeat(DIGITS);

export function notes({ scopes }: EngineContext): Pick<NoteStore, 'readNotes' | 'listNotes'> {
  return {
    async readNotes(key, client, refs) {
      const fields = refs.map((ref) => noteField(client, ref));
      const read = { scope: scopeOf(key), client, script: readNotesScript, values: { fields } };
      const [, ...values] = await scopes.read(read);
      return refs.flatMap((ref, index) => {
        const value = textOf(values[index]);
        return value === '' ? [] : [{ kind: ref.kind, key: ref.key, text: noteFrom(value).text }];
      });
    },

    async listNotes(key, client, { kind, after, limit }) {
      const { min, max } = membersFrom(keyOf(client, kind));
      const from = after === undefined ? min : exclusive(noteField(client, { kind, key: after }));
      const values = { min: from, max, limit };
      const [, ...found] = await scopes.read({ scope: scopeOf(key), client, script: listNotesScript, values });
      return pairsOf(found).map(([field, value]) => {
        const [, noteKind, name = ''] = textsOf(textOf(field));
        return { kind: noteKind as NoteKind, key: name, text: noteFrom(textOf(value)).text };
      });
    },
  };
}

/** This would be a bug of the caller. */
export function requireSoundNotes({ writes }: NotesWrite): void {
  const names = new Set(writes.map(({ kind, key }) => JSON.stringify([kind, key])));
  if (names.size !== writes.length) throw new Error('a commit writes the same note twice');
}

/** The notes of a commit, as its script takes them. */
export function noteValues({ client, writes, nowMs }: NotesWrite) {
  return {
    client: keyOf(client),
    expiredBefore: keyOf(client) + digitsOf(nowMs + 1),
    writes: writes.map((one) => ({
      field: noteField(client, one),
      value: noteValue(one),
      expect: one.expect === undefined ? '' : one.expect === null ? '-' : `=${one.expect}`,
    })),
  };
}

/** The member of the index by expiry: notes of one client in the order in which they expire. */
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

export function noteFrom(value: string): { readonly text: string; readonly endsAtMs: number | null } {
  const ends = value.slice(0, DIGITS);
  return { text: value.slice(DIGITS), endsAtMs: ends === NEVER ? null : Number(ends) };
}
