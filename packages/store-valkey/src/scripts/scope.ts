import { KEPT_OVERHEAD_BYTES } from '@tidemark/core/ports';
import { DIGITS } from '../keys.ts';
import type { RegistryKeyName, ScopeKeyName } from '../layout.ts';
import { CHECKSUM_DIGITS, RECORD_HEADER_BYTES, UNITS_DIGITS } from '../records.ts';
import { ADMISSION, ADMISSION_KEYS, ADMITTED, PERMIT } from './admission.ts';
import { lua, nameKeys, type Parameters, readArguments, type Script, type ScriptSpec, script } from './script.ts';

/** A script that uses the keys of one scope and, where they are on the same node, keys of the registry. */
export interface ScopeScript<P extends Parameters = Parameters> extends Script<P> {
  readonly keys: readonly ScopeKeyName[];
  readonly registry: readonly RegistryKeyName[];
}

interface ScopeScriptSpec<P extends Parameters> extends Omit<ScriptSpec<P>, 'keys'> {
  readonly keys: readonly ScopeKeyName[];
  /** The Lua name of one more key, such as the parts of a document. */
  readonly extraKey?: string;
}

/** What a reading script takes before its own parameters on one node: the erasures that cover what is read. */
export const READ_ON_ONE_NODE = { erasures: 'list' } as const;
/** The same in a cluster: the epoch that the caller last saw, and whether it has just asked the registry for it. */
export const READ_IN_CLUSTER = { epoch: 'text', isConfirmed: 'flag' } as const;

/** A script that reads a scope after `readable`. */
export function readingScript<const P extends Parameters>(name: string, spec: ScopeScriptSpec<P>): ScopeScript<P> {
  const access = lua`
local reading = {}
if IS_ONE_NODE then
${readArguments('reading.', READ_ON_ONE_NODE)}
else
${readArguments('reading.', READ_IN_CLUSTER)}
end
${READING}`;
  return scopeScript(name, ['meta', 'erasures'], access, spec);
}

/** A script that writes to a scope after `admitted`. */
export function writingScript<const P extends Parameters>(name: string, spec: ScopeScriptSpec<P>): ScopeScript<P> {
  const access = lua`
local admission, permit = {}, {}
if IS_ONE_NODE then
${readArguments('admission.', ADMISSION)}
else
${readArguments('permit.', PERMIT)}
end
${ADMITTED}`;
  return scopeScript(name, ADMISSION_KEYS, access, spec);
}

/** A script that looks at a scope only, and is neither guarded nor admitted. */
export function maintenanceScript<const P extends Parameters>(name: string, spec: ScopeScriptSpec<P>): ScopeScript<P> {
  return scopeScript(name, [], '', spec);
}

function scopeScript<const P extends Parameters>(
  name: string,
  registry: readonly RegistryKeyName[],
  access: string,
  { keys, extraKey, ...spec }: ScopeScriptSpec<P>,
): ScopeScript<P> {
  const own = [...keys, ...(extraKey === undefined ? [] : [extraKey])];
  const prelude = [
    nameKeys(own),
    ...(registry.length === 0 ? [] : [nameKeys(registry, own.length + 1)]),
    lua`local IS_ONE_NODE = #KEYS > ${own.length}`,
    access,
  ];
  return { ...script(name, { ...spec, keys: prelude.join('\n') }), keys, registry };
}

/** How many earlier replication ids a partition remembers. Devices whose tokens are older start over. */
export const EARLIER_IDS_MAX = 8;
/** Checksums are below this number. */
const CHECKSUM_MODULUS = '4503599627370496';

/**
 * The fields of STATE:
 *   e  epoch of the store        w  random id of this partition    r  replication id of the node at the last commit
 *   h  head                      f  floor                          n  number of objects
 *   c  checksum                  b  bytes of all records           v  version of the registry at the last write
 *   k  bytes of all tombstones and notes
 *   t  when its changes were committed (`addCommitTime` of the core)
 *   p  earlier replication ids, each with the head up to which it is valid: "id:seq,…"
 * A scope that holds only documents or notes has only e, v and k. One that was imported has neither b nor k until it is
 * written to.
 *
 * A node gets another replication id with every restart and every failover. These are the moments at which acknowledged
 * writes can be lost, so the first commit under another id notes up to which seq the older ids are valid.
 */
export const STATE = lua`
local function read_state()
  local stored = redis.call('HMGET', STATE, 'e', 'w', 'r', 'h', 'f', 'n', 'c', 'p', 'v', 'b', 'k')
  if not stored[1] then return nil end
  local state = { epoch = stored[1], is_partition = stored[4] and true or false }
  state.id, state.replication_id, state.earlier = stored[2] or '', stored[3] or '', stored[8] or ''
  state.head, state.floor = tonumber(stored[4] or 0), tonumber(stored[5] or 0)
  state.size, state.checksum = tonumber(stored[6] or 0), tonumber(stored[7] or 0)
  state.version = tonumber(stored[9] or 0)
  state.bytes = stored[10] and tonumber(stored[10]) or nil
  state.kept = stored[11] and tonumber(stored[11]) or nil
  return state
end

-- "epoch id replication_id head floor size checksum earlier"
local function state_text(state, epoch)
  if not state or not state.is_partition then return epoch .. ' - - 0 0 0 0 ' end
  return table.concat({ state.epoch, state.id, state.replication_id, whole(state.head), whole(state.floor),
    whole(state.size), whole(state.checksum), state.earlier }, ' ')
end`;

/**
 * `readable()` returns a refusal or nil, the state or nil, and the epoch, which is '?' where only the registry knows it. A
 * scope that is being erased reads as empty, and so does one that belongs to an earlier epoch. Refusals are
 *   {'no_epoch'}: the registry is empty
 *   {'other_epoch'}: the scope belongs to another epoch than the one the caller last saw; the caller must ask for the
 *                    current one and try again
 */
const READING = lua`
${STATE}
local function is_being_erased()
  if redis.call('EXISTS', ERASURES) == 0 then return false end
  for _, erasure in ipairs(reading.erasures) do
    if redis.call('HEXISTS', ERASURES, erasure) == 1 then return true end
  end
  return false
end

local function readable()
  if IS_ONE_NODE then
    local epoch = redis.call('HGET', META, 'epoch')
    if not epoch then return { 'no_epoch' } end
    local state = read_state()
    if not state or state.epoch ~= epoch or is_being_erased() then return nil, nil, epoch end
    return nil, state, epoch
  end
  local state = read_state()
  if not state or state.epoch == reading.epoch then return nil, state, '?' end
  if reading.is_confirmed then return nil, nil, '?' end
  return { 'other_epoch' }
end`;

/** `wipe()` deletes all data of the scope. Its fences stay. */
export const WIPE = lua`
local function wipe()
  for _, name in ipairs(redis.call('HKEYS', DOCUMENTS)) do
    redis.call('UNLINK', string.sub(STATE, 1, -#'state' - 1) .. 'parts:' .. name)
  end
  redis.call('UNLINK', STATE, RECORDS, LIVE, TOMBSTONES, TIDEMARKS, ACKNOWLEDGED, DOCUMENTS, NOTES, NOTE_NAMES, NOTE_ENDS,
    OBJECT_FILES, FILE_OBJECTS)
end`;

/**
 * `writable(epoch, erased)` returns the state and whether the scope is outdated: it belongs to another epoch, or was last
 * written to before it was erased, which happens when a failover brings back deleted data. An outdated scope has no state.
 * `begin_writing` wipes an outdated scope; until it is called nothing is changed.
 */
export const WRITING = lua`
${STATE}
${WIPE}
local function writable(epoch, erased)
  local state = read_state()
  if state and (state.epoch ~= epoch or state.version < tonumber(erased)) then return nil, true end
  return state, false
end

local function begin_writing(epoch, is_outdated, version)
  if is_outdated then wipe() end
  redis.call('HSET', STATE, 'e', epoch, 'v', version)
end`;

/** Functions that read the headers of records and parts (records.ts). */
export const HEADERS = lua`
local function digits_of(value, first, last)
  local number = 0
  for _, digit in ipairs({ string.byte(value, first, last) }) do number = number * 64 + digit - 48 end
  return number
end

local function checksum_of(value) return digits_of(value, 1, ${CHECKSUM_DIGITS}) end
local function units_of_record(value) return digits_of(value, ${CHECKSUM_DIGITS + 1}, ${RECORD_HEADER_BYTES}) end
local function units_of_part(value) return digits_of(value, 1, ${UNITS_DIGITS}) end

local function add_checksums(a, b) return (a + b) % ${CHECKSUM_MODULUS} end
local function subtract_checksums(a, b) return (a - b + ${CHECKSUM_MODULUS}) % ${CHECKSUM_MODULUS} end`;

/**
 * The bytes with which the quota counts tombstones and notes (`keptBytes` of the core). NOTES holds field → digits of the
 * time at which the note expires, and its text. A field is the client, the kind and the key, each followed by a zero byte.
 */
export const KEPT_BYTES = lua`
local function tombstone_bytes(id) return #id + ${KEPT_OVERHEAD_BYTES} end

local function note_bytes(field, length)
  return #string.match(field, '^[^%z]*%z[^%z]*%z([^%z]*)%z$') + length - ${DIGITS} + ${KEPT_OVERHEAD_BYTES}
end`;

/** The bytes of a partition. One that was imported has no counts: they are made once, by the next commit. */
export const BYTES = lua`
${KEPT_BYTES}
local function bytes_before(state)
  if not state or not state.is_partition then return 0 end
  if state.bytes then return state.bytes end
  local bytes = 0
  for _, id in ipairs(redis.call('HKEYS', RECORDS)) do
    bytes = bytes + redis.call('HSTRLEN', RECORDS, id) - ${RECORD_HEADER_BYTES}
  end
  return bytes
end

local function kept_before(state)
  if not state then return 0 end
  if state.kept then return state.kept end
  local bytes = 0
  for _, id in ipairs(redis.call('ZRANGE', TOMBSTONES, 0, -1)) do bytes = bytes + tombstone_bytes(id) end
  for _, field in ipairs(redis.call('HKEYS', NOTES)) do
    bytes = bytes + note_bytes(field, redis.call('HSTRLEN', NOTES, field))
  end
  return bytes
end`;
