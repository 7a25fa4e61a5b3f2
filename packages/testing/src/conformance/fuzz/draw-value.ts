import type { Rng } from '@tidemark/client-testing';
import type { Schema } from '../api-document.ts';
import { junkText, junkValue } from './junk.ts';

/** Names that exist on the server, so that many requests get past the first look-up. */
export const KNOWN = {
  users: ['anna', 'bob', 'a/b', '🌊'],
  sources: ['Order', 'Product', 'a*b', 'Polled', 'Team'],
  groups: ['north', 'a/b', '🌊'],
  documents: ['md', 'notes', 'hash', '*x'],
  clients: ['phone', 'tablet'],
  objects: ['1', '2', 'constructor', 'é'],
} as const;

type Draw = (rng: Rng) => unknown;

/** Values that fit a member of this name, where the schema does not tell. */
const BY_NAME: Readonly<Record<string, Draw>> = {
  user_id: (rng) => rng.pick(KNOWN.users),
  user: (rng) => rng.pick(KNOWN.users),
  after: (rng) => rng.pick(KNOWN.users),
  group: (rng) => rng.pick([null, null, ...KNOWN.groups]),
  groups: (rng) => [rng.pick(KNOWN.groups), rng.pick(KNOWN.groups)],
  members: (rng) => [rng.pick(KNOWN.users)],
  from: (rng) => rng.pick(KNOWN.groups),
  to: (rng) => rng.pick(KNOWN.groups),
  source_id: (rng) => rng.pick(KNOWN.sources),
  source_name: (rng) => rng.pick(KNOWN.sources),
  client_id: (rng) => rng.pick(KNOWN.clients),
  doc: (rng) => rng.pick(KNOWN.documents),
  backup: () => 'known',
  keep: (rng) => rng.between(1, 3),
  token_id: () => '0123456789abcdef',
  partition_type: (rng) => rng.pick(['app', 'user', 'group']),
  limit: (rng) => String(rng.between(1, 20)),
  start: (rng) => String(rng.between(-3, 3)),
  finish: (rng) => String(rng.between(-3, 3)),
  names: (rng) => rng.pick(['*', 'http:*', 'sources:*:Order', 'x']),
  metric: (rng) => rng.pick(['http:GET:/rc/v1/users', 'sources:push_objects:Order', 'x']),
  refresh_time: (rng) => rng.pick([0, 10, null]),
  adapter_url: (rng) => rng.pick(['http://127.0.0.1:1/', 'https://backend.example/x', null]),
  scopes: (rng) => rng.pick([['read'], ['push'], ['read', 'push'], ['admin']]),
  expires_at: (rng) => rng.pick([null, '2099-01-31T12:00:00Z']),
  append: (rng) => rng.chance(50),
  rebuild_md: (rng) => rng.chance(50),
  attributes: (rng) => ({ login: rng.pick(KNOWN.users), email: 'x@example', ...attributes(rng) }),
  objects: (rng) => (rng.chance(30) ? ids(rng) : objects(rng)),
  delete_data: objects,
  data: (rng) => rng.pick([objects, objects, text, sourceData])(rng),
  sources: (rng) => rng.pick([rng.pick(KNOWN.sources), [...KNOWN.sources], pulled(rng), pulled(rng)]),
  source: (rng) => rng.pick(KNOWN.sources),
  client: (rng) => rng.pick(KNOWN.clients),
  changes: (rng) => Array.from({ length: rng.below(4) }, () => upload(rng)),
  acknowledged: (rng) => ({ [rng.pick(KNOWN.sources)]: ids(rng) }),
  max_objects: (rng) => rng.between(1, 20),
  token: text,
  message: text,
  name: (rng) => rng.pick([`Source ${rng.below(20)}`, rng.pick(KNOWN.sources)]),
  login: (rng) => rng.pick(KNOWN.users),
  password: () => 'a password',
};

/** Returns a value that fits name and schema. */
export function drawValue(name: string, schema: Schema, rng: Rng): unknown {
  const known = Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined;
  return known === undefined ? bySchema(schema, rng) : known(rng);
}

function bySchema(schema: Schema, rng: Rng): unknown {
  const {
    type: types,
    anyOf,
    properties,
    enum: allowed,
  } = schema as {
    readonly type?: string | readonly string[];
    readonly enum?: readonly unknown[];
    readonly anyOf?: readonly Schema[];
    readonly properties?: Readonly<Record<string, Schema>>;
  };
  if (anyOf !== undefined) return bySchema(rng.pick(anyOf), rng);
  if (allowed !== undefined) return rng.pick(allowed);
  const type = typeof types === 'object' ? rng.pick(types) : types;
  if (type === 'object') return drawObject(properties ?? {}, rng);
  if (type === 'string') return text(rng);
  if (type === 'boolean') return rng.chance(50);
  if (type === 'integer' || type === 'number') return rng.between(-2, 100);
  return type === 'null' ? null : junkValue(rng);
}

export function drawObject(properties: Readonly<Record<string, Schema>>, rng: Rng): Record<string, unknown> {
  const members = Object.entries(properties).map(([name, schema]) => [name, drawValue(name, schema, rng)] as const);
  return Object.fromEntries(members);
}

function objects(rng: Rng): Record<string, unknown> {
  return Object.fromEntries(ids(rng).map((id) => [id, attributes(rng)]));
}

function pulled(rng: Rng): Record<string, unknown> {
  const names = Array.from({ length: rng.below(4) }, () => rng.pick(KNOWN.sources));
  return Object.fromEntries(
    names.map((name) => [name, rng.pick([{}, { token: null }, { token: junkText(rng) }, { groups: groups(rng) }])]),
  );
}

function groups(rng: Rng): Record<string, unknown> {
  return { [rng.pick(KNOWN.groups)]: { token: rng.pick([null, junkText(rng)]) } };
}

function upload(rng: Rng): Record<string, unknown> {
  return {
    op_id: rng.pick(['1', '2', '3', junkText(rng)]),
    source: rng.pick(KNOWN.sources),
    op: rng.pick(['create', 'update', 'delete']),
    id: rng.pick(KNOWN.objects),
    attributes: attributes(rng),
    ...(rng.chance(30) ? { group: rng.pick(KNOWN.groups) } : {}),
    ...(rng.chance(30) ? { seen: rng.pick([null, junkText(rng)]) } : {}),
  };
}

function ids(rng: Rng): string[] {
  return Array.from({ length: rng.below(4) }, () => rng.pick(KNOWN.objects));
}

function attributes(rng: Rng): Record<string, unknown> {
  const names = Array.from({ length: rng.below(4) }, () => rng.pick(['a', 'b', 'name', 'id']));
  return Object.fromEntries(names.map((name) => [name, rng.pick([1, 'x', null, true, [1], { b: 2 }])]));
}

function sourceData(rng: Rng): Record<string, unknown> {
  return { poll_interval: rng.between(-1, 100), queue: rng.pick(['q', null]) };
}

function text(rng: Rng): string {
  return rng.chance(50) ? 'text' : junkText(rng);
}
