import type {
  DeviceTidemark,
  DocumentKey,
  DocumentScope,
  Entry,
  EntryKind,
  JournalSlice,
  PartitionKey,
  StatRow,
  Store,
  StoredDocument,
} from '@tidemark/core';
import { POPULATED_SCOPES } from './populate-store.ts';
import { wholeJournal } from './store-assertions.ts';

export interface ObservedPartition {
  readonly key: PartitionKey;
  /** The whole journal with its state. */
  readonly journal: JournalSlice;
  readonly bytes: number;
  /** The files that objects refer to, and the ids of these objects. */
  readonly files: ReadonlyMap<string, readonly string[]>;
  readonly tidemarks: readonly DeviceTidemark[];
}

export interface ObservedDocument {
  readonly key: DocumentKey;
  readonly document: StoredDocument | null;
}

/** Reads everything from a store through the port. Two equal observations mean that nothing changed. */
export interface Observation {
  readonly epoch: string;
  readonly partitions: readonly ObservedPartition[];
  readonly documents: readonly ObservedDocument[];
  readonly entries: ReadonlyMap<EntryKind, readonly Entry[]>;
  readonly stats: ReadonlyMap<string, readonly StatRow[]>;
}

const LIMIT = 1_000_000;
const KINDS: readonly EntryKind[] = ['user', 'client', 'user_client', 'source', 'token', 'user_token', 'setting'];

export async function observeStore(
  store: Store,
  scopes: readonly DocumentScope[] = POPULATED_SCOPES,
): Promise<Observation> {
  const keys = await store.partitions({ limit: LIMIT });
  const entries = new Map<EntryKind, readonly Entry[]>();
  for (const kind of KINDS) entries.set(kind, await store.listEntries({ kind, prefix: [], limit: LIMIT }));
  const stats = new Map<string, readonly StatRow[]>();
  for (const name of await store.statNames()) stats.set(name, await store.readStats(name, 'oldest', LIMIT));
  return {
    epoch: await store.epoch(),
    partitions: await Promise.all(keys.map((key) => observePartition(store, key))),
    documents: (await Promise.all(scopes.map((scope) => observeScope(store, scope)))).flat(),
    entries,
    stats,
  };
}

async function observePartition(store: Store, key: PartitionKey): Promise<ObservedPartition> {
  const journal = await wholeJournal(store, key);
  const bytes = await store.bytes(key);
  const files = new Map<string, readonly string[]>();
  for (const sha256 of await store.listFiles(key, { limit: LIMIT })) {
    files.set(sha256, [...(await store.objectsWithFile(key, sha256, LIMIT))].sort());
  }
  return { key, journal, bytes, files, tidemarks: await store.listTidemarks(key, { limit: LIMIT }) };
}

async function observeScope(store: Store, scope: DocumentScope): Promise<ObservedDocument[]> {
  const names = await store.documentNames(scope);
  return Promise.all(
    names.map(async (name) => ({ key: { scope, name }, document: await store.readDocument({ scope, name }) })),
  );
}

/** Returns the observation without values that differ between copies of the same data. */
export function withoutEpochs(observation: Observation): Observation {
  return {
    ...observation,
    epoch: '',
    partitions: observation.partitions.map((partition) => ({
      ...partition,
      journal: { ...partition.journal, state: { ...partition.journal.state, epoch: '' } },
    })),
  };
}
