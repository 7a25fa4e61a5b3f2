import { type DocumentKey, ownerText, type PartitionState, type Tidemark } from '@tidemark/core';
import { addChecksums, type JsonValue, objectChecksum, parseJson } from '@tidemark/protocol';
import { type ModelObject, objectText, withAttributes } from '../../model/objects.ts';
import { keyOf, type ModelPartition } from '../../model/partition.ts';
import type { Attributes } from '../../model/write.ts';
import { clientText } from './effect-of.ts';
import { type Facts, factKey, factText, markText, partitionPath, statText } from './facts.ts';
import { documentOf, WRITERS } from './names.ts';

/** Everything that a store holds. */
export interface StoreReading {
  readonly epoch: string;
  readonly facts: Facts;
  /** By the path of the partition. */
  readonly partitions: ReadonlyMap<string, PartitionReading>;
  /** The findings of `verify`. */
  readonly findings: readonly string[];
}

export interface PartitionReading {
  readonly key: ModelPartition;
  readonly state: PartitionState;
  /** The content of each seq: a record, or the id of a deleted object. */
  readonly journal: ReadonlyMap<number, string>;
  /** Computed from the records. */
  readonly size: number;
  readonly checksum: number;
}

const ALL = 1_000_000;
const SLICE = { entriesMax: 2_000, unitsMax: 10_000_000 } as const;

export async function readStore(tidemark: Tidemark): Promise<StoreReading> {
  const facts = new Map<string, string>();
  const partitions = new Map<string, PartitionReading>();
  for (const { source, owner } of await tidemark.store.partitions({ limit: ALL })) {
    const key = { source, user: ownerText(owner) };
    partitions.set(partitionPath(key), await readPartition(tidemark, key, facts));
  }
  await readRegistry(tidemark, facts);
  await readDocuments(tidemark, facts);
  await readStats(tidemark, facts);
  const findings: string[] = [];
  for await (const finding of tidemark.verify()) findings.push(JSON.stringify(finding));
  return { epoch: await tidemark.store.epoch(), facts, partitions, findings };
}

/** Reads the whole journal; nobody writes at the same time. */
async function readPartition(
  tidemark: Tidemark,
  key: ModelPartition,
  facts: Map<string, string>,
): Promise<PartitionReading> {
  const journal = new Map<number, string>();
  const tombstones: string[] = [];
  let checksum = 0;
  for (let after = 0; ; ) {
    const slice = await tidemark.store.readJournal(keyOf(key), { after, tombstonesAfter: 0, ...SLICE });
    for (const [index, record] of slice.records.entries()) {
      const { id, object } = readRecord(record);
      journal.set(slice.seqs[index] ?? 0, record);
      facts.set(factKey.object(key, id), objectText(object));
      checksum = addChecksums(checksum, objectChecksum(id, object));
    }
    tombstones.push(...slice.tombstones);
    after = slice.upTo;
    if (after < slice.state.head) continue;
    const size = journal.size;
    await addTombstones(tidemark, key, tombstones, journal);
    await readMarks(tidemark, key, facts);
    return { key, state: slice.state, journal, size, checksum };
  }
}

/** A record begins with a member of a JSON object; the server's own fields follow on another line. */
function readRecord(record: string): { readonly id: string; readonly object: ModelObject } {
  const [member = ''] = record.split('\n');
  const [[id, attributes] = ['', {}]] = Object.entries(parseJson(`{${member}}`) as Record<string, Attributes>);
  return { id, object: withAttributes(new Map(), attributes) };
}

async function addTombstones(
  tidemark: Tidemark,
  key: ModelPartition,
  ids: readonly string[],
  journal: Map<number, string>,
): Promise<void> {
  const { objects } = await tidemark.store.readObjects(keyOf(key), ids);
  for (const id of ids) journal.set(objects.get(id)?.seq ?? -1, `deleted ${id}`);
}

async function readMarks(tidemark: Tidemark, key: ModelPartition, facts: Map<string, string>): Promise<void> {
  for (const mark of await tidemark.store.listTidemarks(keyOf(key), { limit: ALL })) {
    facts.set(factKey.mark(key, mark.client), markText(mark));
  }
}

async function readRegistry(tidemark: Tidemark, facts: Map<string, string>): Promise<void> {
  const { store } = tidemark;
  for (const { name, partition_type } of await tidemark.sources.list()) facts.set(factKey.source(name), partition_type);
  for (const login of await tidemark.users.list()) {
    facts.set(factKey.user(login), factText((await tidemark.users.get(login)).attributes));
  }
  const listed = await store.listEntries({ kind: 'user_client', prefix: [], limit: ALL });
  for (const { key } of await store.listEntries({ kind: 'client', prefix: [], limit: ALL })) {
    const { client_id, user_id, device_app_version } = await tidemark.clients.get(key[0]);
    const isListed = listed.some((entry) => entry.key[0] === user_id && entry.key[1] === client_id);
    facts.set(factKey.client(client_id), isListed ? clientText(user_id, device_app_version) : 'unknown to its user');
  }
  for (const { key, value } of await store.listEntries({ kind: 'setting', prefix: ['crash'], limit: ALL })) {
    facts.set(factKey.entry(key[1] ?? '', key[2] ?? ''), value);
  }
}

/** Asks the store itself: the server would not look for documents of deleted users, which must be deleted too. */
async function readDocuments(tidemark: Tidemark, facts: Map<string, string>): Promise<void> {
  const owners = ['server', 'shared', 'user', 'client'] as const;
  const keys = WRITERS.flatMap((writer) => owners.map((owner) => documentOf(writer, owner, 'text')));
  const scopes = new Map(keys.map(({ scope }) => [JSON.stringify(scope), scope]));
  for (const scope of scopes.values()) {
    for (const name of await tidemark.store.documentNames(scope)) await readDocument(tidemark, { scope, name }, facts);
  }
}

async function readDocument(tidemark: Tidemark, key: DocumentKey, facts: Map<string, string>): Promise<void> {
  const document = await tidemark.store.readDocument(key);
  if (document === null) return;
  const parts = [...document.parts];
  const value: JsonValue =
    document.type === 'text'
      ? parts.map(([, text]) => text).join('')
      : Object.fromEntries(parts.map(([id, text]) => [id, parseJson(text) as JsonValue]));
  facts.set(factKey.document(key), factText(value));
}

async function readStats(tidemark: Tidemark, facts: Map<string, string>): Promise<void> {
  for (const metric of await tidemark.store.statNames()) {
    for (const row of await tidemark.store.readStats(metric, 'oldest', ALL)) {
      facts.set(factKey.stat(metric, row.atS), statText(row));
    }
  }
}
