import { scopeFrom, scopeParts } from '@tidemark/core/ports';
import { requireName, type Scope } from './keys.ts';

/**
 * meta, entries and their names in order · index of scopes, by source, by client · erasures in progress, finished ones · the last commit to
 * the data of every group. */
export const REGISTRY_KEYS = [
  ...['meta', 'entries', 'entry_names', 'scopes', 'scopes_by_source', 'scopes_by_client'],
  ...['erasures', 'recent_erasures', 'changes'],
] as const;
export const STATS_KEYS = ['stats', 'stats_by_name', 'stats_by_time'] as const;
/** The journal, tidemarks, documents and notes of a scope, the fence that an erasure leaves, and the index of files, by object and by file. */
export const SCOPE_KEYS = [
  ...['state', 'records', 'live', 'tombstones', 'tidemarks', 'acknowledged', 'documents'],
  ...['notes', 'note_names', 'note_ends', 'fence', 'object_files', 'file_objects'],
] as const;
/** The length of a SHA-256 as text: a member of `file_objects` is one, followed by the id of an object. */
export const HASH_UNITS = 64;
export const QUEUE_KEYS = ['queue', 'jobs', 'payloads', 'ready', 'leased', 'dead', 'waiting', 'heads'] as const;

export type RegistryKeyName = (typeof REGISTRY_KEYS)[number];
export type ScopeKeyName = (typeof SCOPE_KEYS)[number];

/** Every key under the hash tag of the registry. */
export const REGISTRY_NAMES: readonly string[] = [...REGISTRY_KEYS, ...STATS_KEYS, 'queues'];

export const PARTS_PREFIX = 'parts:';
export const CLIENT_FENCE_PREFIX = 'fence:';

export interface ScopeKeys {
  one(name: ScopeKeyName): string;
  all(names: readonly ScopeKeyName[]): readonly string[];
  /** The parts of one document. */
  parts(document: string): string;
  /** The fence that the erasure of a client leaves. */
  clientFence(client: string): string;
}

/**
 * The names of all keys. The registry has one hash tag, every queue and every scope has its own: a script uses the keys
 * of the registry, of one queue or of one scope, and, where all of them are on one node, those of the registry and a scope.
 *
 * Names inside a hash tag are escaped, so that they contain neither `{`, `}` nor `:`; a name at the end of a key is not.
 */
export class Layout {
  readonly prefix: string;
  readonly registry: readonly string[];
  readonly stats: readonly string[];
  /** The names of all queues that ever existed. */
  readonly queues: string;

  constructor(prefix: string) {
    this.prefix = prefix;
    const inRegistry = (name: string) => `${prefix}{registry}:${name}`;
    this.registry = REGISTRY_KEYS.map(inRegistry);
    this.stats = STATS_KEYS.map(inRegistry);
    this.queues = inRegistry('queues');
  }

  registryKey(name: RegistryKeyName): string {
    return `${this.prefix}{registry}:${name}`;
  }

  /** The keys of a queue of jobs, in the order in which its scripts take them. */
  queue(name: string): readonly string[] {
    requireName(name);
    return QUEUE_KEYS.map((key) => `${this.prefix}{jobs:${encodeURIComponent(name)}}:${key}`);
  }

  scope(scope: Scope): ScopeKeys {
    const parts = scopeParts(scope);
    for (const part of parts) requireName(part);
    const base = `${this.prefix}{${parts.map(encodeURIComponent).join(':')}}:`;
    return {
      one: (name) => base + name,
      all: (names) => names.map((name) => base + name),
      parts: (document) => `${base}${PARTS_PREFIX}${document}`,
      clientFence: (client) => `${base}${CLIENT_FENCE_PREFIX}${client}`,
    };
  }

  /** The scope whose `state` key this is; null: it is another key. */
  scopeWithState(key: string): Scope | null {
    const tag = key.slice(this.prefix.length + 1, -'}:state'.length);
    if (key !== `${this.prefix}{${tag}}:state` || tag === 'registry') return null;
    const parts = partsInTag(tag);
    if (parts === null) return null;
    const scope = scopeFrom(parts);
    return this.scope(scope).one('state') === key ? scope : null;
  }
}

/** The names in a hash tag; null: this package did not write it. */
export function partsInTag(tag: string): readonly string[] | null {
  try {
    const parts = tag.split(':').map(decodeURIComponent);
    for (const part of parts) requireName(part);
    return parts;
  } catch {
    return null;
  }
}
