import { CHECKSUM_DIGITS, RECORD_HEADER_BYTES, UNITS_DIGITS } from '../records.ts';
import { lua } from './script.ts';

/** How many earlier eras a partition remembers; devices from before them start over. */
export const ERAS_MAX = 8;
/** Checksums are below this. */
const CHECKSUM_MODULUS = '4503599627370496';
/**
 * What is kept of a partition: e epoch of the store, w its own word, r its era, h head, f floor, n size, c checksum,
 * p earlier eras as "era:upTo,…", v the version of the registry that admitted the last write. A place that holds documents or notes only has nothing but e.
 *
 * An era is what the node calls its history of replication. It changes with every restart and every failover, which are
 * the moments at which acknowledged writes can have been lost; the first commit in another era notes how far the older
 * ones can be believed.
 */
export const STATE = lua`
local function read_state()
  local kept = redis.call('HMGET', STATE, 'e', 'w', 'r', 'h', 'f', 'n', 'c', 'p', 'v', 'b')
  if not kept[1] then return nil end
  local state = { epoch = kept[1], is_partition = kept[4] and true or false }
  state.word, state.era, state.past = kept[2] or '', kept[3] or '', kept[8] or ''
  state.head, state.floor = tonumber(kept[4] or 0), tonumber(kept[5] or 0)
  state.size, state.checksum = tonumber(kept[6] or 0), tonumber(kept[7] or 0)
  state.version = tonumber(kept[9] or 0)
  state.bytes = kept[10] and tonumber(kept[10]) or nil
  return state
end

-- "epoch word era head floor size checksum past"
local function state_text(state, epoch)
  if not state or not state.is_partition then return epoch .. ' - - 0 0 0 0 ' end
  return table.concat({ state.epoch, state.word, state.era, whole(state.head), whole(state.floor), whole(state.size),
    whole(state.checksum), state.past }, ' ')
end`;

/**
 * For reading a place. On one node it takes the fields of DOOMED that concern it: what is to be erased reads as erased.
 * Elsewhere it takes the epoch that the caller believes in, and '1' when it has just asked. Gives a refusal or nil, the
 * state or nil, and the epoch, '?' where only the registry knows. Refusals are {'lost'} as above, and {'other'} when the
 * place is of another life than the caller believes in: who is sure of its epoch reads an empty place then.
 */
export const READING = lua`
${STATE}
local function is_doomed(fields)
  if redis.call('EXISTS', DOOMED) == 0 then return false end
  for _, field in ipairs(fields) do
    if redis.call('HEXISTS', DOOMED, field) == 1 then return true end
  end
  return false
end

local function readable()
  if IS_ONE_NODE then
    local fields = take_list()
    local epoch = redis.call('HGET', FACTS, 'epoch')
    if not epoch then return { 'lost' } end
    local state = read_state()
    if not state or state.epoch ~= epoch or is_doomed(fields) then return nil, nil, epoch end
    return nil, state, epoch
  end
  local epoch, is_sure = take(), take() == '1'
  local state = read_state()
  if not state or state.epoch == epoch then return nil, state, '?' end
  if is_sure then return nil, nil, '?' end
  return { 'other' }
end`;

/**
 * For writing to a place: it begins anew when it is of another life than the store, or holds what was erased, which a
 * failover can bring back.
 */
export const WRITING = lua`
${STATE}
local function wipe()
  for _, name in ipairs(redis.call('HKEYS', DOCUMENTS)) do
    redis.call('UNLINK', string.sub(STATE, 1, -#'state' - 1) .. 'parts:' .. name)
  end
  redis.call('UNLINK', STATE, RECORDS, LIVE, TOMBSTONES, TIDEMARKS, DOCUMENTS, NOTES, NOTE_NAMES, NOTE_ENDS)
end

-- Nothing is removed before it is certain that something will be written: until then the caller sees an empty place.
local function writable(epoch, erased)
  local state = read_state()
  if state and (state.epoch ~= epoch or state.version < tonumber(erased)) then return nil, true end
  return state, false
end

local function begin_writing(epoch, is_other_life, version)
  if is_other_life then wipe() end
  redis.call('HSET', STATE, 'e', epoch, 'v', version)
end`;

/** Numbers out of the headers of records and parts. */
export const HEADERS = lua`
local function digits_of(value, first, last)
  local number = 0
  for _, digit in ipairs({ string.byte(value, first, last) }) do number = number * 64 + digit - 48 end
  return number
end

local function checksum_of(value) return digits_of(value, 1, ${CHECKSUM_DIGITS}) end
local function units_of_record(value) return digits_of(value, ${CHECKSUM_DIGITS + 1}, ${RECORD_HEADER_BYTES}) end
local function units_of_part(value) return digits_of(value, 1, ${UNITS_DIGITS}) end

local function add_checksums(a, b) return (a + b) % ${CHECKSUM_MODULUS} end
local function subtract_checksums(a, b) return (a - b + ${CHECKSUM_MODULUS}) % ${CHECKSUM_MODULUS} end

-- UTF-16 units of a text in UTF-8: one per character, two where UTF-8 takes four bytes.
local function utf16_units(text)
  if not string.find(text, '[\128-\255]') then return #text end
  local _, continuations = string.gsub(text, '[\128-\191]', '')
  local _, pairs_of_surrogates = string.gsub(text, '[\240-\247]', '')
  return #text - continuations + pairs_of_surrogates
end`;
