import { readingScript, STATE, writingScript } from './scope.ts';
import { CHUNK, lua } from './script.ts';

/**
 * Records the tidemark of a client, unless the partition was never written to. A tidemark is one member of TIDEMARKS: the
 * encoded client and the mark as text. `min` and `max` are the range that contains the client's member.
 *
 * Extra key  the fence of the client
 * Reply      {'written'} or a refusal of admission
 */
export const noteTidemarkScript = writingScript('note_tidemark', {
  effect: 'writes',
  keys: ['state', 'tidemarks', 'fence'],
  extraKey: 'client_fence',
  parameters: { min: 'text', max: 'text', member: 'text' },
  uses: [STATE],
  body: lua`
local refusal, epoch, _, erased = admitted(CLIENT_FENCE)
if refusal then return refusal end
local state = read_state()
if not state or state.epoch ~= epoch or not state.is_partition or state.version < tonumber(erased) then
  return { 'written' }
end
redis.call('ZREMRANGEBYLEX', TIDEMARKS, min, max)
redis.call('ZADD', TIDEMARKS, 0, member)
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
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
local reply = { 'notes' }
local fields = state and redis.call('ZRANGEBYLEX', NOTE_NAMES, min, max, 'LIMIT', 0, limit) or {}
in_chunks(fields, ${CHUNK}, function(first, last)
  local values = redis.call('HMGET', NOTES, unpack(fields, first, last))
  for index = first, last do
    reply[#reply + 1] = fields[index]
    reply[#reply + 1] = values[index - first + 1]
  end
end)
return reply`,
});
