import { randomBytes } from 'node:crypto';
import type { Seal, StoreLife } from '@tidemark/core/ports';
import type { Keyspace } from './connection.ts';
import { beginScript, sealScript } from './scripts/registry.ts';
import { listOf, numberOf, textListOf, textOf } from './wire.ts';

// The hash `meta` of the registry: format, epoch, last version, seal.

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
}: Keyspace): Promise<{ readonly epoch: string; readonly seal: Seal | null }> {
  const reply = await connection.run(
    beginScript,
    layout.registry,
    beginScript.args({ epoch: newId(), format: FORMAT }),
  );
  const [epoch = '', format = '', seal = ''] = textListOf(reply);
  if (format !== FORMAT) {
    throw new Error(`the store has format ${format}, this version of Tidemark reads format ${FORMAT}`);
  }
  return { epoch, seal: sealFrom(seal) };
}

/** Versions, also those of documents, follow the server's clock: none is above now or the last one of the registry. */
export async function readLife({ connection, layout }: Keyspace): Promise<StoreLife> {
  const meta = layout.registryKey('meta');
  const [epoch = null, version = null] = listOf(await connection.command('HMGET', meta, 'epoch', 'version'));
  if (epoch === null) throw new Error('the store has no epoch');
  const [seconds, micros] = listOf((await connection.everywhere('TIME'))[0]).map(numberOf);
  const nowUs = (seconds ?? 0) * 1_000_000 + (micros ?? 0);
  return { epoch: textOf(epoch), lastVersion: Math.max(nowUs, version === null ? 0 : numberOf(version)) };
}

export async function readSeal({ connection, layout }: Keyspace): Promise<Seal | null> {
  const seal = await connection.command('HGET', layout.registryKey('meta'), 'seal');
  return seal === null ? null : sealFrom(textOf(seal));
}

export async function writeSeal({ connection, layout }: Keyspace, seal: Seal | null): Promise<void> {
  const args = sealScript.args({ seal: seal === null ? '' : sealText(seal) });
  await connection.write(sealScript, layout.registry, args);
}

/** The state, followed by a space and the target if there is one. */
function sealText(seal: Seal): string {
  return seal.state === 'incomplete' ? seal.state : `${seal.state} ${seal.to}`;
}

export function sealFrom(text: string): Seal | null {
  const [state = '', ...to] = text.split(' ');
  if (state === 'moving' || state === 'moved') return { state, to: to.join(' ') };
  return state === 'incomplete' ? { state } : null;
}
