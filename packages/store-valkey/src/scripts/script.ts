import { createHash } from 'node:crypto';
import { PLACE_KEYS, REGISTRY_KEYS } from '../layout.ts';

/** A Lua script that the server runs as one step. */
export interface Script {
  readonly name: string;
  readonly text: string;
  readonly sha: string;
}

/** Scripts that only read say so: they then also run while memory is exhausted. */
export function script(name: string, kind: 'reads' | 'writes', ...parts: readonly string[]): Script {
  const text = `#!lua${kind === 'reads' ? ' flags=no-writes' : ''}\n${[ARGUMENTS, ...parts].join('\n')}`;
  return { name, text, sha: createHash('sha1').update(text).digest('hex') };
}

/** Marks a template as Lua for editors, and takes numbers and names into it. */
export function lua(strings: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: strings.raw }, ...values);
}

/** How many members one call may take: Lua can hand over some 8,000 values at once. */
export const CHUNK = 1_000;

/** Arguments are taken one after the other; lists come with their length in front. */
const ARGUMENTS = lua`
local taken = 0
local function take() taken = taken + 1; return ARGV[taken] end
local function take_number() return tonumber(take()) end
local function take_list()
  local list = {}
  for index = 1, take_number() do list[index] = take() end
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

/** Names for the keys of a place, which come first in every script about one. */
export const PLACE = lua`
local STATE, RECORDS, LIVE, GRAVES, TIDEMARKS, DOCUMENTS, NOTES, NOTE_NAMES, NOTE_ENDS, FENCE = unpack(KEYS, 1, ${PLACE_KEYS.length})
-- Whether the registry lies on the same node, and its keys follow: then one script is enough.
local IS_ONE_NODE = #KEYS >= ${PLACE_KEYS.length + REGISTRY_KEYS.length}
local FACTS, ENTRIES, NAMES, PLACES, SOURCES, CLIENTS, DOOMED = unpack(KEYS, #KEYS - ${REGISTRY_KEYS.length - 1}, #KEYS)`;

/** Names for the keys of the registry alone. */
export const REGISTRY = lua`
local FACTS, ENTRIES, NAMES, PLACES, SOURCES, CLIENTS, DOOMED = unpack(KEYS, 1, ${REGISTRY_KEYS.length})`;
