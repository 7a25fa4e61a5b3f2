import type { Keyspace } from './connection.ts';
import { resetStore } from './erase.ts';
import { beginEpoch, FORMAT, migrationStateFrom, newId, readTrialFormat } from './meta.ts';
import { claimScript } from './scripts/registry.ts';
import { textListOf } from './wire.ts';

/**
 * Why a store is opened: by a server, or by a migration as its source or its target. A source that was already moved is
 * opened only with `isMovedAllowed`. A target must be empty; with `isCleaned`, what an earlier migration left is deleted.
 */
export type Opening =
  | { readonly as: 'server' }
  | { readonly as: 'source'; readonly isMovedAllowed: boolean }
  | { readonly as: 'target'; readonly isCleaned: boolean };

/** Prepares the store for its opening. Returns null, or the reason why it cannot be opened, to follow its name. */
export async function prepareOpening(keyspace: Keyspace, opening: Opening): Promise<string | null> {
  const trialFormat = await readTrialFormat(keyspace);
  if (trialFormat !== null) {
    return `has format ${trialFormat} of a trial version, and this version reads format ${FORMAT}; choose another prefix`;
  }
  if (opening.as === 'target') return claim(keyspace, opening.isCleaned);
  const meta = keyspace.layout.registryKey('meta');
  if (opening.as === 'source' && (await keyspace.connection.command('HGET', meta, 'epoch')) === null) {
    return 'holds no data';
  }
  const { migration } = await beginEpoch(keyspace);
  if (migration?.state === 'incomplete') {
    return 'holds a migration that was broken off; run tidemark migrate again with --clean, or choose another prefix';
  }
  if (migration?.state === 'moving' && opening.as === 'server') {
    return `was being moved to ${migration.to}; run that tidemark migrate again with --clean, or stay with tidemark migrate --release`;
  }
  if (migration?.state !== 'moved' || (opening.as === 'source' && opening.isMovedAllowed)) return null;
  return `was moved to ${migration.to}, and has gone on there`;
}

async function claim(keyspace: Keyspace, isCleaned: boolean): Promise<string | null> {
  const { connection, layout } = keyspace;
  const args = claimScript.args({ epoch: newId(), format: FORMAT, mayClean: isCleaned });
  const [outcome, migration = ''] = textListOf(await connection.write(claimScript, layout.registry, args));
  if (outcome === 'used') return 'is not empty; a migration needs a place of its own';
  if (outcome === 'left') {
    const state = migrationStateFrom(migration)?.state;
    if (state === 'moving') return 'is itself being moved';
    const what = state === 'incomplete' ? 'a migration that was broken off' : 'data that was moved away';
    return `holds ${what}; add --clean to empty it first`;
  }
  if (outcome === 'cleanable') await resetStore(keyspace, []);
  return null;
}
