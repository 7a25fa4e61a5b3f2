import type { Finding } from '@tidemark/core/ports';
import type { Keyspace } from './connection.ts';
import { keyOf } from './keys.ts';
import {
  CLIENT_FENCE_PREFIX,
  type Layout,
  PARTS_PREFIX,
  partsInTag,
  QUEUE_KEYS,
  REGISTRY_NAMES,
  SCOPE_KEYS,
} from './layout.ts';

/** Orphans that are named; of the others only the number is reported. */
const NAMED_MAX = 100;

/**
 * Finds keys under the prefix that belong to nothing the registry knows. A scope or queue is registered before it is
 * written. So a key is an orphan if its owner is not registered, the key still exists after that, and its owner is still
 * not registered.
 */
export async function* orphanKeys(keyspace: Keyspace): AsyncIterable<Finding> {
  let named = 0;
  let unnamed = 0;
  for await (const keys of keyspace.connection.scan(keyspace.layout.prefix)) {
    const areOrphans = await Promise.all(keys.map((key) => isOrphan(keyspace, key)));
    for (const [index, key] of keys.entries()) {
      if (areOrphans[index] !== true) continue;
      if (named++ < NAMED_MAX) yield orphan(`the key ${JSON.stringify(key)} belongs to nothing`);
      else unnamed++;
    }
  }
  if (unnamed > 0) yield orphan(`${unnamed} more keys belong to nothing`);
}

function orphan(detail: string): Finding {
  return { partition: null, problem: 'orphan', detail };
}

async function isOrphan(keyspace: Keyspace, key: string): Promise<boolean> {
  const owner = ownerOf(keyspace.layout, key);
  if (owner === 'known') return false;
  if (owner !== 'none' && (await exists(keyspace, owner))) return false;
  if (Number(await keyspace.connection.command('EXISTS', key)) === 0) return false;
  return owner === 'none' || !(await exists(keyspace, owner));
}

/** A command that replies something other than nil or 0 while the owner of a key exists. */
interface OwnerLookup {
  readonly command: 'ZSCORE' | 'HEXISTS' | 'EXISTS';
  readonly key: string;
  readonly args: readonly string[];
}

async function exists({ connection }: Keyspace, { command, key, args }: OwnerLookup): Promise<boolean> {
  const reply = await connection.command(command, key, ...args);
  return reply !== null && reply !== 0;
}

const FORM = /^([^{]*)\{([^}]*)\}:(.+)$/s;

function ownerOf(layout: Layout, key: string): OwnerLookup | 'known' | 'none' {
  const [, before = '', tag = '', name = ''] = FORM.exec(key.slice(layout.prefix.length)) ?? [];
  if (name === '') return 'none';
  // The key belongs to another store, whose prefix begins with ours.
  if (before !== '') return { command: 'EXISTS', key: `${layout.prefix}${before}{registry}:meta`, args: [] };
  if (tag === 'registry') return REGISTRY_NAMES.includes(name) ? 'known' : 'none';
  const parts = partsInTag(tag);
  if (parts === null) return 'none';
  if (parts[0] === 'jobs') return queueOf(layout, parts[1] ?? '', name);
  return scopeOwning(layout, parts, name, key);
}

function queueOf(layout: Layout, queue: string, name: string): OwnerLookup | 'none' {
  if (!(QUEUE_KEYS as readonly string[]).includes(name)) return 'none';
  return { command: 'ZSCORE', key: layout.queues, args: [queue] };
}

function scopeOwning(
  layout: Layout,
  parts: readonly string[],
  name: string,
  key: string,
): OwnerLookup | 'known' | 'none' {
  // A fence outlives its scope, and expires by itself.
  if (name === 'fence' || name.startsWith(CLIENT_FENCE_PREFIX)) return 'known';
  if (name.startsWith(PARTS_PREFIX)) {
    const documents = `${key.slice(0, key.length - name.length)}documents`;
    return { command: 'HEXISTS', key: documents, args: [name.slice(PARTS_PREFIX.length)] };
  }
  if (!(SCOPE_KEYS as readonly string[]).includes(name)) return 'none';
  return { command: 'ZSCORE', key: layout.registryKey('scopes'), args: [keyOf(...parts)] };
}
