import type { Entry, EntryBatch, EntryKind, EntryList, EntryRef, EntryWrite, WriteResult } from '@tidemark/core/ports';
import { doomsIn } from './erase.ts';
import { sealed, unavailable } from './failure.ts';
import { doomOf, EVERYTHING, entryField, guardArgs } from './guards.ts';
import { exclusive, keyOf, membersFrom, textsOf } from './keys.ts';
import type { Layout } from './layout.ts';
import type { Link } from './link.ts';
import { listArgs } from './lists.ts';
import type { Places } from './places.ts';
import { bytesOf, listOf, numberOf, textOf } from './reply.ts';
import { freeEntriesScript, listEntriesScript, writeEntriesScript } from './scripts/registry.ts';
import type { Reply } from './wire.ts';

const ATTEMPTS_MAX = 20;
const SPACE = 0x20;

// The value is kept behind its version and a space.

export async function readEntry(link: Link, layout: Layout, ref: EntryRef): Promise<Entry | null> {
  const kept = await link.command('HGET', layout.registryKey('entries'), entryField(ref));
  return kept === null ? null : entryOf([...ref.key], bytesOf(kept));
}

function entryOf(key: readonly string[], kept: Buffer): Entry {
  const space = kept.indexOf(SPACE);
  return { key, version: Number(kept.toString('latin1', 0, space)), value: kept.toString('utf8', space + 1) };
}

export async function listEntries(link: Link, layout: Layout, list: EntryList): Promise<readonly Entry[]> {
  const { kind, prefix, after, limit } = list;
  const { min, max } = membersFrom(keyOf(kind, ...prefix));
  const from = after === undefined ? min : exclusive(keyOf(kind, ...after));
  const found = listOf(await link.run(listEntriesScript, layout.registry, [from, max, limit]));
  return listedEntries(found).map((entry) => ({ ...entry, key: entry.key.slice(1) }));
}

/** As the script lists them, with the kind as the first part of each key. */
export function listedEntries(found: readonly Reply[]): readonly Entry[] {
  const entries: Entry[] = [];
  for (let index = 0; index < found.length; index += 2) {
    entries.push(entryOf(textsOf(textOf(found[index])), bytesOf(found[index + 1])));
  }
  return entries;
}

export async function countEntries(link: Link, layout: Layout, kind: EntryKind): Promise<number> {
  const { min, max } = membersFrom(keyOf(kind));
  return numberOf(await link.command('ZLEXCOUNT', layout.registryKey('names'), min, max));
}

export async function writeEntries(
  link: Link,
  layout: Layout,
  places: Places,
  batch: EntryBatch,
): Promise<WriteResult> {
  requireSound(batch.writes);
  const dooms = doomsIn(batch.erase ?? {});
  const args = [
    ...guardArgs(batch.guards),
    ...listArgs([EVERYTHING, ...batch.writes.flatMap(doomOfMade)]),
    ...listArgs(batch.writes.flatMap(writeArgs)),
    ...listArgs(dooms),
  ];
  const script = mayExceedMemory(batch) ? freeEntriesScript : writeEntriesScript;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const [status, ...more] = listOf(await link.write(script, layout.registry, args));
    const kind = textOf(status);
    if (kind === 'doomed') {
      await places.carryOut(more.map((field) => textOf(field)));
      continue;
    }
    if (kind === 'sealed') throw sealed();
    if (kind === 'gone') return { status: 'gone', guard: batch.guards[numberOf(more[0]) - 1] ?? missing() };
    if (kind === 'conflict') return { status: 'conflict' };
    await places.carryOut(dooms);
    return { status: 'written' };
  }
  throw unavailable('erasures kept coming in between');
}

/** A token is small, a device has few, and without one nobody could delete anything. */
function mayExceedMemory({ writes, erase }: EntryBatch): boolean {
  return (
    erase !== undefined || writes.some(({ kind }) => kind === 'token') || writes.every(({ value }) => value === null)
  );
}

function requireSound(writes: readonly EntryWrite[]): void {
  const names = new Set(writes.map((write) => entryField(write)));
  if (names.size !== writes.length) throw new Error('an entry stands twice in a batch');
}

/** Whoever is made again is made only after the erasure of the last one of that name is finished. */
function doomOfMade({ kind, key, value }: EntryWrite): string[] {
  if (value === null || (kind !== 'user' && kind !== 'client' && kind !== 'source')) return [];
  return [doomOf(kind, key[0] ?? '')];
}

function writeArgs(write: EntryWrite): (string | number)[] {
  return [entryField(write), write.expect ?? '', write.value === null ? '' : `=${write.value}`];
}

function missing(): never {
  throw new Error('a script named a guard that was not given');
}
