import { RECORD_HEADER_BYTES } from '../records.ts';
import { BYTES, HEADERS, KEPT_BYTES, readingScript } from './scope.ts';
import { CHUNK, lua } from './script.ts';

// RECORDS holds id → record with its header; LIVE and TOMBSTONES hold the ids by seq.

/** Records fetched at once: few at first, since they may be large, and more once they prove small. */
const FETCH_FIRST = 16;
const FETCH_MAX = 512;
const FETCH_BYTES = 65_536;

/**
 * Reads the state of a partition.
 *
 * Reply  {'state', state} or a refusal to read
 */
export const stateScript = readingScript('state', {
  effect: 'reads',
  keys: ['state'],
  parameters: {},
  body: lua`
local refusal, state, epoch = readable()
if refusal then return refusal end
return { 'state', state_text(state, epoch) }`,
});

/**
 * Reads the bytes of a partition that the quota counts.
 *
 * Reply  {'bytes', number} or a refusal to read
 */
export const bytesScript = readingScript('bytes', {
  effect: 'reads',
  keys: ['state', 'records', 'tombstones', 'notes'],
  parameters: {},
  uses: [BYTES],
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
return { 'bytes', whole(bytes_before(state) + kept_before(state)) }`,
});

/**
 * Reads when the changes of a partition were committed.
 *
 * Reply  {'times', text} or a refusal to read
 */
export const commitTimesScript = readingScript('commit_times', {
  effect: 'reads',
  keys: ['state'],
  parameters: {},
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
return { 'times', state and state.is_partition and redis.call('HGET', STATE, 't') or '' }`,
});

/**
 * Looks up objects.
 *
 * Reply  {'objects', state, seqs, lengths, records} or a refusal to read. For each id its seq: 0 when the id is unknown,
 *        negative for a tombstone. For each live object the length of its record in bytes; the records concatenated.
 */
export const objectsScript = readingScript('objects', {
  effect: 'reads',
  keys: ['state', 'records', 'live', 'tombstones'],
  parameters: { ids: 'list' },
  body: lua`
local refusal, state, epoch = readable()
if refusal then return refusal end
local seqs, lengths, records = {}, {}, {}
if state and state.is_partition then
  in_chunks(ids, ${CHUNK}, function(first, last)
    local live = redis.call('ZMSCORE', LIVE, unpack(ids, first, last))
    local dead = redis.call('ZMSCORE', TOMBSTONES, unpack(ids, first, last))
    local wanted = {}
    for index = 1, last - first + 1 do
      seqs[#seqs + 1] = live[index] or (dead[index] and '-' .. dead[index]) or '0'
      if live[index] then wanted[#wanted + 1] = ids[first + index - 1] end
    end
    if #wanted > 0 then
      for _, value in ipairs(redis.call('HMGET', RECORDS, unpack(wanted))) do
        if not value then error('the record of an object is missing; run verify') end
        lengths[#lengths + 1] = #value
        records[#records + 1] = value
      end
    end
  end)
end
return { 'objects', state_text(state, epoch), table.concat(seqs, ','), table.concat(lengths, ','), table.concat(records) }`,
});

/** Iterates over live records or tombstones in the order of their seqs, and fetches a few at a time. */
const CURSORS = lua`
-- UTF-16 units of a text in UTF-8: one per character, two where UTF-8 takes four bytes.
local function utf16_units(text)
  if not string.find(text, '[\128-\255]') then return #text end
  local _, continuations = string.gsub(text, '[\128-\191]', '')
  local _, pairs_of_surrogates = string.gsub(text, '[\240-\247]', '')
  return #text - continuations + pairs_of_surrogates
end

local function cursor_over(key, after, with_values)
  local cursor = { after = after, size = ${FETCH_FIRST}, ids = {}, seqs = {}, values = {}, at = 0, is_last = false }
  function cursor.fetch()
    cursor.ids, cursor.seqs, cursor.values, cursor.at = {}, {}, {}, 1
    if cursor.is_last then return end
    local found = redis.call('ZRANGEBYSCORE', key, '(' .. whole(cursor.after), '+inf', 'WITHSCORES', 'LIMIT', 0, cursor.size)
    for index = 1, #found, 2 do
      cursor.ids[#cursor.ids + 1] = found[index]
      cursor.seqs[#cursor.seqs + 1] = tonumber(found[index + 1])
    end
    cursor.is_last = #cursor.ids < cursor.size
    cursor.after = cursor.seqs[#cursor.seqs] or cursor.after
    if with_values and #cursor.ids > 0 then cursor.fetch_values() else cursor.size = ${FETCH_MAX} end
  end
  function cursor.fetch_values()
    cursor.values = redis.call('HMGET', RECORDS, unpack(cursor.ids))
    local bytes = 0
    for _, value in ipairs(cursor.values) do bytes = bytes + #(value or '') end
    if bytes < ${FETCH_BYTES} then cursor.size = math.min(cursor.size * 4, ${FETCH_MAX})
    else cursor.size = math.max(math.floor(cursor.size / 4), 1) end
  end
  -- The seq at the cursor; nil after the last one.
  function cursor.seq()
    if cursor.at > #cursor.ids then cursor.fetch() end
    return cursor.seqs[cursor.at]
  end
  cursor.at = 1
  return cursor
end`;

/**
 * Reads a slice of the journal: live records and tombstones merged by seq, up to a bound.
 *
 * Reply  {'slice', state, seq of the end, seqs, lengths, records, lengths of tombstones, tombstones, lengths of ids, ids,
 *        seqs of tombstones} or a refusal to read. Numbers are joined by commas, texts are concatenated. The ids of
 *        records are empty unless asked for.
 */
export const journalScript = readingScript('journal', {
  effect: 'reads',
  keys: ['state', 'records', 'live', 'tombstones'],
  parameters: {
    ...{ after: 'number', tombstonesAfter: 'number', entriesMax: 'number', unitsMax: 'number' },
    // What the caller has already of the same slice.
    ...{ takenEntries: 'number', takenUnits: 'number' },
    wantsIds: 'flag',
  },
  uses: [HEADERS, CURSORS],
  body: lua`
local refusal, state, epoch = readable()
if refusal then return refusal end
local head = state and state.head or 0
local seqs, lengths, records, ids, id_lengths = {}, {}, {}, {}, {}
local tombstone_seqs, tombstone_lengths, tombstones = {}, {}, {}
local units, up_to, is_cut = taken_units, after, false

local function fits(seq, more)
  local entries = taken_entries + #records + #tombstones
  if entries > 0 and (entries >= entries_max or units + more > units_max) then return false end
  units, up_to = units + more, seq
  return true
end

local function add_record(cursor)
  local id, value = cursor.ids[cursor.at], cursor.values[cursor.at]
  -- A caller who wants ids is looking for damage. No other caller may get a journal with a gap.
  if not value and not wants_ids then error('the record of an object is missing; run verify') end
  value = value or '${'0'.repeat(RECORD_HEADER_BYTES)}'
  if not fits(cursor.seqs[cursor.at], units_of_record(value)) then return false end
  seqs[#seqs + 1] = whole(cursor.seqs[cursor.at])
  lengths[#lengths + 1] = #value
  records[#records + 1] = value
  if wants_ids then ids[#ids + 1] = id; id_lengths[#id_lengths + 1] = #id end
  return true
end

local function add_tombstone(cursor)
  local id = cursor.ids[cursor.at]
  if not fits(cursor.seqs[cursor.at], utf16_units(id)) then return false end
  tombstone_seqs[#tombstone_seqs + 1] = whole(cursor.seqs[cursor.at])
  tombstone_lengths[#tombstone_lengths + 1] = #id
  tombstones[#tombstones + 1] = id
  return true
end

if after < head then
  local live = cursor_over(LIVE, after, true)
  local dead = cursor_over(TOMBSTONES, math.max(after, tombstones_after), false)
  while not is_cut do
    local live_seq, dead_seq = live.seq(), dead.seq()
    if not live_seq and not dead_seq then break end
    local is_tombstone = not live_seq or (dead_seq and dead_seq < live_seq)
    local cursor = is_tombstone and dead or live
    is_cut = not (is_tombstone and add_tombstone or add_record)(cursor)
    cursor.at = cursor.at + 1
  end
end
if not is_cut then up_to = head end
return { 'slice', state_text(state, epoch), whole(up_to), table.concat(seqs, ','), table.concat(lengths, ','),
  table.concat(records), table.concat(tombstone_lengths, ','), table.concat(tombstones), table.concat(id_lengths, ','),
  table.concat(ids), table.concat(tombstone_seqs, ',') }`,
});

/**
 * Reads the records that come next, without looking at any of them.
 *
 * Reply  {'chunk', state, seq of the end, records} · {'chunk', state, seq} when a tombstone lies among the records, or a
 *        record is missing · a refusal to read. The end is the head when nothing follows.
 */
export const chunkScript = readingScript('chunk', {
  effect: 'reads',
  keys: ['state', 'records', 'live', 'tombstones'],
  parameters: { after: 'number', tombstonesAfter: 'number', limit: 'number' },
  body: lua`
local refusal, state, epoch = readable()
if refusal then return refusal end
local text = state_text(state, epoch)
local head = state and state.head or 0
if after >= head then return { 'chunk', text, whole(head), {} } end
local ids = redis.call('ZRANGEBYSCORE', LIVE, '(' .. whole(after), '+inf', 'LIMIT', 0, limit)
local up_to = #ids < limit and whole(head) or redis.call('ZSCORE', LIVE, ids[#ids])
local buried = redis.call('ZCOUNT', TOMBSTONES, '(' .. whole(math.max(after, tombstones_after)), up_to)
if buried > 0 then return { 'chunk', text, up_to } end
local records = #ids > 0 and redis.call('HMGET', RECORDS, unpack(ids)) or {}
for index = 1, #ids do
  if not records[index] then return { 'chunk', text, up_to } end
end
return { 'chunk', text, up_to, records }`,
});

/**
 * Counts the live records in a range of seqs.
 *
 * Reply  {'records', state, count} or a refusal to read
 */
export const countScript = readingScript('count', {
  effect: 'reads',
  keys: ['state', 'live'],
  parameters: { after: 'number', upTo: 'number' },
  body: lua`
local refusal, state, epoch = readable()
if refusal then return refusal end
local count = state and redis.call('ZCOUNT', LIVE, '(' .. whole(after), whole(up_to)) or 0
return { 'records', state_text(state, epoch), whole(count) }`,
});

/**
 * Counts what must agree in a sound partition.
 *
 * Reply  {'counts', "size,records,live,entries above the head,tombstones up to the floor"} or a refusal to read
 */
export const countsScript = readingScript('counts', {
  effect: 'reads',
  keys: ['state', 'records', 'live', 'tombstones'],
  parameters: {},
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
if not state or not state.is_partition then return { 'counts', '0,0,0,0,0' } end
local above = '(' .. whole(state.head)
return { 'counts', table.concat({ whole(state.size), redis.call('HLEN', RECORDS), redis.call('ZCARD', LIVE),
  redis.call('ZCOUNT', LIVE, above, '+inf') + redis.call('ZCOUNT', TOMBSTONES, above, '+inf'),
  redis.call('ZCOUNT', TOMBSTONES, '-inf', whole(state.floor)) }, ',') }`,
});

/**
 * Deletes tombstones up to a seq, a bounded number of them, and raises the floor.
 *
 * Reply  {'state', state} or a refusal to read
 */
export const trimScript = readingScript('trim', {
  effect: 'frees',
  keys: ['state', 'tombstones'],
  parameters: { upTo: 'number', tombstonesMax: 'number' },
  uses: [KEPT_BYTES],
  body: lua`
local refusal, state, epoch = readable()
if refusal then return refusal end
local target = state and math.min(up_to, state.head) or 0
if not state or not state.is_partition or target <= state.floor then return { 'state', state_text(state, epoch) } end
local due = redis.call('ZRANGEBYSCORE', TOMBSTONES, '-inf', whole(target), 'WITHSCORES', 'LIMIT', 0, tombstones_max)
local ids, bytes = {}, 0
for index = 1, #due, 2 do
  ids[#ids + 1] = due[index]
  bytes = bytes + tombstone_bytes(due[index])
end
in_chunks(ids, ${CHUNK}, function(first, last) redis.call('ZREM', TOMBSTONES, unpack(ids, first, last)) end)
state.floor = #ids < tombstones_max and target or tonumber(due[#due])
redis.call('HSET', STATE, 'f', whole(state.floor))
if state.kept then redis.call('HSET', STATE, 'k', whole(math.max(state.kept - bytes, 0))) end
return { 'state', state_text(state, epoch) }`,
});
