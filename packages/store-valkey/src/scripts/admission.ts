import { lua, REGISTRY, type Script, script } from './script.ts';

/** How long what the registry has admitted may take to arrive at its place. */
export const TICKET_MS = 600_000;
/** How long an erased place remembers that it was, and how long the registry remembers what it had erased. */
export const FENCE_S = 86_400;

/**
 * Whether a write may happen, by what the registry says. Takes
 *   guards      pairs of field and version ('' for any)
 *   doom        fields of DOOMED that concern the place
 *   members     of the place by owner, by source ('' for none) and by client ('' for none)
 * and gives a refusal or nil, and the epoch, the version of the registry, and the version of the last erasure that it
 * remembers of the place's owners, '0' for none. A refusal is {'gone', which guard, from 1}, {'doomed', field…} when an
 * erasure must be finished first, {'lost'} when the store has no epoch, or {'sealed'} when it was moved. Places are enrolled before anything is
 * written to them: an erasure finds every place there could be something at.
 */
export const ADMISSION = lua`
local function missing_guard()
  local guards = take_list()
  for index = 1, #guards, 2 do
    local kept = redis.call('HGET', ENTRIES, guards[index])
    local version = guards[index + 1]
    if not kept or (version ~= '' and string.sub(kept, 1, #version + 1) ~= version .. ' ') then
      return (index + 1) / 2
    end
  end
  return nil
end

local function doomed_among(fields)
  if #fields == 0 or redis.call('EXISTS', DOOMED) == 0 then return nil end
  local found = {}
  for _, field in ipairs(fields) do
    if redis.call('HEXISTS', DOOMED, field) == 1 then found[#found + 1] = field end
  end
  return #found > 0 and found or nil
end

local function last_erased(fields)
  local last = '0'
  if redis.call('EXISTS', ERASED) == 0 then return last end
  for _, field in ipairs(fields) do
    local version = redis.call('ZSCORE', ERASED, field)
    if version and tonumber(version) > tonumber(last) then last = whole(tonumber(version)) end
  end
  return last
end

local function enrol()
  for _, key in ipairs({ PLACES, SOURCES, CLIENTS }) do
    local member = take()
    if member ~= '' then redis.call('ZADD', key, 0, member) end
  end
end

local function admit()
  local missing = missing_guard()
  if missing then return { 'gone', missing } end
  local concerned = take_list()
  local doomed = doomed_among(concerned)
  if doomed then return { 'doomed', unpack(doomed) } end
  local facts = redis.call('HMGET', FACTS, 'epoch', 'seal', 'version')
  local epoch = facts[1]
  if not epoch then return { 'lost' } end
  if facts[2] then return { 'sealed' } end
  enrol()
  return nil, epoch, facts[3] or '0', last_erased(concerned)
end`;

/**
 * The same at a place. On one node it asks the registry beside it; elsewhere it takes what the registry said before,
 * the ticket: version of the registry, when, epoch and last erasure. A ticket from before an erasure, or an old one, is
 * refused with {'stale', the moment by this node's clock, the version of the fence or '0'}. The clocks of the two nodes
 * need not agree: whoever is refused asks the registry again and gives, as the moment, the one this node has told, which
 * was before the registry admitted it. Fences of clients are given as keys between those of the place and those of the registry.
 */
export const ADMISSION_AT_PLACE = lua`
${ADMISSION}
local TICKET_US = ${TICKET_MS * 1_000}
local function fence_at(key)
  return tonumber(redis.call('GET', key) or '0')
end

-- A moment that lies as far ahead was told by another clock than this node's.
local function is_old(at_us) return math.abs(now_us() - at_us) > TICKET_US end

local function admitted(client_fence)
  if IS_ONE_NODE then return admit() end
  local version, at_us, epoch, erased = take(), take_number(), take(), take()
  local fence = math.max(fence_at(FENCE), client_fence and fence_at(client_fence) or 0)
  if tonumber(version) < fence or is_old(at_us) then return { 'stale', whole(now_us()), whole(fence) } end
  return nil, epoch, version, erased
end`;

/**
 * Gives a ticket for one write to one place, where registry and place lie on different nodes.
 *
 * KEYS    the registry
 * ARGV    the version of a fence that has refused a ticket, or '0'; guards, doom, members: as ADMISSION takes them
 * Answer  {'admitted', version, moment in µs, epoch, version of the last erasure} or a refusal
 *
 * A fence newer than the registry's version is of an erasure that the registry has lost, with everything that went with
 * it. Versions then go on behind the fence, or nothing could be written there until the clock has passed it.
 */
export const admitScript: Script = script(
  'admit',
  'writes',
  REGISTRY,
  ADMISSION,
  lua`
local fence = take()
local refusal, epoch, version, erased = admit()
if refusal then return refusal end
if tonumber(fence) > tonumber(version) then
  version = fence
  redis.call('HSET', FACTS, 'version', version)
end
return { 'admitted', version, whole(now_us()), epoch, erased }`,
);
