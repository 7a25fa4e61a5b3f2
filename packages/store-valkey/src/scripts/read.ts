import { RECORD_HEADER_BYTES } from '../records.ts';
import { HEADERS, READING } from './place.ts';
import { CHUNK, lua, type PlaceScript, placeScript } from './script.ts';

/** Records fetched at once: a few to begin with, since they may be large, and more as they prove small. */
const FETCH_FIRST = 16;
const FETCH_MAX = 512;
const FETCH_BYTES = 65_536;

/**
 * How a partition stands.
 *
 * KEYS    the place; the registry, when it lies on the same node
 * ARGV    as READING takes them
 * Answer  {'state', state} or a refusal of READING
 */
export const stateScript: PlaceScript = placeScript(
  'state',
  'reads',
  { place: ['state'] },
  READING,
  lua`
local refusal, state, epoch = readable()
if refusal then return refusal end
return { 'state', state_text(state, epoch) }`,
);

/**
 * Looks up objects.
 *
 * KEYS    the place; the registry, when it lies on the same node
 * ARGV    as READING takes them; ids
 * Answer  {'objects', state, seqs, lengths, records}: for each id its seq, 0 when it is unknown, negative when it is
 *         a tombstone; for each live one the bytes of its record; the records one after the other
 */
export const objectsScript: PlaceScript = placeScript(
  'objects',
  'reads',
  { place: ['state', 'records', 'live', 'tombstones'] },
  READING,
  lua`
local refusal, state, epoch = readable()
if refusal then return refusal end
local ids = take_list()
local seqs, lengths, records = {}, {}, {}
if state and state.is_partition then
  in_chunks(ids, ${CHUNK}, function(first, last)
    local live = redis.call('ZMSCORE', LIVE, unpack(ids, first, last))
    local tombstones = redis.call('ZMSCORE', TOMBSTONES, unpack(ids, first, last))
    local wanted = {}
    for index = 1, last - first + 1 do
      seqs[#seqs + 1] = live[index] or (tombstones[index] and '-' .. tombstones[index]) or '0'
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
);

/** Walks over live records or tombstones in the order of their seqs, fetching a few at a time. */
const CURSORS = lua`
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
  -- The seq it stands at; nil behind the last one.
  function cursor.seq()
    if cursor.at > #cursor.ids then cursor.fetch() end
    return cursor.seqs[cursor.at]
  end
  cursor.at = 1
  return cursor
end`;

/**
 * A stretch of the journal: live records and tombstones merged by seq until a bound is met.
 *
 * KEYS    the place; the registry, when it lies on the same node
 * ARGV    as READING takes them; records after; tombstones after; entries at most; UTF-16 units at most; '1' for the
 *         ids of records as well
 * Answer  {'slice', state, up to, seqs, lengths, records, lengths of tombstones, tombstones, lengths of ids, ids, seqs of
 *         tombstones}: lists of numbers joined by commas, texts one after the other
 */
export const journalScript: PlaceScript = placeScript(
  'journal',
  'reads',
  { place: ['state', 'records', 'live', 'tombstones'] },
  READING,
  HEADERS,
  CURSORS,
  lua`
local refusal, state, epoch = readable()
if refusal then return refusal end
local after, graves_after, entries_max, units_max, wants_ids = take_number(), take_number(), take_number(), take_number(), take() == '1'
local head = state and state.head or 0
local seqs, lengths, records, ids, id_lengths = {}, {}, {}, {}, {}
local grave_seqs, grave_lengths, tombstones = {}, {}, {}
local units, up_to, is_cut = 0, after, false

local function takes(seq, more)
  local entries = #records + #tombstones
  if entries > 0 and (entries >= entries_max or units + more > units_max) then return false end
  units, up_to = units + more, seq
  return true
end

local function take_record(cursor)
  local id, value = cursor.ids[cursor.at], cursor.values[cursor.at]
  -- Who wants ids is looking for damage; anybody else must not be given a journal with a hole.
  if not value and not wants_ids then error('the record of an object is missing; run verify') end
  value = value or '${'0'.repeat(RECORD_HEADER_BYTES)}'
  if not takes(cursor.seqs[cursor.at], units_of_record(value)) then return false end
  seqs[#seqs + 1] = whole(cursor.seqs[cursor.at])
  lengths[#lengths + 1] = #value
  records[#records + 1] = value
  if wants_ids then ids[#ids + 1] = id; id_lengths[#id_lengths + 1] = #id end
  return true
end

local function take_grave(cursor)
  local id = cursor.ids[cursor.at]
  if not takes(cursor.seqs[cursor.at], utf16_units(id)) then return false end
  grave_seqs[#grave_seqs + 1] = whole(cursor.seqs[cursor.at])
  grave_lengths[#grave_lengths + 1] = #id
  tombstones[#tombstones + 1] = id
  return true
end

if after < head then
  local live, dead = cursor_over(LIVE, after, true), cursor_over(TOMBSTONES, math.max(after, graves_after), false)
  while not is_cut do
    local live_seq, dead_seq = live.seq(), dead.seq()
    if not live_seq and not dead_seq then break end
    local is_grave = not live_seq or (dead_seq and dead_seq < live_seq)
    local cursor = is_grave and dead or live
    is_cut = not (is_grave and take_grave or take_record)(cursor)
    cursor.at = cursor.at + 1
  end
end
if not is_cut then up_to = head end
return { 'slice', state_text(state, epoch), whole(up_to), table.concat(seqs, ','), table.concat(lengths, ','),
  table.concat(records), table.concat(grave_lengths, ','), table.concat(tombstones), table.concat(id_lengths, ','),
  table.concat(ids), table.concat(grave_seqs, ',') }`,
);

/**
 * Counts what must agree.
 *
 * KEYS    the place; the registry, when it lies on the same node
 * ARGV    as READING takes them
 * Answer  {'counts', "size,records,live,entries beyond the head,tombstones up to the floor"} or a refusal of READING
 */
export const soundnessScript: PlaceScript = placeScript(
  'soundness',
  'reads',
  { place: ['state', 'records', 'live', 'tombstones'] },
  READING,
  lua`
local refusal, state = readable()
if refusal then return refusal end
if not state or not state.is_partition then return { 'counts', '0,0,0,0,0' } end
local beyond = '(' .. whole(state.head)
return { 'counts', table.concat({ whole(state.size), redis.call('HLEN', RECORDS), redis.call('ZCARD', LIVE),
  redis.call('ZCOUNT', LIVE, beyond, '+inf') + redis.call('ZCOUNT', TOMBSTONES, beyond, '+inf'),
  redis.call('ZCOUNT', TOMBSTONES, '-inf', whole(state.floor)) }, ',') }`,
);
