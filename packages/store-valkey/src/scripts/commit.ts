import { COMMIT_INTERVAL_S, COMMIT_INTERVALS_MAX } from '@tidemark/protocol';
import { DIGITS } from '../keys.ts';
import { HASH_UNITS, SCOPE_KEYS } from '../layout.ts';
import { RECORD_HEADER_BYTES } from '../records.ts';
import { BYTES, EARLIER_IDS_MAX, HEADERS, WRITING, writingScript } from './scope.ts';
import { CHUNK, lua } from './script.ts';

/** Expired notes that one commit deletes. */
const EXPIRED_PER_COMMIT_MAX = 100;

/** Looks up the seqs of objects, live ones and tombstones, and compares them with what the caller expects. */
const SEQS = lua`
local function seqs_of(ids, state)
  local live, dead = {}, {}
  if not state or not state.is_partition then return live, dead end
  in_chunks(ids, ${CHUNK}, function(first, last)
    local live_seqs = redis.call('ZMSCORE', LIVE, unpack(ids, first, last))
    local dead_seqs = redis.call('ZMSCORE', TOMBSTONES, unpack(ids, first, last))
    for index = first, last do
      live[index] = tonumber(live_seqs[index - first + 1] or nil)
      dead[index] = tonumber(dead_seqs[index - first + 1] or nil)
    end
  end)
  return live, dead
end

local function are_as_expected(ids, expected, live, dead)
  for index = 1, #ids do
    local seq = expected[index]
    if seq ~= '' and tonumber(seq) ~= (live[index] or dead[index] or 0) then return false end
  end
  return true
end`;

/** The first commit under another replication id notes up to which seq the older ids are valid. */
const REPLICATION_ID = lua`
local function note_replication_id(state)
  local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
  id = string.sub(id, 1, 10)
  if state.replication_id == id then return end
  local earlier = { state.replication_id .. ':' .. whole(state.head) }
  for older, up_to in string.gmatch(state.earlier, '([^,:]*):(%d+)') do
    if #earlier < ${EARLIER_IDS_MAX} then earlier[#earlier + 1] = older .. ':' .. up_to end
  end
  -- A partition that was imported from another engine has an empty id; a new one has no earlier ids.
  state.earlier = state.head == 0 and '' or table.concat(earlier, ',')
  state.replication_id = id
end`;

const CHANGED_OBJECTS = lua`
-- The indexes of the changes that have an effect: deleting an object that is not live has none.
local function effective_of(values, live)
  local effective = {}
  for index = 1, #values do
    if values[index] ~= '' or live[index] then effective[#effective + 1] = index end
  end
  return effective
end

-- Checksum, number and bytes of the live objects that are replaced or deleted.
local function totals_of_replaced(ids, effective, live)
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

local function tombstones_growth(ids, effective, dead)
  local growth = 0
  for _, index in ipairs(effective) do
    if values[index] == '' then growth = growth + tombstone_bytes(ids[index])
    elseif dead[index] then growth = growth - tombstone_bytes(ids[index]) end
  end
  return growth
end

local function call_in_chunks(command, key, list)
  in_chunks(list, ${CHUNK}, function(first, last) redis.call(command, key, unpack(list, first, last)) end)
end

local function apply_changes(state, effective, live, dead, replaced)
  local records, live_seqs, tombstones, deleted, recreated = {}, {}, {}, {}, {}
  state.checksum = subtract_checksums(state.checksum, replaced.checksum)
  state.size = state.size - replaced.count
  for _, index in ipairs(effective) do
    local id, value = ids[index], values[index]
    state.head = state.head + 1
    if value ~= '' then
      records[#records + 1] = id; records[#records + 1] = value
      live_seqs[#live_seqs + 1] = whole(state.head); live_seqs[#live_seqs + 1] = id
      state.size = state.size + 1
      state.checksum = add_checksums(state.checksum, checksum_of(value))
      if dead[index] then recreated[#recreated + 1] = id end
    else
      tombstones[#tombstones + 1] = whole(state.head); tombstones[#tombstones + 1] = id
      deleted[#deleted + 1] = id
    end
  end
  call_in_chunks('HSET', RECORDS, records)
  call_in_chunks('ZADD', LIVE, live_seqs)
  call_in_chunks('HDEL', RECORDS, deleted)
  call_in_chunks('ZREM', LIVE, deleted)
  call_in_chunks('ZREM', TOMBSTONES, recreated)
  call_in_chunks('ZADD', TOMBSTONES, tombstones)
end

local function save(state)
  redis.call('HSET', STATE, 'w', state.id, 'r', state.replication_id, 'h', whole(state.head), 'f', whole(state.floor),
    'n', whole(state.size), 'c', whole(state.checksum), 'p', state.earlier, 'b', whole(state.bytes))
end`;

/** Does what `addCommitTime` of the core does, to the field t of STATE. */
const COMMIT_TIMES = lua`
local function joined_span(intervals, index)
  local before, after = intervals[index - 1], intervals[index]
  return math.max(before.span, after.from + after.span - before.from)
end

local function join_one(intervals, now)
  local best, least = 2, math.huge
  for index = 2, #intervals do
    local share = joined_span(intervals, index) / (math.abs(now - intervals[index - 1].from) + ${COMMIT_INTERVAL_S})
    if share < least then best, least = index, share end
  end
  intervals[best - 1].span = joined_span(intervals, best)
  table.remove(intervals, best)
end

local function note_time(seq, now)
  local text = redis.call('HGET', STATE, 't') or ''
  local last = string.match(text, ':(%d+):%d+$')
  if last and math.abs(now - tonumber(last)) < ${COMMIT_INTERVAL_S} then return end
  local intervals, texts = {}, {}
  for first, from, span in string.gmatch(text, '(%d+):(%d+):(%d+)') do
    intervals[#intervals + 1] = { seq = first, from = tonumber(from), span = tonumber(span) }
  end
  intervals[#intervals + 1] = { seq = whole(seq), from = now, span = ${COMMIT_INTERVAL_S} }
  if #intervals > ${COMMIT_INTERVALS_MAX} then join_one(intervals, now) end
  for index, interval in ipairs(intervals) do
    texts[index] = interval.seq .. ':' .. whole(interval.from) .. ':' .. whole(interval.span)
  end
  redis.call('HSET', STATE, 't', table.concat(texts, ','))
end`;

/**
 * OBJECT_FILES holds id → the hashes of its files, one behind the other, and FILE_OBJECTS the same as hash and id. A
 * partition without files has neither, and its commits look once.
 */
const FILES = lua`
local function remove_files(id, hashes)
  for at = 1, #hashes, ${HASH_UNITS} do
    redis.call('ZREM', FILE_OBJECTS, string.sub(hashes, at, at + ${HASH_UNITS - 1}) .. id)
  end
end

local function change_files(effective, files)
  local written = {}
  for _, row in ipairs(files) do written[row.id] = row.hashes end
  if redis.call('EXISTS', OBJECT_FILES) == 1 then
    for _, index in ipairs(effective) do
      local id = ids[index]
      local old = redis.call('HGET', OBJECT_FILES, id)
      if old then
        remove_files(id, old)
        if not written[id] then redis.call('HDEL', OBJECT_FILES, id) end
      end
    end
  end
  for _, row in ipairs(files) do
    redis.call('HSET', OBJECT_FILES, row.id, row.hashes)
    for at = 1, #row.hashes, ${HASH_UNITS} do
      redis.call('ZADD', FILE_OBJECTS, 0, string.sub(row.hashes, at, at + ${HASH_UNITS - 1}) .. row.id)
    end
  end
end`;

/** In a cluster there is no order of changes: the registry may be on another node. */
const ORDER_OF_CHANGES = lua`
local function note_change(state)
  if not is_custom or not IS_ONE_NODE then return end
  redis.call('HSET', META, 'changes_id', state.replication_id)
  redis.call('HSET', CHANGES, admission.scope_member, redis.call('HINCRBY', META, 'changes', 1))
end`;

/**
 * NOTES holds field → digits of the time at which the note expires, or dashes for never, and its text. NOTE_NAMES holds the
 * fields in order, NOTE_ENDS those that expire in the order in which they do. A field begins with the client.
 */
const NOTES = lua`
local DIGITS = ${DIGITS}
local NEVER = string.rep('-', DIGITS)

local function field_of(end_member) return notes.client .. string.sub(end_member, #notes.client + DIGITS + 1) end

-- Returns nil if a note is not as expected; otherwise the bytes written, the growth, and the notes that have expired.
local function plan_notes(is_outdated)
  local added, growth, written, expired = 0, 0, {}, {}
  for _, write in ipairs(notes.writes) do
    local stored = not is_outdated and redis.call('HGET', NOTES, write.field)
    if write.expect ~= '' then
      local found = stored and '=' .. string.sub(stored, DIGITS + 1) or '-'
      if found ~= write.expect then return nil end
    end
    written[write.field] = true
    if stored then growth = growth - note_bytes(write.field, #stored) end
    if write.value ~= '' then added = added + note_bytes(write.field, #write.value) end
  end
  if not is_outdated then
    expired = redis.call('ZRANGEBYLEX', NOTE_ENDS, '[' .. notes.client, '(' .. notes.expired_before, 'LIMIT', 0,
      ${EXPIRED_PER_COMMIT_MAX})
  end
  for _, member in ipairs(expired) do
    local field = field_of(member)
    local length = written[field] and 0 or redis.call('HSTRLEN', NOTES, field)
    if length > 0 then growth = growth - note_bytes(field, length) end
  end
  return added, growth + added, expired
end

local function end_member(field, value)
  local ends = string.sub(value, 1, DIGITS)
  return ends ~= NEVER and notes.client .. ends .. string.sub(field, #notes.client + 1) or nil
end

local function delete_note(field)
  redis.call('HDEL', NOTES, field)
  redis.call('ZREM', NOTE_NAMES, field)
end

local function apply_notes(expired)
  for _, member in ipairs(expired) do
    redis.call('ZREM', NOTE_ENDS, member)
    delete_note(field_of(member))
  end
  for _, write in ipairs(notes.writes) do
    local stored = redis.call('HGET', NOTES, write.field)
    local old_end = stored and end_member(write.field, stored)
    if old_end then redis.call('ZREM', NOTE_ENDS, old_end) end
    if write.value == '' then
      delete_note(write.field)
    else
      redis.call('HSET', NOTES, write.field, write.value)
      redis.call('ZADD', NOTE_NAMES, 0, write.field)
      local new_end = end_member(write.field, write.value)
      if new_end then redis.call('ZADD', NOTE_ENDS, 0, new_end) end
    end
  end
end`;

/**
 * Changes objects of a partition and notes of a client, with journal, size, checksum and head, in one step.
 *
 * Extra key  the fence of the client or, without notes, again the fence of the scope
 * Reply      {'committed', state} · {'conflict'} · {'too_large'} · a refusal of admission
 */
export const commitScript = writingScript('commit', {
  effect: 'writes',
  keys: SCOPE_KEYS,
  extraKey: 'client_fence',
  parameters: {
    expectedHead: 'optional_number',
    /** The epoch of the partition as the caller saw it, or ''. While `seenHead` is the head, `unchanged` is not checked. */
    seenEpoch: 'text',
    seenHead: 'optional_number',
    /** The random id for a partition that does not exist yet. */
    newId: 'text',
    bytesMax: 'optional_number',
    /** The time of the commit, in seconds. */
    atS: 'optional_number',
    /** Whether the owner is a group. */
    isCustom: 'flag',
    // The changes: a value is a record with its header, or '' to delete; an expected seq may be ''.
    ids: 'list',
    values: 'list',
    expected: 'list',
    /** Those of the changed objects that refer to files. */
    files: ['id', 'hashes'],
    // Objects that are not changed, and the seqs they must have.
    unchanged: 'list',
    unchangedExpected: 'list',
    notes: {
      // The encoded client, and the same followed by the current time.
      client: 'text',
      expiredBefore: 'text',
      /** A value of '' deletes; `expect` is '' for anything, '-' for no note, or '=' and the text. */
      writes: ['field', 'value', 'expect'],
    },
  },
  uses: [WRITING, HEADERS, BYTES, SEQS, REPLICATION_ID, CHANGED_OBJECTS, FILES, COMMIT_TIMES, ORDER_OF_CHANGES, NOTES],
  body: lua`
local refusal, epoch, version, erased = admitted(CLIENT_FENCE)
if refusal then return refusal end
local state, is_outdated = writable(epoch, erased)

local head = state and state.head or 0
local known_epoch = (state and state.is_partition) and state.epoch .. state.id .. state.replication_id or epoch
if expected_head and expected_head ~= head then return { 'conflict' } end
if seen_epoch ~= '' and seen_epoch ~= known_epoch then return { 'conflict' } end
local live, dead = seqs_of(ids, state)
if not are_as_expected(ids, expected, live, dead) then return { 'conflict' } end
if seen_head ~= head then
  local unchanged_live, unchanged_dead = seqs_of(unchanged, state)
  if not are_as_expected(unchanged, unchanged_expected, unchanged_live, unchanged_dead) then return { 'conflict' } end
end
local notes_added, kept_growth, expired = 0, 0, {}
if notes then notes_added, kept_growth, expired = plan_notes(is_outdated) end
if not notes_added then return { 'conflict' } end

local effective = effective_of(values, live)
if #effective == 0 and not notes then return { 'committed', state_text(state, epoch) } end
local replaced = totals_of_replaced(ids, effective, live)
local added, kept = bytes_added(values, effective), kept_before(state)
local before = (bytes_max or #effective > 0) and bytes_before(state) or 0
kept_growth = kept_growth + tombstones_growth(ids, effective, dead)
local growth = added - replaced.bytes + kept_growth
-- Deletions alone are never too large: they make room.
if bytes_max and added + notes_added > 0 and growth > 0 and before + kept + growth > bytes_max then
  return { 'too_large' }
end

begin_writing(epoch, is_outdated, version)
if notes then apply_notes(expired) end
local kept_after = math.max(kept + kept_growth, 0)
if kept_after ~= (state and state.kept) then redis.call('HSET', STATE, 'k', whole(kept_after)) end
if #effective > 0 then
  if not state or not state.is_partition then
    state = { epoch = epoch, id = new_id, replication_id = '', earlier = '', head = 0, floor = 0, size = 0,
      checksum = 0, is_partition = true }
  end
  note_replication_id(state)
  if at_s then note_time(state.head + 1, at_s) end
  apply_changes(state, effective, live, dead, replaced)
  change_files(effective, files)
  state.bytes = before + added - replaced.bytes
  save(state)
  note_change(state)
end
return { 'committed', state_text(state, epoch) }`,
});
