import type { PartitionKey, Tidemark, WriteCall } from '@tidemark/core';
import type { WriteReport } from '@tidemark/protocol';
import { clientOf, documentOf, loginOf, partitionOf, SOURCES } from './names.ts';
import type {
  Answer,
  Bunch,
  DocumentContent,
  DocumentOperation,
  ObjectsOperation,
  Operation,
  PullOperation,
  RegistryOperation,
} from './operation.ts';
import { idsOfBunch, unfoldBunch } from './unfold-bunch.ts';

const MINUTE_MS = 60_000;
/** How long rows of statistics are kept: what `trim_stats` must add to reach the minute it means. */
const STATS_RETENTION_MS = 30 * 24 * 3_600_000;
const DONE: Answer = { kind: 'done' };

/** Carries an operation out; resolves when the server has acknowledged it. */
export async function performOperation(tidemark: Tidemark, writer: number, operation: Operation): Promise<Answer> {
  switch (operation.kind) {
    case 'set_document':
    case 'append_document':
      return writeDocument(tidemark, writer, operation);
    case 'trim':
      return trim(tidemark, partitionOf(writer, operation.room), operation.isBrutal);
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
      const { changed, seq } = await writeObjects(tidemark, writer, operation);
      return { kind: 'written', changed, seq };
    }
    default:
      await changeRegistry(tidemark, writer, operation);
      return DONE;
  }
}

function writeObjects(tidemark: Tidemark, writer: number, operation: ObjectsOperation): Promise<WriteReport> {
  const call = callOf(partitionOf(writer, operation.room));
  switch (operation.kind) {
    case 'push_objects':
      return tidemark.pushObjects({ ...call, objects: objectsOf(writer, operation.objects) });
    case 'push_deletes':
      return tidemark.pushDeletes({ ...call, objects: idsOfBunch(writer, operation.objects) });
    case 'fast_insert':
      return tidemark.fastInsert({ ...call, objects: objectsOf(writer, operation.objects) });
    case 'fast_update': {
      const { remove, put } = operation;
      return tidemark.fastUpdate({ ...call, delete_data: objectsOf(writer, remove), data: objectsOf(writer, put) });
    }
    case 'fast_delete':
      return tidemark.fastDelete({ ...call, data: objectsOf(writer, operation.remove) });
    case 'replace':
      return tidemark.replaceObjects({ ...call, objects: objectsOf(writer, operation.objects), since: null });
  }
}

function objectsOf(writer: number, bunch: Bunch): object {
  return Object.fromEntries(unfoldBunch(writer, bunch));
}

function callOf({ source, user }: PartitionKey): WriteCall {
  return user === null ? { source } : { source, user_id: user };
}

async function writeDocument(
  tidemark: Tidemark,
  writer: number,
  { kind, where, content }: DocumentOperation,
): Promise<Answer> {
  const { scope, name } = documentOf(writer, where, content.type);
  await tidemark.writeDocument(scope, name, { data: dataOf(writer, content), append: kind === 'append_document' });
  return DONE;
}

function dataOf(writer: number, content: DocumentContent): unknown {
  return content.type === 'text' ? content.text : objectsOf(writer, content.objects);
}

async function trim(tidemark: Tidemark, partition: PartitionKey, isBrutal: boolean): Promise<Answer> {
  if (!isBrutal) return { kind: 'trimmed', floor: (await tidemark.trim(callOf(partition))).floor };
  const { head } = await tidemark.store.partition(partition);
  return { kind: 'trimmed', floor: (await tidemark.store.trim(partition, head)).floor };
}

async function pull(tidemark: Tidemark, writer: number, { room, token, objectsMax }: PullOperation): Promise<Answer> {
  const partition = partitionOf(writer, room);
  const client = clientOf(writer);
  const { json, noted } = await tidemark.pull({ ...callOf(partition), client, token, objectsMax });
  await noted;
  return { kind: 'page', text: json, mark: await tidemark.store.readTidemark(partition, client) };
}

async function changeRegistry(tidemark: Tidemark, writer: number, operation: RegistryOperation): Promise<unknown> {
  const login = loginOf(writer);
  switch (operation.kind) {
    case 'declare_source': {
      const partition_type = operation.room === 'shared' ? 'app' : 'user';
      return tidemark.sources.declare({ name: SOURCES[operation.room], partition_type });
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
