import type { Dice } from '@tidemark/client-testing';
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

type Draw = (dice: Dice) => unknown;

/** Values that fit a member of this name, where the schema does not tell. */
const BY_NAME: Readonly<Record<string, Draw>> = {
  user_id: (dice) => dice.pick(KNOWN.users),
  user: (dice) => dice.pick(KNOWN.users),
  after: (dice) => dice.pick(KNOWN.users),
  group: (dice) => dice.pick([null, null, ...KNOWN.groups]),
  groups: (dice) => [dice.pick(KNOWN.groups), dice.pick(KNOWN.groups)],
  members: (dice) => [dice.pick(KNOWN.users)],
  from: (dice) => dice.pick(KNOWN.groups),
  to: (dice) => dice.pick(KNOWN.groups),
  source_id: (dice) => dice.pick(KNOWN.sources),
  source_name: (dice) => dice.pick(KNOWN.sources),
  client_id: (dice) => dice.pick(KNOWN.clients),
  doc: (dice) => dice.pick(KNOWN.documents),
  backup: () => 'known',
  keep: (dice) => dice.between(1, 3),
  token_id: () => '0123456789abcdef',
  partition_type: (dice) => dice.pick(['app', 'user', 'group']),
  limit: (dice) => String(dice.between(1, 20)),
  start: (dice) => String(dice.between(-3, 3)),
  finish: (dice) => String(dice.between(-3, 3)),
  names: (dice) => dice.pick(['*', 'http:*', 'sources:*:Order', 'x']),
  metric: (dice) => dice.pick(['http:GET:/rc/v1/users', 'sources:push_objects:Order', 'x']),
  refresh_time: (dice) => dice.pick([0, 10, null]),
  adapter_url: (dice) => dice.pick(['http://127.0.0.1:1/', 'https://backend.example/x', null]),
  scopes: (dice) => dice.pick([['read'], ['push'], ['read', 'push'], ['admin']]),
  expires_at: (dice) => dice.pick([null, '2099-01-31T12:00:00Z']),
  append: (dice) => dice.chance(50),
  rebuild_md: (dice) => dice.chance(50),
  attributes: (dice) => ({ login: dice.pick(KNOWN.users), email: 'x@example', ...attributes(dice) }),
  objects: (dice) => (dice.chance(30) ? ids(dice) : objects(dice)),
  delete_data: objects,
  data: (dice) => dice.pick([objects, objects, text, sourceData])(dice),
  sources: (dice) => dice.pick([dice.pick(KNOWN.sources), [...KNOWN.sources], pulled(dice), pulled(dice)]),
  source: (dice) => dice.pick(KNOWN.sources),
  client: (dice) => dice.pick(KNOWN.clients),
  changes: (dice) => Array.from({ length: dice.below(4) }, () => upload(dice)),
  acknowledged: (dice) => ({ [dice.pick(KNOWN.sources)]: ids(dice) }),
  max_objects: (dice) => dice.between(1, 20),
  token: text,
  message: text,
  name: (dice) => dice.pick([`Source ${dice.below(20)}`, dice.pick(KNOWN.sources)]),
  login: (dice) => dice.pick(KNOWN.users),
  password: () => 'a password',
};

/** Returns a value that fits name and schema. */
export function drawValue(name: string, schema: Schema, dice: Dice): unknown {
  const known = Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined;
  return known === undefined ? bySchema(schema, dice) : known(dice);
}

function bySchema(schema: Schema, dice: Dice): unknown {
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
  if (anyOf !== undefined) return bySchema(dice.pick(anyOf), dice);
  if (allowed !== undefined) return dice.pick(allowed);
  const type = typeof types === 'object' ? dice.pick(types) : types;
  if (type === 'object') return drawObject(properties ?? {}, dice);
  if (type === 'string') return text(dice);
  if (type === 'boolean') return dice.chance(50);
  if (type === 'integer' || type === 'number') return dice.between(-2, 100);
  return type === 'null' ? null : junkValue(dice);
}

export function drawObject(properties: Readonly<Record<string, Schema>>, dice: Dice): Record<string, unknown> {
  const members = Object.entries(properties).map(([name, schema]) => [name, drawValue(name, schema, dice)] as const);
  return Object.fromEntries(members);
}

function objects(dice: Dice): Record<string, unknown> {
  return Object.fromEntries(ids(dice).map((id) => [id, attributes(dice)]));
}

function pulled(dice: Dice): Record<string, unknown> {
  const names = Array.from({ length: dice.below(4) }, () => dice.pick(KNOWN.sources));
  return Object.fromEntries(
    names.map((name) => [name, dice.pick([{}, { token: null }, { token: junkText(dice) }, { groups: groups(dice) }])]),
  );
}

function groups(dice: Dice): Record<string, unknown> {
  return { [dice.pick(KNOWN.groups)]: { token: dice.pick([null, junkText(dice)]) } };
}

function upload(dice: Dice): Record<string, unknown> {
  return {
    op_id: dice.pick(['1', '2', '3', junkText(dice)]),
    source: dice.pick(KNOWN.sources),
    op: dice.pick(['create', 'update', 'delete']),
    id: dice.pick(KNOWN.objects),
    attributes: attributes(dice),
    ...(dice.chance(30) ? { group: dice.pick(KNOWN.groups) } : {}),
    ...(dice.chance(30) ? { seen: dice.pick([null, junkText(dice)]) } : {}),
  };
}

function ids(dice: Dice): string[] {
  return Array.from({ length: dice.below(4) }, () => dice.pick(KNOWN.objects));
}

function attributes(dice: Dice): Record<string, unknown> {
  const names = Array.from({ length: dice.below(4) }, () => dice.pick(['a', 'b', 'name', 'id']));
  return Object.fromEntries(names.map((name) => [name, dice.pick([1, 'x', null, true, [1], { b: 2 }])]));
}

function sourceData(dice: Dice): Record<string, unknown> {
  return { poll_interval: dice.between(-1, 100), queue: dice.pick(['q', null]) };
}

function text(dice: Dice): string {
  return dice.chance(50) ? 'text' : junkText(dice);
}
