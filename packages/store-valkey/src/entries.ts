import type { Entry, EntryBatch, EntryStore, EntryWrite, WriteResult } from '@tidemark/core/ports';
import { erasuresIn } from './erase.ts';
import { readOnly, unavailable } from './failure.ts';
import { EVERYTHING, entryField, erasureOf, exclusive, keyOf, membersFrom, textsOf } from './keys.ts';
import { type EngineContext, guardAt, guardRows } from './scope-access.ts';
import { freeEntriesScript, listEntriesScript, writeEntriesScript } from './scripts/registry.ts';
import { bytesOf, listOf, numberOf, pairsOf, type Reply, textListOf, textOf } from './wire.ts';

const ATTEMPTS_MAX = 20;
const SPACE = 0x20;

/** The entries of the registry: users, clients, sources, tokens, settings. */
export function entries(context: EngineContext): EntryStore {
  const { connection, layout } = context;
  return {
    async readEntry(ref) {
      const stored = await connection.command('HGET', layout.registryKey('entries'), entryField(ref));
      return stored === null ? null : entryFrom([...ref.key], bytesOf(stored));
    },

    async listEntries({ kind, prefix, after, limit }) {
      const { min, max } = membersFrom(keyOf(kind, ...prefix));
      const from = after === undefined ? min : exclusive(keyOf(kind, ...after));
      const args = listEntriesScript.args({ min: from, max, limit });
      const found = listOf(await connection.run(listEntriesScript, layout.registry, args));
      return entriesFrom(found).map((entry) => ({ ...entry, key: entry.key.slice(1) }));
    },

    async countEntries(kind, prefix = []) {
      const { min, max } = membersFrom(keyOf(kind, ...prefix));
      return numberOf(await connection.command('ZLEXCOUNT', layout.registryKey('entry_names'), min, max));
    },

    writeEntries: (batch) => writeEntries(context, batch),
  };
}

/** An entry is stored as its version, a space and its value. */
function entryFrom(key: readonly string[], stored: Buffer): Entry {
  const space = stored.indexOf(SPACE);
  return { key, version: Number(stored.toString('latin1', 0, space)), value: stored.toString('utf8', space + 1) };
}

/** Entries as the script lists them. The first part of each key is the kind. */
export function entriesFrom(found: readonly Reply[]): readonly Entry[] {
  return pairsOf(found).map(([field, stored]) => entryFrom(textsOf(textOf(field)), bytesOf(stored)));
}

async function writeEntries({ connection, layout, scopes }: EngineContext, batch: EntryBatch): Promise<WriteResult> {
  requireSound(batch.writes);
  const erasures = erasuresIn(batch.erase ?? {});
  const script = mayExceedMemory(batch) ? freeEntriesScript : writeEntriesScript;
  const args = script.args({
    guards: guardRows(batch.guards),
    blockedBy: [EVERYTHING, ...batch.writes.flatMap(blockingErasure)],
    writes: batch.writes.map((write) => ({
      field: entryField(write),
      expect: write.expect ?? '',
      value: write.value === null ? '' : `=${write.value}`,
    })),
    erasures,
  });
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const reply = listOf(await connection.write(script, layout.registry, args));
    const kind = textOf(reply[0]);
    if (kind === 'erasing') {
      await scopes.finishErasures(textListOf(reply.slice(1)));
      continue;
    }
    if (kind === 'read_only') throw readOnly();
    if (kind === 'gone') return { status: 'gone', guard: guardAt(batch.guards, reply[1]) };
    if (kind === 'conflict') return { status: 'conflict' };
    await scopes.finishErasures(erasures);
    return { status: 'written' };
  }
  throw unavailable('erasures kept coming in between');
}

/** Deletions free memory. A token is small, a device has few, and without one nobody could delete anything. */
function mayExceedMemory({ writes, erase }: EntryBatch): boolean {
  return (
    erase !== undefined || writes.some(({ kind }) => kind === 'token') || writes.every(({ value }) => value === null)
  );
}

function requireSound(writes: readonly EntryWrite[]): void {
  const fields = new Set(writes.map((write) => entryField(write)));
  if (fields.size !== writes.length) throw new Error('a batch writes the same entry twice');
}

/** A user, client or source is created only after the erasure of an earlier one with the same name is finished. */
function blockingErasure({ kind, key, value }: EntryWrite): string[] {
  if (value === null || (kind !== 'user' && kind !== 'client' && kind !== 'source')) return [];
  return [erasureOf(kind, key[0] ?? '')];
}
