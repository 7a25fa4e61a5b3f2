import { randomBytes } from 'node:crypto';
import type { MigrationState, StoreHead } from '@tidemark/core/ports';
import type { Keyspace } from './connection.ts';
import { beginScript, migrationScript } from './scripts/registry.ts';
import { listOf, numberOf, textListOf, textOf } from './wire.ts';

// The hash `meta` of the registry: format, epoch, last version, migration state.

/** The format that this version writes and reads. */
export const FORMAT = '2';

export function newId(): string {
  return randomBytes(8).toString('base64url');
}

/** Returns the format of a store that a trial version wrote, which kept it under another key; null: there is none. */
export async function readTrialFormat({ connection, layout }: Keyspace): Promise<string | null> {
  const format = await connection.command('HGET', `${layout.prefix}{registry}:facts`, 'format');
  return format === null ? null : textOf(format);
}

/** The epoch of the store. An empty store gets its first one. */
export async function readEpoch(keyspace: Keyspace): Promise<string> {
  const known = await keyspace.connection.command('HGET', keyspace.layout.registryKey('meta'), 'epoch');
  return known === null ? (await beginEpoch(keyspace)).epoch : textOf(known);
}

/** Gives an empty store its first epoch. Of several callers at once, the first one decides. */
export async function beginEpoch({
  connection,
  layout,
}: Keyspace): Promise<{ readonly epoch: string; readonly migration: MigrationState | null }> {
  const reply = await connection.run(
    beginScript,
    layout.registry,
    beginScript.args({ epoch: newId(), format: FORMAT }),
  );
  const [epoch = '', format = '', migration = ''] = textListOf(reply);
  if (format !== FORMAT) {
    throw new Error(`the store has format ${format}, this version of Tidemark reads format ${FORMAT}`);
  }
  return { epoch, migration: migrationStateFrom(migration) };
}

/** Versions, also those of documents, follow the server's clock: none is above now or the last one of the registry. */
export async function readHead({ connection, layout }: Keyspace): Promise<StoreHead> {
  const meta = layout.registryKey('meta');
  const [epoch = null, version = null] = listOf(await connection.command('HMGET', meta, 'epoch', 'version'));
  if (epoch === null) throw new Error('the store has no epoch');
  const [seconds, micros] = listOf((await connection.everywhere('TIME'))[0]).map(numberOf);
  const nowUs = (seconds ?? 0) * 1_000_000 + (micros ?? 0);
  return { epoch: textOf(epoch), lastVersion: Math.max(nowUs, version === null ? 0 : numberOf(version)) };
}

export async function readMigrationState({ connection, layout }: Keyspace): Promise<MigrationState | null> {
  const state = await connection.command('HGET', layout.registryKey('meta'), 'migration');
  return state === null ? null : migrationStateFrom(textOf(state));
}

export async function writeMigrationState(
  { connection, layout }: Keyspace,
  state: MigrationState | null,
): Promise<void> {
  const args = migrationScript.args({ migration: state === null ? '' : migrationStateText(state) });
  await connection.write(migrationScript, layout.registry, args);
}

/** The state, followed by a space and the target if there is one. */
function migrationStateText(state: MigrationState): string {
  return state.state === 'incomplete' ? state.state : `${state.state} ${state.to}`;
}

export function migrationStateFrom(text: string): MigrationState | null {
  const [state = '', ...to] = text.split(' ');
  if (state === 'moving' || state === 'moved') return { state, to: to.join(' ') };
  return state === 'incomplete' ? { state } : null;
}
