import { type PartitionKey, type PartitionState, partitionOf, scopeFrom, scopeOf } from '@tidemark/core/ports';
import type { Keyspace } from './connection.ts';
import { erasuresCovering, exclusive, inclusive, keyOf, type Scope, scopeMember, textsOf } from './keys.ts';
import { listScopesScript } from './scripts/registry.ts';
import { listOf, type Reply, textListOf, textOf } from './wire.ts';

/** Scopes that one call lists. */
const SCOPES_PER_READ = 500;
/** Stands for the epoch of a scope where only the registry knows it. */
const UNKNOWN_EPOCH = '?';

/**
 * Reads "epoch id replication_id head floor size checksum earlier" as `state_text` writes it. The epoch of a partition is
 * that of the store, its own id and the replication id. `readEpoch` is called when the scope does not know the epoch.
 */
export async function stateFrom(reply: Reply | undefined, readEpoch: () => Promise<string>): Promise<PartitionState> {
  const [epoch = '', id = '', replicationId, head, floor, size, checksum, earlier = ''] = textOf(reply).split(' ');
  if (id === '-') {
    return { epoch: epoch === UNKNOWN_EPOCH ? await readEpoch() : epoch, head: 0, floor: 0, size: 0, checksum: 0 };
  }
  const begin = epoch + id;
  return {
    epoch: begin + replicationId,
    head: Number(head),
    floor: Number(floor),
    size: Number(size),
    checksum: Number(checksum),
    ...(earlier === '' ? {} : { earlier: earlier.split(',').map((text) => earlierFrom(begin, text)) }),
  };
}

function earlierFrom(begin: string, text: string): { readonly epoch: string; readonly upTo: number } {
  const [replicationId = '', upTo] = text.split(':');
  return { epoch: begin + replicationId, upTo: Number(upTo) };
}

/** Lists partitions in the order of their scopes. The registry lists scopes; each is asked whether it has a partition. */
export async function listPartitions(
  keyspace: Keyspace,
  { after, limit }: { readonly after?: PartitionKey; readonly limit: number },
): Promise<readonly PartitionKey[]> {
  const { connection, layout } = keyspace;
  const found: PartitionKey[] = [];
  // The scopes of clients and of the server, which have no partitions, come before `shared`.
  let min = after === undefined ? inclusive(keyOf('shared')) : exclusive(scopeMember(scopeOf(after)));
  for (;;) {
    const args = listScopesScript.args({ min, limit: SCOPES_PER_READ });
    const [listed, erasures, epoch] = listOf(await connection.run(listScopesScript, layout.registry, args));
    const members = textListOf(listed);
    const erasing = new Set(textListOf(erasures));
    const scopes = members.map((member) => scopeFrom(textsOf(member))).filter((scope) => !isErasing(scope, erasing));
    const partitions = await Promise.all(scopes.map((scope) => partitionIn(keyspace, scope, textOf(epoch))));
    found.push(...partitions.flatMap((partition) => partition ?? []));
    const last = members.at(-1);
    if (found.length >= limit || members.length < SCOPES_PER_READ || last === undefined) return found.slice(0, limit);
    min = exclusive(last);
  }
}

function isErasing(scope: Scope, erasing: ReadonlySet<string>): boolean {
  return erasing.size > 0 && erasuresCovering(scope).some((erasure) => erasing.has(erasure));
}

async function partitionIn(
  { connection, layout }: Keyspace,
  scope: Scope,
  epoch: string,
): Promise<PartitionKey | null> {
  const partition = partitionOf(scope);
  if (partition === null) return null;
  const [own = null, head] = listOf(await connection.command('HMGET', layout.scope(scope).one('state'), 'e', 'h'));
  return head !== null && own !== null && textOf(own) === epoch ? partition : null;
}
