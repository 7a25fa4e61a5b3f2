import type { Keyspace } from './connection.ts';
import { erasureOf, type Scope, scopeMember, sourceMember } from './keys.ts';
import { readEpoch } from './meta.ts';
import { PERMIT_MS } from './scripts/admission.ts';
import { auditScript, eraseOutdatedScript } from './scripts/erase.ts';
import { listOf, numberOf, pairsOf, textOf } from './wire.ts';

/** Pages of keys between two looks at whether another server has finished the same audit. */
const PAGES_PER_LOOK = 100;

/**
 * Repairs the indexes of scopes after a failover in a cluster. The registry may have lost that it added a scope to its
 * indexes, so that an erasure would miss the scope; a scope may have lost that it was erased. Either one changes the
 * replication id of a primary. When the replication ids are not those of the last audit, the audit finds all scopes by
 * their keys: it empties those whose owner was erased since they were last written to, and adds all others to the indexes.
 *
 * A write that the lost registry admitted can arrive until its permit expires, so a second audit follows after that time.
 * An audit stops when `isOver`.
 */
export async function auditScopes(keyspace: Keyspace, isOver: () => boolean = () => false): Promise<void> {
  const { connection, layout } = keyspace;
  if (connection.isOneNode) return;
  const ids = await replicationIds(keyspace);
  const meta = layout.registryKey('meta');
  const reply = listOf(await connection.command('HMGET', meta, 'audited', 'audited_us', 'settled'));
  const [audited, auditedUs, settled] = reply.map((value) => (value === null ? '' : textOf(value)));
  if (settled === ids) return;
  const args = auditScript.args({ scopes: [] });
  const startUs = numberOf(listOf(await connection.write(auditScript, layout.registry, args))[0]);
  const isSecond = audited === ids;
  if (isSecond && Math.abs(startUs - Number(auditedUs)) < PERMIT_MS * 1_000) return;
  const isDone = async () =>
    isOver() || (await connection.command('HGET', meta, isSecond ? 'settled' : 'audited'))?.toString() === ids;
  if (!(await auditAll(keyspace, isDone))) return;
  const done = isSecond ? ['settled', ids] : ['audited', ids, 'audited_us', startUs];
  await connection.command('HSET', meta, ...done);
}

/** The replication ids of all primaries. Each changes with every restart and promotion, when writes can be lost. */
async function replicationIds({ connection }: Keyspace): Promise<string> {
  const infos = await connection.everywhere('INFO', 'replication');
  return infos
    .map((info) => /master_replid:(\w+)/.exec(textOf(info))?.[1]?.slice(0, 10) ?? '?')
    .sort()
    .join(',');
}

/** Returns false when another server was faster. */
async function auditAll(keyspace: Keyspace, isDone: () => Promise<boolean>): Promise<boolean> {
  const epoch = await readEpoch(keyspace);
  let pages = 0;
  for await (const keys of keyspace.connection.scan(keyspace.layout.prefix)) {
    await auditKeys(keyspace, epoch, keys);
    if (++pages % PAGES_PER_LOOK === 0 && (await isDone())) return false;
  }
  return true;
}

async function auditKeys(keyspace: Keyspace, epoch: string, keys: readonly string[]): Promise<void> {
  const { connection, layout } = keyspace;
  const found = await Promise.all(
    keys.map(async (key) => {
      const scope = layout.scopeWithState(key);
      if (scope === null) return [];
      const [own, version] = listOf(await connection.command('HMGET', key, 'e', 'v'));
      // A scope of another epoch reads as empty.
      return own?.toString() === epoch ? [{ scope, version: version?.toString() ?? '0' }] : [];
    }),
  );
  const scopes = found.flat();
  if (scopes.length === 0) return;
  const args = auditScript.args({ scopes: scopes.map(auditRow) });
  const [, ...outdated] = listOf(await connection.write(auditScript, layout.registry, args));
  for (const [index, erasedAt] of pairsOf(outdated)) {
    const scope = scopes[numberOf(index) - 1]?.scope;
    if (scope === undefined) continue;
    const erase = eraseOutdatedScript.args({ erasedAt: textOf(erasedAt) });
    await connection.write(eraseOutdatedScript, layout.scope(scope).all(eraseOutdatedScript.keys), erase);
  }
}

function auditRow({ scope, version }: { readonly scope: Scope; readonly version: string }) {
  const { kind } = scope;
  return {
    version,
    ownerErasure:
      kind === 'user' ? erasureOf(kind, scope.user) : kind === 'client' ? erasureOf(kind, scope.client) : '',
    sourceErasure: kind === 'server' ? '' : erasureOf('source', scope.source),
    scopeMember: scopeMember(scope),
    sourceMember: sourceMember(scope) ?? '',
  };
}
