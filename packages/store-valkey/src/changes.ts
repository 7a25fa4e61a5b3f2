import { type ChangedQuery, type ChangedRead, scopeOf } from '@tidemark/core/ports';
import type { Keyspace } from './connection.ts';
import { scopeMember } from './keys.ts';
import { changedScript } from './scripts/registry.ts';
import { listOf, prepareList, textListOf } from './wire.ts';

/** Null in a cluster, where a commit and the registry may be on different nodes. */
export async function changedSince(
  { connection, layout }: Keyspace,
  { source, owners, mark }: ChangedQuery,
): Promise<ChangedRead | null> {
  if (!connection.isOneNode) return null;
  const [epoch = '', id = '', number = ''] = mark?.split('.') ?? [];
  const asked = mark === null ? [] : [...owners];
  const members = await prepareList(asked, (owner) => scopeMember(scopeOf({ source, owner })));
  const after = /^\d{1,15}$/.test(number) ? Number(number) : null;
  const args = changedScript.args({ epoch, id, after, members });
  const [now, changed] = listOf(await connection.run(changedScript, layout.registry, args));
  return {
    mark: textListOf(now).join('.'),
    changed: changed === undefined ? null : textListOf(changed).flatMap((index) => asked[Number(index) - 1] ?? []),
  };
}
