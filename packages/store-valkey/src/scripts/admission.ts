import { lua, REGISTRY, type Script, script } from './script.ts';

/** How long what the registry has admitted may take to arrive at its place, by the clocks of the two nodes. */
export const TICKET_MS = 600_000;
/** How long an erased place remembers that it was. Far longer than a ticket, so that clocks need not agree. */
export const FENCE_S = 86_400;

/**
 * Whether a write may happen, by what the registry says. Takes
 *   guards      pairs of field and version ('' for any)
 *   doom        fields of DOOMED that concern the place
 *   members     of the place by owner, by source ('' for none) and by client ('' for none)
 * and gives a refusal or nil, and the epoch. A refusal is {'gone', which guard, from 1}, {'doomed', field…} when an
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

local function enrol()
  for _, key in ipairs({ PLACES, SOURCES, CLIENTS }) do
    local member = take()
    if member ~= '' then redis.call('ZADD', key, 0, member) end
  end
end

local function admit()
  local missing = missing_guard()
  if missing then return { 'gone', missing } end
  local doomed = doomed_among(take_list())
  if doomed then return { 'doomed', unpack(doomed) } end
  local facts = redis.call('HMGET', FACTS, 'epoch', 'seal')
  local epoch = facts[1]
  if not epoch then return { 'lost' } end
  if facts[2] then return { 'sealed' } end
  enrol()
  return nil, epoch
end`;

/**
 * The same at a place. On one node it asks the registry beside it; elsewhere it takes what the registry said before,
 * the ticket: version of the registry, when, and epoch. A ticket from before an erasure, or an old one, is 'stale'.
 * Fences of clients are given as keys between those of the place and those of the registry.
 */
export const ADMISSION_AT_PLACE = lua`
${ADMISSION}
local TICKET_US = ${TICKET_MS * 1_000}
local function is_fenced(key, version)
  local fence = redis.call('GET', key)
  return fence and tonumber(version) < tonumber(fence)
end

local function admitted(client_fence)
  if IS_ONE_NODE then return admit() end
  local version, at_us, epoch = take(), take_number(), take()
  local is_stale = is_fenced(FENCE, version) or (client_fence and is_fenced(client_fence, version))
  if is_stale or now_us() > at_us + TICKET_US then return { 'stale' } end
  return nil, epoch
end`;

/**
 * Gives a ticket for one write to one place, where registry and place lie on different nodes.
 *
 * KEYS    the registry
 * ARGV    guards, doom, members: as ADMISSION takes them
 * Answer  {'admitted', version, moment in µs, epoch} or a refusal
 */
export const admitScript: Script = script(
  'admit',
  'writes',
  REGISTRY,
  ADMISSION,
  lua`
local refusal, epoch = admit()
if refusal then return refusal end
return { 'admitted', redis.call('HGET', FACTS, 'version') or '0', whole(now_us()), epoch }`,
);
