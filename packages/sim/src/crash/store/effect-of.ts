import { type JsonValue, parseJson } from '@tidemark/protocol';
import { type Effect, type Facts, factKey, factText, type StatSums, statText } from './facts.ts';
import { clientOf, documentOf, loginOf, metricOf, partitionOf, SOURCES } from './names.ts';
import type {
  Bunch,
  DocumentOperation,
  Measurement,
  ObjectsOperation,
  Operation,
  RegistryOperation,
} from './operation.ts';
import { type Attributes, idsOfBunch, unfoldBunch } from './unfold-bunch.ts';

/**
 * The oracle: what an operation must lead to, said in the plainest way and without the server's code. What a pull
 * leaves behind depends on the page, so it is not told here.
 */
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

/** What becomes of one object: its new attributes; none: it is gone. */
type Fate = (id: string, before: Attributes) => Attributes;

function objectsEffect(facts: Facts, writer: number, operation: ObjectsOperation): Effect {
  const partition = partitionOf(writer, operation.room);
  const fated = (ids: Iterable<string>, fate: Fate): Effect => {
    const keys = [...ids].map((id) => [id, factKey.object(partition, id)] as const);
    return new Map(keys.map(([id, key]) => [key, objectText(fate(id, attributesOf(facts.get(key))))]));
  };
  const unfold = (bunch: Bunch) => unfoldBunch(writer, bunch);
  switch (operation.kind) {
    case 'push_objects': {
      const given = unfold(operation.objects);
      return fated(given.keys(), (id, before) => ({ ...before, ...given.get(id) }));
    }
    case 'push_deletes':
      return fated(idsOfBunch(writer, operation.objects), () => ({}));
    case 'fast_insert': {
      const given = unfold(operation.objects);
      return fated(given.keys(), (id) => given.get(id) ?? {});
    }
    case 'fast_update': {
      const [remove, put] = [unfold(operation.remove), unfold(operation.put)];
      const ids = new Set([...remove.keys(), ...put.keys()]);
      return fated(ids, (id, before) => ({ ...without(before, remove.get(id)), ...put.get(id) }));
    }
    case 'fast_delete': {
      const remove = unfold(operation.remove);
      return fated(remove.keys(), (id, before) => without(before, remove.get(id)));
    }
    case 'replace': {
      const given = unfold(operation.objects);
      const there = idsIn(facts, factKey.object(partition, ''));
      return fated(new Set([...there, ...given.keys()]), (id) => given.get(id) ?? {});
    }
  }
}

function without(before: Attributes, remove: Attributes = {}): Attributes {
  const left = Object.entries(before).filter(
    ([name, value]) => !(Object.hasOwn(remove, name) && factText(remove[name]) === factText(value)),
  );
  return Object.fromEntries(left);
}

function idsIn(facts: Facts, prefix: string): string[] {
  return [...facts.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
}

function attributesOf(text: string | undefined): Attributes {
  return text === undefined ? {} : (parseJson(text) as Attributes);
}

function objectText(attributes: Attributes): string | null {
  return Object.keys(attributes).length === 0 ? null : factText(attributes);
}

function documentEffect(facts: Facts, writer: number, { kind, where, content }: DocumentOperation): Effect {
  const key = factKey.document(documentOf(writer, where, content.type));
  const before = kind === 'set_document' ? undefined : facts.get(key);
  if (content.type === 'text') {
    const text = before === undefined ? '' : (parseJson(before) as string);
    return new Map([[key, factText(text + content.text)]]);
  }
  const objects = before === undefined ? {} : (parseJson(before) as Record<string, Attributes>);
  for (const [id, given] of unfoldBunch(writer, content.objects)) objects[id] = { ...objects[id], ...given };
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
      return new Map([[factKey.source(SOURCES[operation.room]), operation.room === 'shared' ? 'app' : 'user']]);
    case 'create_user':
      return new Map([[user, factText({})]]);
    case 'update_user':
      return new Map([[user, factText({ ...attributesOf(facts.get(user)), mood: operation.mood } as JsonValue)]]);
    case 'delete_user':
      return new Map(belongings(facts, writer).map((key) => [key, null]));
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

/** Everything that goes with a user. */
function belongings(facts: Facts, writer: number): string[] {
  const own = partitionOf(writer, 'own');
  const prefixes = [
    factKey.object(own, ''),
    factKey.mark(own, ''),
    ...(['user', 'client'] as const).map((where) => {
      const { scope } = documentOf(writer, where, 'text');
      return factKey.document({ scope, name: '' });
    }),
  ];
  const owners = [factKey.user(loginOf(writer)), factKey.client(clientOf(writer))];
  return [...facts.keys()].filter((key) => owners.includes(key) || prefixes.some((prefix) => key.startsWith(prefix)));
}
