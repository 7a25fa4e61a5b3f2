import type { Change, Commit, CommitResult, NotesWrite } from '@tidemark/core/ports';
import { newWord } from './facts.ts';
import { placeOf, requireName } from './keys.ts';
import { longListArgs } from './lists.ts';
import { notesArgs, requireSoundNotes } from './notes.ts';
import { stateFrom } from './partitions.ts';
import type { Places } from './places.ts';
import { headedRecord } from './records.ts';
import { textOf } from './reply.ts';
import { commitScript } from './scripts/commit.ts';
import type { Argument } from './wire.ts';

export async function commit(places: Places, { partition, guards, notes, ...terms }: Commit): Promise<CommitResult> {
  requireSound(terms.changes);
  if (notes !== undefined) requireSoundNotes(notes);
  const written = await places.write({
    place: placeOf(partition),
    script: commitScript,
    guards,
    args: await commitArgs(terms, notes),
    more: (keys) => (notes === undefined ? (keys.some(['fence'])[0] ?? '') : keys.clientFence(notes.client)),
    ...(notes === undefined ? {} : { client: notes.client }),
  });
  if (written.gone !== null) return { status: 'gone', guard: written.gone };
  const [status, state] = written.reply;
  const kind = textOf(status);
  if (kind === 'conflict' || kind === 'too_large') return { status: kind };
  return { status: 'committed', state: await stateFrom(state, () => places.epoch()) };
}

/** These would be bugs of the caller, and would leave the journal unsound. */
function requireSound(changes: readonly Change[]): void {
  const ids = new Set<string>();
  for (const { id, record, checksum } of changes) {
    requireName(id);
    ids.add(id);
    if (record === null && checksum !== 0) throw new Error('a deletion has no checksum');
  }
  if (ids.size !== changes.length) throw new Error('an id stands twice in a commit');
}

async function commitArgs(
  { changes, expectHead, kept = [], seen, bytesMax }: Omit<Commit, 'partition' | 'guards' | 'notes'>,
  notes: NotesWrite | undefined,
): Promise<Argument[]> {
  return [
    expectHead ?? '',
    ...(seen === undefined ? ['', ''] : [seen.epoch, seen.head]),
    newWord(),
    bytesMax ?? '',
    ...(await longListArgs(changes, ({ id }) => id)),
    ...(await longListArgs(changes, valueFor)),
    ...(await longListArgs(changes, ({ expect }) => String(expect ?? ''))),
    ...(await longListArgs(kept, ({ id }) => id)),
    ...(await longListArgs(kept, ({ expect }) => String(expect))),
    ...(notes === undefined ? [''] : notesArgs(notes)),
  ];
}

function valueFor({ record, checksum }: Change): string {
  return record === null ? '' : headedRecord(record, checksum);
}
