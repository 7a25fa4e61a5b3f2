import { type Erasure, scopeFrom } from '@tidemark/core/ports';
import { auditScopes } from './audit.ts';
import type { Keyspace } from './connection.ts';
import { unavailable } from './failure.ts';
import { emptyQueueScript, UNTIMED } from './jobs/scripts.ts';
import {
  EVERYTHING,
  erasureOf,
  keyOf,
  membersFrom,
  type Scope,
  scopeMember,
  sourceMember,
  textsOf,
  tidemarkRange,
} from './keys.ts';
import { newId } from './meta.ts';
import { eraseClientScript, eraseScopeScript, nextScopesScript, removeScopesScript } from './scripts/erase.ts';
import { resetScript } from './scripts/registry.ts';
import { listOf, type Reply, textListOf, textOf } from './wire.ts';

/** Calls in a row that remove nothing, because others erase the same or a scope refuses the erasure as too old. */
const ATTEMPTS_MAX = 20;

/** An erasure as it was read from the registry. */
interface ReadErasure {
  readonly erasure: string;
  readonly version: string;
  readonly readAtUs: string;
}

/** The erasures that are to begin, as the registry names them. */
export function erasuresIn({ users = [], clients = [], sources = [] }: Erasure): string[] {
  return [
    ...users.map((user) => erasureOf('user', user)),
    ...clients.map((client) => erasureOf('client', client)),
    ...sources.map((source) => erasureOf('source', source)),
  ];
}

/**
 * Finishes an erasure. Erasing takes two steps. First the registry stores the erasure together with the removal of the
 * entries; from then on it admits no write that the erasure covers. Then every scope is emptied and fenced, and when none
 * is left the erasure is removed from the registry. Any server can do the second step, and repeat it: one that finds an
 * erasure in its way, after a crash for example, finishes it first.
 */
export async function finishErasure(keyspace: Keyspace, erasure: string): Promise<void> {
  const { connection, layout } = keyspace;
  if (erasure === EVERYTHING) {
    const version = await connection.command('HGET', layout.registryKey('erasures'), erasure);
    if (version !== null) await emptyQueues(keyspace, textOf(version));
  }
  // Names of users and sources are used again. Ids of clients are not, and a reset begins a new epoch.
  const isNameReused = ['user', 'source'].includes(textsOf(erasure)[0] ?? '');
  if (isNameReused) await auditScopes(keyspace);
  for (let failures = 0; failures < ATTEMPTS_MAX; ) {
    const args = nextScopesScript.args({ erasure, ...rangesOf(erasure) });
    const reply = listOf(await connection.write(nextScopesScript, layout.registry, args));
    if (textOf(reply[0]) === 'done') return;
    failures = (await eraseScopes(keyspace, erasure, reply)) ? 0 : failures + 1;
  }
  throw unavailable('an erasure could not be finished');
}

/** Empties the store except for the entries with the given fields. Returns the new epoch. */
export async function resetStore(keyspace: Keyspace, keep: readonly string[]): Promise<string> {
  const { connection, layout } = keyspace;
  const epoch = newId();
  const args = resetScript.args({ epoch, erasure: EVERYTHING, keep });
  await connection.write(resetScript, [...layout.registry, ...layout.stats], args);
  await finishErasure(keyspace, EVERYTHING);
  return epoch;
}

/** Where the indexes list the scopes of an erasure. */
function rangesOf(erasure: string) {
  if (erasure === EVERYTHING) {
    return { index: 'scopes', min: '-', max: '+', byClient: false, clientMin: '', clientMax: '' };
  }
  const [kind = '', name = ''] = textsOf(erasure);
  const isSource = kind === 'source';
  const { min: clientMin, max: clientMax } = membersFrom(keyOf(name));
  return {
    ...{ index: isSource ? 'scopes_by_source' : 'scopes', ...membersFrom(isSource ? keyOf(name) : keyOf(kind, name)) },
    ...{ byClient: kind === 'client', clientMin, clientMax },
  };
}

/** A reset also deletes jobs, except those enqueued after another server has done so for the same reset. */
async function emptyQueues({ connection, layout }: Keyspace, version: string): Promise<void> {
  const names = textListOf(await connection.command('ZRANGE', layout.queues, 0, -1));
  const args = emptyQueueScript.args(UNTIMED, { version: Number(version) });
  await Promise.all(names.map((name) => connection.write(emptyQueueScript, layout.queue(name), args)));
}

/** Returns false when nothing could be removed from the indexes. */
async function eraseScopes(keyspace: Keyspace, erasure: string, reply: readonly Reply[]): Promise<boolean> {
  const { connection, layout } = keyspace;
  const [, version, readAtUs, members, clientMembers] = reply;
  const read: ReadErasure = { erasure, version: textOf(version), readAtUs: textOf(readAtUs) };
  const isBySource = textsOf(erasure)[0] === 'source';
  const scopes = textListOf(members).map((member) => scopeFrom(textsOf(member).slice(isBySource ? 1 : 0)));
  const byClient = textListOf(clientMembers);
  const outcomes = await Promise.all([
    ...scopes.map((scope) => eraseFresh(keyspace, read, (fresh) => eraseScope(keyspace, scope, fresh))),
    ...byClient.map((member) => eraseFresh(keyspace, read, (fresh) => eraseClient(keyspace, member, fresh))),
  ]);
  // The erasure has changed: it must be read again before a scope is removed from the indexes.
  if (outcomes.includes('stale')) return false;
  const args = removeScopesScript.args({
    ...{ erasure, version: read.version, byClient, scopes: scopes.map(scopeMember) },
    bySource: scopes.flatMap((scope) => sourceMember(scope) ?? []),
  });
  await connection.write(removeScopesScript, layout.registry, args);
  return true;
}

/**
 * Calls `erase`. A scope that finds the erasure too old reports the time by its own clock, which may differ from the
 * registry's. If the registry still has the same erasure after that, it is tried once more with the reported time.
 */
async function eraseFresh(
  { connection, layout }: Keyspace,
  read: ReadErasure,
  erase: (read: ReadErasure) => Promise<readonly Reply[]>,
): Promise<string> {
  const first = await erase(read);
  if (textOf(first[0]) !== 'stale') return textOf(first[0]);
  const current = await connection.command('HGET', layout.registryKey('erasures'), read.erasure);
  if (current === null || textOf(current) !== read.version) return 'stale';
  return textOf((await erase({ ...read, readAtUs: textOf(first[1]) }))[0]);
}

async function eraseScope(
  { connection, layout }: Keyspace,
  scope: Scope,
  { version, readAtUs }: ReadErasure,
): Promise<readonly Reply[]> {
  const args = eraseScopeScript.args({ version, readAtUs: Number(readAtUs) });
  return listOf(await connection.write(eraseScopeScript, layout.scope(scope).all(eraseScopeScript.keys), args));
}

/** `member` is that of the index of scopes by client. */
async function eraseClient(
  { connection, layout }: Keyspace,
  member: string,
  { version, readAtUs }: ReadErasure,
): Promise<readonly Reply[]> {
  const [client = '', ...parts] = textsOf(member);
  const keys = layout.scope(scopeFrom(parts));
  const tidemark = tidemarkRange(client);
  const notes = membersFrom(keyOf(client));
  const args = eraseClientScript.args({
    ...{ version, readAtUs: Number(readAtUs), tidemarkMin: tidemark.min, tidemarkMax: tidemark.max },
    ...{ noteMin: notes.min, noteMax: notes.max },
  });
  for (;;) {
    const all = [...keys.all(eraseClientScript.keys), keys.clientFence(client)];
    const reply = listOf(await connection.write(eraseClientScript, all, args));
    if (textOf(reply[0]) !== 'more') return reply;
  }
}
