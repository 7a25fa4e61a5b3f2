import { ADMISSION_AT_PLACE, FENCE_S } from './admission.ts';
import { READING, STATE } from './place.ts';
import { CHUNK, lua, type PlaceScript, placeScript } from './script.ts';

// A tidemark is one member of TIDEMARKS: the client, ended by a zero byte, and the mark as a text of plain characters.

/**
 * Notes a tidemark, unless the partition was never written to.
 *
 * KEYS    the place; the fence of the client; the registry, when it lies on the same node
 * ARGV    admission; begin and end of the range of the client's member; the member
 * Answer  {'written'} or a refusal of admission
 */
export const noteTidemarkScript: PlaceScript = placeScript(
  'note_tidemark',
  'writes',
  { place: ['state', 'tidemarks', 'fence'], more: 'client_fence' },
  ADMISSION_AT_PLACE,
  STATE,
  lua`
local refusal, epoch, _, erased = admitted(CLIENT_FENCE)
if refusal then return refusal end
local state = read_state()
if not state or state.epoch ~= epoch or not state.is_partition or state.version < tonumber(erased) then
  return { 'written' }
end
local min, max, member = take(), take(), take()
redis.call('ZREMRANGEBYLEX', TIDEMARKS, min, max)
redis.call('ZADD', TIDEMARKS, 0, member)
return { 'written' }`,
);

/**
 * Lists tidemarks.
 *
 * KEYS    the place; the registry, when it lies on the same node
 * ARGV    as READING takes them; begin and end of the range; how many at most
 * Answer  {'tidemarks', member …} or a refusal of READING
 */
export const tidemarksScript: PlaceScript = placeScript(
  'tidemarks',
  'reads',
  { place: ['state', 'tidemarks'] },
  READING,
  lua`
local refusal, state = readable()
if refusal then return refusal end
local min, max, limit = take(), take(), take()
local answer = { 'tidemarks' }
if state and state.is_partition then
  for _, member in ipairs(redis.call('ZRANGEBYLEX', TIDEMARKS, min, max, 'LIMIT', 0, limit)) do
    answer[#answer + 1] = member
  end
end
return answer`,
);

/**
 * Reads notes by name.
 *
 * KEYS    the place; the registry, when it lies on the same node
 * ARGV    as READING takes them; fields
 * Answer  {'notes', value or '' …} in the order of the fields, or a refusal of READING
 */
export const readNotesScript: PlaceScript = placeScript(
  'read_notes',
  'reads',
  { place: ['state', 'notes'] },
  READING,
  lua`
local refusal, state = readable()
if refusal then return refusal end
local fields, answer = take_list(), { 'notes' }
in_chunks(fields, ${CHUNK}, function(first, last)
  local found = state and redis.call('HMGET', NOTES, unpack(fields, first, last)) or {}
  for index = 1, last - first + 1 do answer[#answer + 1] = found[index] or '' end
end)
return answer`,
);

/**
 * Lists notes.
 *
 * KEYS    the place; the registry, when it lies on the same node
 * ARGV    as READING takes them; begin and end of the range; how many at most
 * Answer  {'notes', field, value …} or a refusal of READING
 */
export const listNotesScript: PlaceScript = placeScript(
  'list_notes',
  'reads',
  { place: ['state', 'notes', 'note_names'] },
  READING,
  lua`
local refusal, state = readable()
if refusal then return refusal end
local min, max, limit = take(), take(), take()
local answer = { 'notes' }
local fields = state and redis.call('ZRANGEBYLEX', NOTE_NAMES, min, max, 'LIMIT', 0, limit) or {}
in_chunks(fields, ${CHUNK}, function(first, last)
  local values = redis.call('HMGET', NOTES, unpack(fields, first, last))
  for index = first, last do
    answer[#answer + 1] = fields[index]
    answer[#answer + 1] = values[index - first + 1]
  end
end)
return answer`,
);

/**
 * Forgets a client at a place it has left something at, a bounded number of notes at a time.
 *
 * KEYS    the place; the fence of the client
 * ARGV    version of the erasure; when it was read, in µs; begin and end of the range of the tidemark; begin and end
 *         of the range of notes
 * Answer  {'forgotten'} · {'more'} · {'stale', moment in µs} when the erasure was read too long ago
 */
export const forgetClientScript: PlaceScript = placeScript(
  'forget_client',
  'frees',
  { place: ['tidemarks', 'notes', 'note_names', 'note_ends'], more: 'client_fence' },
  ADMISSION_AT_PLACE,
  lua`
local version, at_us = take(), take_number()
local mark_min, mark_max, note_min, note_max = take(), take(), take(), take()
if is_old(at_us) then return { 'stale', whole(now_us()) } end
local fence = redis.call('GET', CLIENT_FENCE)
if fence and tonumber(fence) >= tonumber(version) then return { 'forgotten' } end
redis.call('ZREMRANGEBYLEX', TIDEMARKS, mark_min, mark_max)
local fields = redis.call('ZRANGEBYLEX', NOTE_NAMES, note_min, note_max, 'LIMIT', 0, ${CHUNK})
if #fields > 0 then
  redis.call('HDEL', NOTES, unpack(fields))
  redis.call('ZREM', NOTE_NAMES, unpack(fields))
end
if #fields == ${CHUNK} then return { 'more' } end
redis.call('ZREMRANGEBYLEX', NOTE_ENDS, note_min, note_max)
redis.call('SET', CLIENT_FENCE, version, 'EX', ${FENCE_S})
return { 'forgotten' }`,
);
