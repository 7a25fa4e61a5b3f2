import { type JsonValue, parseJson } from '@tidemark/protocol';
import { type ModelObject, objectText } from '../../model/objects.ts';
import { objectsAfter } from '../../model/oracle-state.ts';
import type { Attributes } from '../../model/write.ts';
import { type Effect, type Facts, factKey, factText, type StatSums, statText } from './facts.ts';
import { clientOf, documentOf, loginOf, metricOf, partitionOf, SOURCES } from './names.ts';
import { idsInRange, objectsInRange, writeOf } from './object-range.ts';
import {
  type DocumentOperation,
  type Measurement,
  type ObjectsOperation,
  type Operation,
  type RegistryOperation,
  rangesOf,
} from './operation.ts';

/** Returns what an operation must change, computed without the server's code. The effect of a pull depends on its page. */
export function effectOf(facts: Facts, writer: number, operation: Operation): Effect {
  switch (operation.kind) {
    case 'push_objects':
    case 'push_deletes':
    case 'fast_insert':
    case 'fast_update':
    case 'fast_delete':
    case 'replace':
      return objectsEffect(facts, writer, operation);
    case 'set_document':
    case 'append_document':
      return documentEffect(facts, writer, operation);
    case 'record_stats':
      return statsEffect(facts, operation.values);
    case 'trim_stats':
      return statsTrimEffect(facts, writer, operation.beforeMinute);
    case 'trim':
    case 'pull':
      return new Map();
    default:
      return registryEffect(facts, writer, operation);
  }
}

function objectsEffect(facts: Facts, writer: number, operation: ObjectsOperation): Effect {
  const write = writeOf(writer, operation);
  const key = (id: string) => factKey.object(write.partition, id);
  const ids = write.kind === 'replace' ? idsIn(facts, key('')) : operationIds(writer, operation);
  const before = new Map<string, ModelObject>();
  for (const id of ids) {
    const text = facts.get(key(id));
    if (text !== undefined) before.set(id, new Map(JSON.parse(text) as [string, string][]));
  }
  const after = objectsAfter(before, write);
  return new Map([...after].map(([id, object]) => [key(id), object.size === 0 ? null : objectText(object)]));
}

function operationIds(writer: number, operation: ObjectsOperation): readonly string[] {
  return rangesOf(operation).flatMap((range) => idsInRange(writer, range));
}

function idsIn(facts: Facts, prefix: string): string[] {
  return [...facts.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
}

function attributesOf(text: string | undefined): Attributes {
  return text === undefined ? {} : (parseJson(text) as Attributes);
}

function documentEffect(facts: Facts, writer: number, { kind, owner, content }: DocumentOperation): Effect {
  const key = factKey.document(documentOf(writer, owner, content.type));
  const before = kind === 'set_document' ? undefined : facts.get(key);
  if (content.type === 'text') {
    const text = before === undefined ? '' : (parseJson(before) as string);
    return new Map([[key, factText(text + content.text)]]);
  }
  const objects = before === undefined ? {} : (parseJson(before) as Record<string, Attributes>);
  for (const [id, given] of Object.entries(objectsInRange(writer, content.objects)))
    objects[id] = { ...objects[id], ...given };
  return new Map([[key, factText(objects)]]);
}

function statsEffect(facts: Facts, values: readonly Measurement[]): Effect {
  const effect = new Map<string, string>();
  for (const { metric, minute, value } of values) {
    const key = factKey.stat(metric, minute * 60);
    const before = effect.get(key) ?? facts.get(key);
    const { count, sum, min, max }: StatSums =
      before === undefined ? { count: 0, sum: 0, min: value, max: value } : JSON.parse(before);
    effect.set(
      key,
      statText({ count: count + 1, sum: sum + value, min: Math.min(min, value), max: Math.max(max, value) }),
    );
  }
  return effect;
}

function statsTrimEffect(facts: Facts, writer: number, beforeMinute: number): Effect {
  const due = [...facts.keys()].filter((key) => {
    const [kind, metric = '', atS] = key.split('/');
    return kind === 'stat' && metric.startsWith(metricOf(writer, '')) && Number(atS) < beforeMinute * 60;
  });
  return new Map(due.map((key) => [key, null]));
}

function registryEffect(facts: Facts, writer: number, operation: RegistryOperation): Effect {
  const user = factKey.user(loginOf(writer));
  const client = factKey.client(clientOf(writer));
  switch (operation.kind) {
    case 'declare_source':
      return new Map([[factKey.source(SOURCES[operation.target]), operation.target === 'shared' ? 'app' : 'user']]);
    case 'create_user':
      return new Map([[user, factText({})]]);
    case 'update_user':
      return new Map([[user, factText({ ...attributesOf(facts.get(user)), mood: operation.mood } as JsonValue)]]);
    case 'delete_user':
      return new Map(ownedKeys(facts, writer).map((key) => [key, null]));
    case 'register_client':
      return new Map([[client, clientText(writer, null)]]);
    case 'update_client':
      return new Map([[client, clientText(writer, operation.version)]]);
    case 'write_entries':
      return new Map(operation.entries.map(({ slot, value }) => [factKey.entry(writer, slot), value]));
  }
}

export function clientText(writer: number | string, version: string | null): string {
  return factText({ user: typeof writer === 'string' ? writer : loginOf(writer), version });
}

/** Returns the keys of everything that is deleted with a user. */
function ownedKeys(facts: Facts, writer: number): string[] {
  const own = partitionOf(writer, 'own');
  const prefixes = [
    factKey.object(own, ''),
    factKey.mark(own, ''),
    ...(['user', 'client'] as const).map((owner) => {
      const { scope } = documentOf(writer, owner, 'text');
      return factKey.document({ scope, name: '' });
    }),
  ];
  const owners = [factKey.user(loginOf(writer)), factKey.client(clientOf(writer))];
  return [...facts.keys()].filter((key) => owners.includes(key) || prefixes.some((prefix) => key.startsWith(prefix)));
}
