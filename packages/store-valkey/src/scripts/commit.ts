import { DIGITS } from '../keys.ts';
import { PLACE_KEYS } from '../layout.ts';
import { RECORD_HEADER_BYTES } from '../records.ts';
import { ADMISSION_AT_PLACE } from './admission.ts';
import { ERAS_MAX, HEADERS, READING, WRITING } from './place.ts';
import { CHUNK, lua, type PlaceScript, placeScript } from './script.ts';

/** Ended notes that go with one write. */
const ENDED_PER_WRITE_MAX = 100;

/** Looks up where objects stand: seqs of live objects and of tombstones, false where there is none. */
const STANDINGS = lua`
local function standings_of(ids, state)
  local live, tombstones = {}, {}
  if not state or not state.is_partition then return live, tombstones end
  in_chunks(ids, ${CHUNK}, function(first, last)
    local found = redis.call('ZMSCORE', LIVE, unpack(ids, first, last))
    local buried = redis.call('ZMSCORE', TOMBSTONES, unpack(ids, first, last))
    for index = first, last do
      live[index] = tonumber(found[index - first + 1] or nil)
      tombstones[index] = tonumber(buried[index - first + 1] or nil)
    end
  end)
  return live, tombstones
end

local function stand_as_expected(ids, expects, live, tombstones)
  for index = 1, #ids do
    local expect = expects[index]
    if expect ~= '' and tonumber(expect) ~= (live[index] or tombstones[index] or 0) then return false end
  end
  return true
end`;

/** The first commit in another era says up to which seq the tokens of the older ones are good. */
const ERAS = lua`
local function enter_era(state)
  local era = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
  era = string.sub(era, 1, 10)
  if state.era == era then return end
  local past = { state.era .. ':' .. whole(state.head) }
  for older, up_to in string.gmatch(state.past, '([^,:]*):(%d+)') do
    if #past < ${ERAS_MAX} then
      past[#past + 1] = older .. ':' .. up_to
    end
  end
  -- One that came from another engine has a past without an era of this one; a new one has none at all.
  state.past = state.head == 0 and '' or table.concat(past, ',')
  state.era = era
end`;

const CHANGES = lua`
-- Deletions of what is not live do nothing.
local function effective_of(values, live)
  local effective = {}
  for index = 1, #values do
    if values[index] ~= '' or live[index] then effective[#effective + 1] = index end
  end
  return effective
end

-- The checksums of the live objects that are about to be replaced or removed, how many they are, and their bytes.
local function sums_of_replaced(ids, effective, live)
  local replaced, sum, bytes = {}, 0, 0
  for _, index in ipairs(effective) do
    if live[index] then replaced[#replaced + 1] = ids[index] end
  end
  in_chunks(replaced, 100, function(first, last)
    for _, value in ipairs(redis.call('HMGET', RECORDS, unpack(replaced, first, last))) do
      sum = add_checksums(sum, checksum_of(value))
      bytes = bytes + #value - ${RECORD_HEADER_BYTES}
    end
  end)
  return { checksum = sum, count = #replaced, bytes = bytes }
end

local function bytes_added(values, effective)
  local bytes = 0
  for _, index in ipairs(effective) do
    if values[index] ~= '' then bytes = bytes + #values[index] - ${RECORD_HEADER_BYTES} end
  end
  return bytes
end

-- A partition from before bytes were kept is counted once.
local function bytes_before(state)
  if not state or not state.is_partition then return 0 end
  if state.bytes then return state.bytes end
  local bytes = 0
  for _, id in ipairs(redis.call('HKEYS', RECORDS)) do
    bytes = bytes + redis.call('HSTRLEN', RECORDS, id) - ${RECORD_HEADER_BYTES}
  end
  return bytes
end

local function call_in_chunks(command, key, list)
  in_chunks(list, ${CHUNK}, function(first, last) redis.call(command, key, unpack(list, first, last)) end)
end

local function apply_changes(state, ids, values, effective, live, tombstones, replaced)
  local records, places, dead, removed, risen = {}, {}, {}, {}, {}
  state.checksum = subtract_checksums(state.checksum, replaced.checksum)
  state.size = state.size - replaced.count
  for _, index in ipairs(effective) do
    local id, value = ids[index], values[index]
    state.head = state.head + 1
    if value ~= '' then
      records[#records + 1] = id; records[#records + 1] = value
      places[#places + 1] = whole(state.head); places[#places + 1] = id
      state.size = state.size + 1
      state.checksum = add_checksums(state.checksum, checksum_of(value))
      if tombstones[index] then risen[#risen + 1] = id end
    else
      dead[#dead + 1] = whole(state.head); dead[#dead + 1] = id
      removed[#removed + 1] = id
    end
  end
  call_in_chunks('HSET', RECORDS, records)
  call_in_chunks('ZADD', LIVE, places)
  call_in_chunks('HDEL', RECORDS, removed)
  call_in_chunks('ZREM', LIVE, removed)
  call_in_chunks('ZREM', TOMBSTONES, risen)
  call_in_chunks('ZADD', TOMBSTONES, dead)
end

local function save(state)
  redis.call('HSET', STATE, 'w', state.word, 'r', state.era, 'h', whole(state.head), 'f', whole(state.floor),
    'n', whole(state.size), 'c', whole(state.checksum), 'p', state.past, 'b', whole(state.bytes))
end`;

/**
 * Notes are kept as the digits of when they end, dashes for never, and their text. NOTE_NAMES has them in order,
 * NOTE_ENDS those that end, in the order in which they do.
 */
const NOTES = lua`
local DIGITS = ${DIGITS}
local NEVER = string.rep('-', DIGITS)

local function take_notes()
  if take() == '' then return nil end
  local notes = { owner = take(), ended_before = take() }
  notes.writes = take_list()
  return notes
end

local function notes_as_expected(notes, is_other_life)
  for index = 1, #notes.writes, 3 do
    local expect = notes.writes[index + 2]
    if expect ~= '' then
      local kept = not is_other_life and redis.call('HGET', NOTES, notes.writes[index])
      local found = kept and '=' .. string.sub(kept, DIGITS + 1) or '-'
      if found ~= expect then return false end
    end
  end
  return true
end

local function end_member(notes, field, value)
  local ends = string.sub(value, 1, DIGITS)
  return ends ~= NEVER and notes.owner .. ends .. string.sub(field, #notes.owner + 1) or nil
end

local function apply_notes(notes)
  for index = 1, #notes.writes, 3 do
    local field, value = notes.writes[index], notes.writes[index + 1]
    local kept = redis.call('HGET', NOTES, field)
    local old_end = kept and end_member(notes, field, kept)
    if old_end then redis.call('ZREM', NOTE_ENDS, old_end) end
    if value == '' then
      redis.call('HDEL', NOTES, field)
      redis.call('ZREM', NOTE_NAMES, field)
    else
      redis.call('HSET', NOTES, field, value)
      redis.call('ZADD', NOTE_NAMES, 0, field)
      local new_end = end_member(notes, field, value)
      if new_end then redis.call('ZADD', NOTE_ENDS, 0, new_end) end
    end
  end
  local ended = redis.call('ZRANGEBYLEX', NOTE_ENDS, '[' .. notes.owner, '(' .. notes.ended_before, 'LIMIT', 0,
    ${ENDED_PER_WRITE_MAX})
  for _, member in ipairs(ended) do
    local field = notes.owner .. string.sub(member, #notes.owner + DIGITS + 1)
    redis.call('ZREM', NOTE_ENDS, member)
    redis.call('HDEL', NOTES, field)
    redis.call('ZREM', NOTE_NAMES, field)
  end
end`;

/**
 * Changes objects of a partition, and notes of a device on it, as one step: records, journal, size, checksum and head.
 *
 * KEYS    the place; the fence of the client, or again that of the place when there are no notes; the registry, when it lies on the same node
 * ARGV    admission; expected head or ''; epoch (as state_text without spaces would spell it) and head seen, or '' ''; a
 *         word for a new partition; bytes that its records may have, or ''; ids; values, each with its header, '' deletes; expected seqs, '' for whatever; ids
 *         left alone; their seqs; then '' or: '1', prefix of the device's notes, the same up to now, triples of field,
 *         value ('' removes) and expectation ('' whatever, '-' none, '=text')
 * Answer  {'committed', state} · {'conflict'} · {'too_large'} · a refusal of admission
 */
export const commitScript: PlaceScript = placeScript(
  'commit',
  'writes',
  { place: PLACE_KEYS, more: 'client_fence' },
  ADMISSION_AT_PLACE,
  WRITING,
  HEADERS,
  STANDINGS,
  ERAS,
  CHANGES,
  NOTES,
  lua`
local refusal, epoch, version, erased = admitted(CLIENT_FENCE)
if refusal then return refusal end
local state, is_other_life = writable(epoch, erased)
local expected_head, seen_epoch, seen_head, word, bytes_max = take(), take(), take(), take(), take()
local ids, values, expects, kept, kept_expects = take_list(), take_list(), take_list(), take_list(), take_list()
local notes = take_notes()

local head = state and state.head or 0
local known_epoch = (state and state.is_partition) and state.epoch .. state.word .. state.era or epoch
if expected_head ~= '' and tonumber(expected_head) ~= head then return { 'conflict' } end
if seen_epoch ~= '' and seen_epoch ~= known_epoch then return { 'conflict' } end
local live, tombstones = standings_of(ids, state)
if not stand_as_expected(ids, expects, live, tombstones) then return { 'conflict' } end
if seen_head == '' or tonumber(seen_head) ~= head then
  local kept_live, kept_graves = standings_of(kept, state)
  if not stand_as_expected(kept, kept_expects, kept_live, kept_graves) then return { 'conflict' } end
end
if notes and not notes_as_expected(notes, is_other_life) then return { 'conflict' } end

local effective = effective_of(values, live)
if #effective == 0 and not notes then return { 'committed', state_text(state, epoch) } end
local replaced = sums_of_replaced(ids, effective, live)
local added, before = bytes_added(values, effective), #effective > 0 and bytes_before(state) or 0
if bytes_max ~= '' and added > replaced.bytes and before + added - replaced.bytes > tonumber(bytes_max) then
  return { 'too_large' }
end
begin_writing(epoch, is_other_life, version)
if notes then apply_notes(notes) end
if #effective > 0 then
  if not state or not state.is_partition then
    state = { epoch = epoch, word = word, era = '', past = '', head = 0, floor = 0, size = 0, checksum = 0,
      is_partition = true }
  end
  enter_era(state)
  apply_changes(state, ids, values, effective, live, tombstones, replaced)
  state.bytes = before + added - replaced.bytes
  save(state)
end
return { 'committed', state_text(state, epoch) }`,
);

/**
 * Forgets tombstones.
 *
 * KEYS    the place; the registry, when it lies on the same node
 * ARGV    as READING takes them; the seq up to which; how many at most
 * Answer  {'state', state} or a refusal of READING
 */
export const trimScript: PlaceScript = placeScript(
  'trim',
  'frees',
  { place: ['state', 'tombstones'] },
  READING,
  lua`
local refusal, state, epoch = readable()
if refusal then return refusal end
local up_to, graves_max = take_number(), take_number()
local target = state and math.min(up_to, state.head) or 0
if not state or not state.is_partition or target <= state.floor then return { 'state', state_text(state, epoch) } end
local due = redis.call('ZRANGEBYSCORE', TOMBSTONES, '-inf', whole(target), 'WITHSCORES', 'LIMIT', 0, graves_max)
local ids = {}
for index = 1, #due, 2 do ids[#ids + 1] = due[index] end
in_chunks(ids, ${CHUNK}, function(first, last) redis.call('ZREM', TOMBSTONES, unpack(ids, first, last)) end)
state.floor = #ids < graves_max and target or tonumber(due[#due])
redis.call('HSET', STATE, 'f', whole(state.floor))
return { 'state', state_text(state, epoch) }`,
);
