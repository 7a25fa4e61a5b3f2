import type { Tidemark } from '@tidemark/core';
import { pullPage } from '@tidemark/testing/kit';
import type { ModelPartition } from '../../model/partition.ts';
import { callOf, keyOf } from '../../model/partition.ts';
import { performWrite } from '../../model/write.ts';
import { clientOf, documentOf, loginOf, partitionOf, SOURCES } from './names.ts';
import { objectsInRange, writeOf } from './object-range.ts';
import type {
  Answer,
  DocumentContent,
  DocumentOperation,
  Operation,
  PullOperation,
  RegistryOperation,
} from './operation.ts';

const MINUTE_MS = 60_000;
/** The server keeps rows of statistics for this time, so `trim_stats` adds it to the minute it means. */
const STATS_RETENTION_MS = 30 * 24 * 3_600_000;
const DONE: Answer = { kind: 'done' };

/** Performs an operation. Resolves when the server has acknowledged it. */
export async function performOperation(tidemark: Tidemark, writer: number, operation: Operation): Promise<Answer> {
  switch (operation.kind) {
    case 'set_document':
    case 'append_document':
      return writeDocument(tidemark, writer, operation);
    case 'trim':
      return trim(tidemark, partitionOf(writer, operation.target), operation.isForced);
    case 'record_stats':
      for (const { metric, minute, value } of operation.values)
        tidemark.stats.record(metric, value, minute * MINUTE_MS);
      await tidemark.stats.flush();
      return DONE;
    case 'trim_stats':
      await tidemark.stats.trim(operation.beforeMinute * MINUTE_MS + STATS_RETENTION_MS);
      return DONE;
    case 'pull':
      return pull(tidemark, writer, operation);
    case 'push_objects':
    case 'push_deletes':
    case 'fast_insert':
    case 'fast_update':
    case 'fast_delete':
    case 'replace': {
      const { changed, seq } = await performWrite(tidemark, writeOf(writer, operation));
      return { kind: 'written', changed, seq };
    }
    default:
      await changeRegistry(tidemark, writer, operation);
      return DONE;
  }
}

async function writeDocument(
  tidemark: Tidemark,
  writer: number,
  { kind, owner, content }: DocumentOperation,
): Promise<Answer> {
  const { scope, name } = documentOf(writer, owner, content.type);
  await tidemark.documents.write(scope, name, { data: dataOf(writer, content), append: kind === 'append_document' });
  return DONE;
}

function dataOf(writer: number, content: DocumentContent): unknown {
  return content.type === 'text' ? content.text : objectsInRange(writer, content.objects);
}

async function trim(tidemark: Tidemark, partition: ModelPartition, isForced: boolean): Promise<Answer> {
  if (!isForced) return { kind: 'trimmed', floor: (await tidemark.objects.trim(callOf(partition))).floor };
  const { head } = await tidemark.store.partition(keyOf(partition));
  return { kind: 'trimmed', floor: (await tidemark.store.trim(keyOf(partition), head)).floor };
}

async function pull(tidemark: Tidemark, writer: number, { target, token, objectsMax }: PullOperation): Promise<Answer> {
  const partition = partitionOf(writer, target);
  const client = clientOf(writer);
  const page = { source: partition.source, token, objectsMax };
  const { json, noted } = await pullPage(tidemark, { user: loginOf(writer), client }, page);
  await noted;
  return { kind: 'page', text: json, mark: await tidemark.store.readTidemark(keyOf(partition), client) };
}

async function changeRegistry(tidemark: Tidemark, writer: number, operation: RegistryOperation): Promise<unknown> {
  const login = loginOf(writer);
  switch (operation.kind) {
    case 'declare_source': {
      const partition_type = operation.target === 'shared' ? 'app' : 'user';
      return tidemark.sources.declare({ name: SOURCES[operation.target], partition_type });
    }
    case 'create_user':
      return tidemark.users.create({ attributes: { login, password: 'open sesame' } });
    case 'update_user':
      return tidemark.users.update(login, { attributes: { mood: operation.mood } });
    case 'delete_user':
      return tidemark.users.delete(login);
    case 'register_client':
      return tidemark.clients.register(login, { client_id: clientOf(writer) });
    case 'update_client':
      return tidemark.clients.update(login, clientOf(writer), { device_app_version: operation.version });
    case 'write_entries': {
      const writes = operation.entries.map(({ slot, value }) => ({
        kind: 'setting' as const,
        key: ['crash', String(writer), String(slot)],
        value,
      }));
      return tidemark.store.writeEntries({ writes, guards: [] });
    }
  }
}
