import { type Place, placeFrom, placeParts, requireName } from './keys.ts';

/**
 * The keys of everything. Names are escaped so that neither `{`, `}` nor `:` is left in them, which makes the hash tag
 * and the tuple in it unambiguous; what has no fixed place in a key stands at its end, as it is.
 *
 * The registry has one tag, and every place one of its own: a script touches the registry, or one place, or, where all
 * of it lies on one node, both.
 */
export class Layout {
  readonly registry: readonly string[];
  readonly stats: readonly string[];
  readonly prefix: string;

  constructor(prefix: string) {
    this.prefix = prefix;
    const at = (name: string) => `${prefix}{registry}:${name}`;
    this.registry = REGISTRY_KEYS.map(at);
    this.stats = STATS_KEYS.map(at);
  }

  /** One key of the registry. */
  registryKey(name: RegistryKeyName): string {
    return `${this.prefix}{registry}:${name}`;
  }

  /** The names of all queues there ever were. */
  get queues(): string {
    return `${this.prefix}{registry}:queues`;
  }

  /** The keys of a queue of jobs. */
  queue(name: string): readonly string[] {
    requireName(name);
    return QUEUE_KEYS.map((key) => `${this.prefix}{jobs:${encodeURIComponent(name)}}:${key}`);
  }

  place(place: Place): PlaceKeys {
    const parts = placeParts(place);
    for (const part of parts) requireName(part);
    const base = `${this.prefix}{${parts.map(encodeURIComponent).join(':')}}:`;
    return {
      some: (names) => names.map((name) => base + name),
      partsOf: (document) => `${base}${PARTS_INFIX}${document}`,
      clientFence: (client) => `${base}${CLIENT_FENCE_INFIX}${client}`,
    };
  }

  /** The place whose key of that name it is; null: it is the key of nothing that was ever called so. */
  placeWith(name: PlaceKeyName, key: string): Place | null {
    const tag = key.slice(this.prefix.length + 1, -`}:${name}`.length);
    if (key !== `${this.prefix}{${tag}}:${name}` || tag === 'registry') return null;
    const parts = partsInTag(tag);
    if (parts === null) return null;
    const place = placeFrom(parts);
    return this.place(place).some([name])[0] === key ? place : null;
  }
}

/** The names in a hash tag; null: it is not one of ours. */
export function partsInTag(tag: string): readonly string[] | null {
  try {
    const parts = tag.split(':').map(decodeURIComponent);
    for (const part of parts) requireName(part);
    return parts;
  } catch {
    return null;
  }
}

export interface PlaceKeys {
  some(names: readonly PlaceKeyName[]): readonly string[];
  partsOf(document: string): string;
  clientFence(client: string): string;
}

/** facts, entries and names · places by owner, by source, by client · what is to be erased · what was erased lately. */
export const REGISTRY_KEYS = ['facts', 'entries', 'names', 'places', 'sources', 'clients', 'doomed', 'erased'] as const;

export const STATS_KEYS = ['stats', 'stats_by_name', 'stats_by_time'] as const;

export type RegistryKeyName = (typeof REGISTRY_KEYS)[number];
export type PlaceKeyName = (typeof PLACE_KEYS)[number];

/** The journal, tidemarks, notes and documents of a place, and the mark that an erasure leaves. */
export const PLACE_KEYS = [
  ...['state', 'records', 'live', 'tombstones', 'tidemarks', 'documents'],
  ...['notes', 'note_names', 'note_ends', 'fence'],
] as const;

/** In the order in which the scripts about a queue take them. */
export const QUEUE_KEYS = ['queue', 'jobs', 'payloads', 'ready', 'leased', 'dead', 'waiting', 'heads'] as const;

export const PARTS_INFIX = 'parts:';
export const CLIENT_FENCE_INFIX = 'fence:';
export const FENCE: PlaceKeyName = 'fence';

/** Everything that stands under the tag of the registry. */
export const REGISTRY_NAMES: readonly string[] = [...REGISTRY_KEYS, ...STATS_KEYS, 'queues'];
