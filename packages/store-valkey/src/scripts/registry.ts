import { PLACE_KEYS, REGISTRY_KEYS } from '../layout.ts';
import { ADMISSION, ADMISSION_AT_PLACE, FENCE_S } from './admission.ts';
import { WRITING } from './place.ts';
import { CHUNK, lua, type PlaceScript, placeScript, REGISTRY, type Script, script } from './script.ts';

/** Places and clients' places given out at a time to be erased. */
const SWEEP_MAX = 100;

/**
 * Versions follow the clock and never repeat: also not after the store was emptied or set back to an older state.
 */
const VERSIONS = lua`
local function next_version()
  local last = tonumber(redis.call('HGET', FACTS, 'version') or '0')
  local version = whole(math.max(last + 1, now_us()))
  redis.call('HSET', FACTS, 'version', version)
  return version
end`;

/**
 * Begins the first life of a store.
 *
 * KEYS    the registry
 * ARGV    an epoch; the format of what is kept
 * Answer  {epoch, format, seal}: those that are there by now, '' for no seal
 */
export const beginScript: Script = script(
  'begin',
  'writes',
  REGISTRY,
  lua`
redis.call('HSETNX', FACTS, 'epoch', take())
redis.call('HSETNX', FACTS, 'format', take())
local facts = redis.call('HMGET', FACTS, 'epoch', 'format', 'seal')
return { facts[1], facts[2], facts[3] or '' }`,
);

/**
 * Changes entries, and says what is to be erased with them.
 *
 * KEYS    the registry
 * ARGV    guards; fields of DOOMED that must not be there; triples of field, expected version or '', and '=value' or ''
 *         to remove; fields of DOOMED to set
 * Answer  {'written'} · {'conflict'} · {'gone', which} · {'doomed', field …} · {'sealed'}
 */
const WRITE_ENTRIES = lua`
if redis.call('HEXISTS', FACTS, 'seal') == 1 then return { 'sealed' } end
local missing = missing_guard()
if missing then return { 'gone', missing } end
local doomed = doomed_among(take_list())
if doomed then return { 'doomed', unpack(doomed) } end
local writes, erased = take_list(), take_list()
for index = 1, #writes, 3 do
  local expect = writes[index + 1]
  if expect ~= '' then
    local kept = redis.call('HGET', ENTRIES, writes[index])
    local version = kept and string.match(kept, '^%d+') or '0'
    if tonumber(version) ~= tonumber(expect) then return { 'conflict' } end
  end
end
for index = 1, #writes, 3 do
  local field, value = writes[index], writes[index + 2]
  if value == '' then
    redis.call('HDEL', ENTRIES, field)
    redis.call('ZREM', NAMES, field)
  else
    redis.call('HSET', ENTRIES, field, next_version() .. ' ' .. string.sub(value, 2))
    redis.call('ZADD', NAMES, 0, field)
  end
end
if #erased > 0 then
  local version = next_version()
  for _, field in ipairs(erased) do redis.call('HSET', DOOMED, field, version) end
end
return { 'written' }`;

export const writeEntriesScript: Script = script(
  'write_entries',
  'writes',
  REGISTRY,
  ADMISSION,
  VERSIONS,
  WRITE_ENTRIES,
);

/** The same for what frees memory, or must be possible without: deletions, and the logins of those who delete. */
export const freeEntriesScript: Script = script('free_entries', 'frees', REGISTRY, ADMISSION, VERSIONS, WRITE_ENTRIES);

/**
 * Lists entries.
 *
 * KEYS    the registry
 * ARGV    begin and end of the range; how many at most
 * Answer  field, value …
 */
export const listEntriesScript: Script = script(
  'list_entries',
  'reads',
  REGISTRY,
  lua`
local fields = redis.call('ZRANGEBYLEX', NAMES, take(), take(), 'LIMIT', 0, take())
local answer = {}
in_chunks(fields, ${CHUNK}, function(first, last)
  local values = redis.call('HMGET', ENTRIES, unpack(fields, first, last))
  for index = first, last do
    answer[#answer + 1] = fields[index]
    answer[#answer + 1] = values[index - first + 1]
  end
end)
return answer`,
);

/**
 * Lists places, and what is to be erased, which the caller leaves out.
 *
 * KEYS    the registry
 * ARGV    begin of the range; how many at most
 * Answer  {members, fields of DOOMED, epoch}
 */
export const listPlacesScript: Script = script(
  'list_places',
  'reads',
  REGISTRY,
  lua`
return {
  redis.call('ZRANGEBYLEX', PLACES, take(), '+', 'LIMIT', 0, take()),
  redis.call('HKEYS', DOOMED),
  redis.call('HGET', FACTS, 'epoch') or '',
}`,
);

/**
 * Empties the registry except some entries, dooms all places, and begins a new life.
 *
 * KEYS    the registry; the statistics
 * ARGV    epoch; the field of DOOMED that stands for everything; fields of entries that stay
 * Answer  nothing
 */
export const resetScript: Script = script(
  'reset',
  'frees',
  REGISTRY,
  VERSIONS,
  lua`
local STATS_FROM = ${REGISTRY_KEYS.length + 1}
local epoch, everything, kept = take(), take(), take_list()
local values = {}
for index, field in ipairs(kept) do values[index] = redis.call('HGET', ENTRIES, field) end
redis.call('UNLINK', ENTRIES, NAMES, CLIENTS, DOOMED, ERASED, unpack(KEYS, STATS_FROM))
for index, field in ipairs(kept) do
  if values[index] then
    redis.call('HSET', ENTRIES, field, values[index])
    redis.call('ZADD', NAMES, 0, field)
  end
end
redis.call('HSET', FACTS, 'epoch', epoch)
redis.call('HSET', DOOMED, everything, next_version())
return {}`,
);

/**
 * The next places that a doom concerns. When none is left, the doom is lifted, and it is remembered for a day that its
 * owner was erased: a failover can bring back what a place held.
 *
 * KEYS    the registry
 * ARGV    field of DOOMED; '' or 'places' or 'sources' with begin and end of a range there; '' or '1' with begin and
 *         end of a range of CLIENTS
 * Answer  {'done'} · {'sweep', version, moment in µs, members, members of CLIENTS}
 */
export const sweepScript: Script = script(
  'sweep',
  'frees',
  REGISTRY,
  lua`
local field = take()
local by, min, max = take(), take(), take()
local by_client, client_min, client_max = take(), take(), take()
local version = redis.call('HGET', DOOMED, field)
if not version then return { 'done' } end
local places, clients = {}, {}
if by ~= '' then
  places = redis.call('ZRANGEBYLEX', by == 'places' and PLACES or SOURCES, min, max, 'LIMIT', 0, ${SWEEP_MAX})
end
if by_client ~= '' then
  clients = redis.call('ZRANGEBYLEX', CLIENTS, client_min, client_max, 'LIMIT', 0, ${SWEEP_MAX})
end
if #places == 0 and #clients == 0 then
  redis.call('HDEL', DOOMED, field)
  -- What goes with everything is of another life afterwards.
  if min ~= '-' then redis.call('ZADD', ERASED, version, field) end
  redis.call('ZREMRANGEBYSCORE', ERASED, '-inf', whole(now_us() - ${FENCE_S} * 1000000))
  return { 'done' }
end
return { 'sweep', version, whole(now_us()), places, clients }`,
);

/**
 * Strikes off places that have been erased, unless the doom was lifted or renewed meanwhile.
 *
 * KEYS    the registry
 * ARGV    field of DOOMED; its version; members of PLACES, of SOURCES, of CLIENTS
 * Answer  nothing
 */
export const sweptScript: Script = script(
  'swept',
  'frees',
  REGISTRY,
  lua`
local field, version = take(), take()
if redis.call('HGET', DOOMED, field) ~= version then return {} end
for _, key in ipairs({ PLACES, SOURCES, CLIENTS }) do
  local members = take_list()
  if #members > 0 then redis.call('ZREM', key, unpack(members)) end
end
return {}`,
);

/**
 * Erases a place and leaves a fence: whatever was admitted before is refused from now on. Doing it twice does it once.
 *
 * KEYS    the place
 * ARGV    version of the erasure; when it was read, in µs
 * Answer  {'erased'} · {'stale', moment in µs} when the erasure was read too long ago
 */
export const erasePlaceScript: PlaceScript = placeScript(
  'erase_place',
  'frees',
  { place: PLACE_KEYS },
  ADMISSION_AT_PLACE,
  WRITING,
  lua`
local version, at_us = take(), take_number()
if is_old(at_us) then return { 'stale', whole(now_us()) } end
local fence = redis.call('GET', FENCE)
if fence and tonumber(fence) >= tonumber(version) then return { 'erased' } end
wipe()
redis.call('SET', FENCE, version, 'EX', ${FENCE_S})
return { 'erased' }`,
);

/**
 * Looks through places that were found by their keys: one whose owner was erased since it was written to is to be erased
 * again, any other is enrolled.
 *
 * KEYS    the registry
 * ARGV    how many; of each: members of PLACES and of SOURCES ('' for none), the version that admitted its last write,
 *         the fields of DOOMED that concern it
 * Answer  {moment in µs, index from 1, version of the erasure, …}
 */
export const auditScript: Script = script(
  'audit',
  'frees',
  REGISTRY,
  ADMISSION,
  lua`
local answer = { whole(now_us()) }
for index = 1, take_number() do
  local member, source_member, version, concerned = take(), take(), take_number(), take_list()
  local erased = last_erased(concerned)
  if version < tonumber(erased) then
    answer[#answer + 1], answer[#answer + 2] = index, erased
  else
    redis.call('ZADD', PLACES, 0, member)
    if source_member ~= '' then redis.call('ZADD', SOURCES, 0, source_member) end
  end
end
return answer`,
);

/**
 * Empties a place that was last written to before its owner was erased; one that was written to since is left alone.
 *
 * KEYS    the place
 * ARGV    version of the erasure
 * Answer  nothing
 */
export const discardPlaceScript: PlaceScript = placeScript(
  'discard_place',
  'frees',
  { place: PLACE_KEYS },
  WRITING,
  lua`
local version = take()
local state = read_state()
if not state or state.version >= tonumber(version) then return {} end
wipe()
redis.call('SET', FENCE, version, 'EX', ${FENCE_S})
return {}`,
);
