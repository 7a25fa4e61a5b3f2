import { SEQ_DIGITS } from '../keys.ts';
import { maintenanceScript, readingScript, STATE, writingScript } from './scope.ts';
import { APPEND_FIELDS, CHUNK, lua } from './script.ts';

/**
 * ACKNOWLEDGED is an index of TIDEMARKS by what they acknowledge: the epoch, the digits of the base to the base 36 (of a
 * device that starts over, zeros), and the client. All scores are 0, so that ranges of members can be counted.
 */
export const ACKNOWLEDGED_INDEX = lua`
local function acknowledged_member(tidemark)
  local client, base, epoch = string.match(tidemark, '^([^%z]*)%z[^.]*%.([^.]*)%.[^.]*%.[^.]*%.(.*)$')
  return epoch .. '\0' .. string.rep('0', ${SEQ_DIGITS} - #base) .. base .. client
end

local function remove_acknowledged(min, max)
  for _, tidemark in ipairs(redis.call('ZRANGEBYLEX', TIDEMARKS, min, max)) do
    redis.call('ZREM', ACKNOWLEDGED, acknowledged_member(tidemark))
  end
end`;

/**
 * Records the tidemark of a client, unless the partition was never written to. A tidemark is one member of TIDEMARKS: the
 * encoded client and the mark as text. `min` and `max` are the range that contains the client's member, and `expect` is
 * the member that must be there, 'none' or 'any'.
 *
 * Extra key  the fence of the client
 * Reply      {'written'} · {'conflict'} · a refusal of admission
 */
export const noteTidemarkScript = writingScript('note_tidemark', {
  effect: 'writes',
  keys: ['state', 'tidemarks', 'acknowledged', 'fence'],
  extraKey: 'client_fence',
  parameters: { min: 'text', max: 'text', expect: 'text', member: 'text' },
  uses: [STATE, ACKNOWLEDGED_INDEX],
  body: lua`
local refusal, epoch, _, erased = admitted(CLIENT_FENCE)
if refusal then return refusal end
local state = read_state()
if not state or state.epoch ~= epoch or not state.is_partition or state.version < tonumber(erased) then
  return { 'written' }
end
if expect ~= 'any' and (redis.call('ZRANGEBYLEX', TIDEMARKS, min, max)[1] or 'none') ~= expect then
  return { 'conflict' }
end
remove_acknowledged(min, max)
redis.call('ZREMRANGEBYLEX', TIDEMARKS, min, max)
redis.call('ZADD', TIDEMARKS, 0, member)
redis.call('ZADD', ACKNOWLEDGED, 0, acknowledged_member(member))
return { 'written' }`,
});

/**
 * Lists tidemarks in a range of members.
 *
 * Reply  {'tidemarks', member …} or a refusal to read
 */
export const tidemarksScript = readingScript('tidemarks', {
  effect: 'reads',
  keys: ['state', 'tidemarks'],
  parameters: { min: 'text', max: 'text', limit: 'number' },
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
local reply = { 'tidemarks' }
if state and state.is_partition then
  for _, member in ipairs(redis.call('ZRANGEBYLEX', TIDEMARKS, min, max, 'LIMIT', 0, limit)) do
    reply[#reply + 1] = member
  end
end
return reply`,
});

/**
 * Counts the members of an epoch, and those up to `below`. An index that does not have a member for every tidemark was
 * not written by all servers and must be built first.
 *
 * Reply  {'counts', all, below} · {'incomplete'} · a refusal to read
 */
export const countAcknowledgedScript = readingScript('count_acknowledged', {
  effect: 'reads',
  keys: ['state', 'tidemarks', 'acknowledged'],
  parameters: { min: 'text', max: 'text', below: 'text' },
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
if not state or not state.is_partition then return { 'counts', '0', '0' } end
if redis.call('ZCARD', TIDEMARKS) ~= redis.call('ZCARD', ACKNOWLEDGED) then return { 'incomplete' } end
return { 'counts', whole(redis.call('ZLEXCOUNT', ACKNOWLEDGED, min, max)),
  whole(redis.call('ZLEXCOUNT', ACKNOWLEDGED, min, below)) }`,
});

/**
 * Lists tidemarks in a range of the index. `clientAt` is where the client begins in its members.
 *
 * Reply  {'tidemarks', member …} · {'incomplete'} · a refusal to read
 */
export const listAcknowledgedScript = readingScript('list_acknowledged', {
  effect: 'reads',
  keys: ['state', 'tidemarks', 'acknowledged'],
  parameters: { min: 'text', max: 'text', clientAt: 'number', limit: 'number' },
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
local reply = { 'tidemarks' }
if not state or not state.is_partition then return reply end
if redis.call('ZCARD', TIDEMARKS) ~= redis.call('ZCARD', ACKNOWLEDGED) then return { 'incomplete' } end
for _, member in ipairs(redis.call('ZRANGEBYLEX', ACKNOWLEDGED, min, max, 'LIMIT', 0, limit)) do
  local client = string.sub(member, client_at) .. '\0'
  reply[#reply + 1] = redis.call('ZRANGEBYLEX', TIDEMARKS, '[' .. client, '(' .. client .. string.char(127), 'LIMIT', 0, 1)[1]
end
return reply`,
});

/**
 * Adds the next tidemarks to the index, a bounded number per call. The first call, whose `min` is '-', empties it.
 *
 * Reply  {'done'} · {'more', the last tidemark that was added}
 */
export const indexTidemarksScript = maintenanceScript('index_tidemarks', {
  effect: 'writes',
  keys: ['tidemarks', 'acknowledged'],
  parameters: { min: 'text' },
  uses: [ACKNOWLEDGED_INDEX],
  body: lua`
if min == '-' then redis.call('UNLINK', ACKNOWLEDGED) end
local tidemarks = redis.call('ZRANGEBYLEX', TIDEMARKS, min, '+', 'LIMIT', 0, ${CHUNK})
for _, tidemark in ipairs(tidemarks) do redis.call('ZADD', ACKNOWLEDGED, 0, acknowledged_member(tidemark)) end
if #tidemarks < ${CHUNK} then return { 'done' } end
return { 'more', tidemarks[#tidemarks] }`,
});

/**
 * Reads notes.
 *
 * Reply  {'notes', value or '' …} in the order of the fields, or a refusal to read
 */
export const readNotesScript = readingScript('read_notes', {
  effect: 'reads',
  keys: ['state', 'notes'],
  parameters: { fields: 'list' },
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
local reply = { 'notes' }
in_chunks(fields, ${CHUNK}, function(first, last)
  local found = state and redis.call('HMGET', NOTES, unpack(fields, first, last)) or {}
  for index = 1, last - first + 1 do reply[#reply + 1] = found[index] or '' end
end)
return reply`,
});

/**
 * Lists notes in a range of fields.
 *
 * Reply  {'notes', field, value …} or a refusal to read
 */
export const listNotesScript = readingScript('list_notes', {
  effect: 'reads',
  keys: ['state', 'notes', 'note_names'],
  parameters: { min: 'text', max: 'text', limit: 'number' },
  uses: [APPEND_FIELDS],
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
local fields = state and redis.call('ZRANGEBYLEX', NOTE_NAMES, min, max, 'LIMIT', 0, limit) or {}
return append_fields({ 'notes' }, NOTES, fields)`,
});
