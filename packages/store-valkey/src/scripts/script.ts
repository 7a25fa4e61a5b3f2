import { createHash } from 'node:crypto';
import { type PlaceKeyName, REGISTRY_KEYS, type RegistryKeyName } from '../layout.ts';

/** A Lua script that the server runs as one step. */
export interface Script {
  readonly name: string;
  readonly text: string;
  readonly sha: string;
}

/** One that works at a place. It is given the keys of the place it needs, one more or none, and those of the registry. */
export interface PlaceScript extends Script {
  readonly keys: readonly PlaceKeyName[];
  readonly registry: readonly RegistryKeyName[];
}

type Kind = 'reads' | 'writes' | 'frees';

/** Scripts that only read, or free memory, say so: they then also run while memory is exhausted. */
const FLAGS: Readonly<Record<Kind, string>> = { reads: ' flags=no-writes', writes: '', frees: ' flags=allow-oom' };

export function script(name: string, kind: Kind, ...parts: readonly string[]): Script {
  const text = `#!lua${FLAGS[kind]}\n${[ARGUMENTS, ...parts].join('\n')}`;
  return { name, text, sha: createHash('sha1').update(text).digest('hex') };
}

export function placeScript(
  name: string,
  kind: Kind,
  keys: { readonly place: readonly PlaceKeyName[]; readonly more?: string },
  ...parts: readonly string[]
): PlaceScript {
  const registry = kind === 'reads' ? READING_KEYS : REGISTRY_KEYS;
  const own = [...keys.place, ...(keys.more === undefined ? [] : [keys.more])];
  const prelude = lua`
local ${namesOf(own)} = unpack(KEYS, 1, ${own.length})
-- Whether the registry lies on the same node, and its keys follow: then one script is enough.
local IS_ONE_NODE = #KEYS > ${own.length}
local ${namesOf(registry)} = unpack(KEYS, ${own.length + 1}, ${own.length + registry.length})`;
  return { ...script(name, kind, prelude, ...parts), keys: keys.place, registry };
}

/** What says whether a place may be read. */
const READING_KEYS: readonly RegistryKeyName[] = ['facts', 'doomed'];

function namesOf(keys: readonly string[]): string {
  return keys.map((key) => key.toUpperCase()).join(', ');
}

/** Marks a template as Lua for editors, and takes numbers and names into it. */
export function lua(strings: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: strings.raw }, ...values);
}

/** How many members one call may take: Lua can hand over some 8,000 values at once. */
export const CHUNK = 1_000;

/**
 * Arguments are taken one after the other. A list comes with its length in front, or, when it is long, as a number of
 * packs below zero and then the packs: so many arguments would cost more than all the rest.
 */
const ARGUMENTS = lua`
local taken = 0
local function take() taken = taken + 1; return ARGV[taken] end
local function take_number() return tonumber(take()) end
local function take_list()
  local list, count = {}, take_number()
  for index = 1, count do list[index] = take() end
  for _ = 1, -count do
    for _, member in ipairs(cmsgpack.unpack(take())) do list[#list + 1] = member end
  end
  return list
end
local function whole(number) return string.format('%.0f', number) end
local function now_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
-- Calls a command that takes a list, a bounded piece of it at a time.
local function in_chunks(list, size, call)
  for first = 1, #list, size do call(first, math.min(first + size - 1, #list)) end
end`;

/** Names for the keys of the registry alone. */
export const REGISTRY = lua`
local ${namesOf(REGISTRY_KEYS)} = unpack(KEYS, 1, ${REGISTRY_KEYS.length})`;
