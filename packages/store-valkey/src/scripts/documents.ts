import { PLACE_KEYS } from '../layout.ts';
import { ADMISSION_AT_PLACE } from './admission.ts';
import { HEADERS, READING, WRITING } from './place.ts';
import { CHUNK, lua, type PlaceScript, placeScript } from './script.ts';

// DOCUMENTS has for each name "type version parts units"; the parts of each document stand in a hash of their own, each
// behind its UTF-16 units.

/**
 * Reads a document, whole or in part.
 *
 * KEYS    the place; the parts of the document; the registry, when it lies on the same node
 * ARGV    as READING takes them; name; '1' for all parts, or '' and the keys of those wanted
 * Answer  {'none'} · {'document', header, key, part, key, part …} · a refusal of READING
 */
export const readDocumentScript: PlaceScript = placeScript(
  'read_document',
  'reads',
  { place: ['state', 'documents'], more: 'parts' },
  READING,
  lua`
local refusal, state = readable()
if refusal then return refusal end
local name, wants_all = take(), take() == '1'
local header = state and redis.call('HGET', DOCUMENTS, name)
if not header then return { 'none' } end
local answer = { 'document', header }
if wants_all then
  for _, text in ipairs(redis.call('HGETALL', PARTS)) do answer[#answer + 1] = text end
  return answer
end
for _, key in ipairs(take_list()) do
  local part = redis.call('HGET', PARTS, key)
  if part then answer[#answer + 1] = key; answer[#answer + 1] = part end
end
return answer`,
);

/**
 * Names of the documents of a place.
 *
 * KEYS    the place; the registry, when it lies on the same node
 * ARGV    as READING takes them
 * Answer  {'names', name …} or a refusal of READING
 */
export const documentNamesScript: PlaceScript = placeScript(
  'document_names',
  'reads',
  { place: ['state', 'documents'] },
  READING,
  lua`
local refusal, state = readable()
if refusal then return refusal end
local answer = { 'names' }
if state then
  for _, name in ipairs(redis.call('HKEYS', DOCUMENTS)) do answer[#answer + 1] = name end
end
return answer`,
);

/**
 * Writes a document.
 *
 * KEYS    the place; the parts of the document; the registry, when it lies on the same node
 * ARGV    admission; name; type; '1' to replace all parts; expected version or ''; keys of parts; parts
 * Answer  {'written'} · {'conflict'} · a refusal of admission
 */
export const writeDocumentScript: PlaceScript = placeScript(
  'write_document',
  'writes',
  { place: PLACE_KEYS, more: 'parts' },
  ADMISSION_AT_PLACE,
  WRITING,
  HEADERS,
  lua`
local refusal, epoch, admitted_at, erased = admitted()
if refusal then return refusal end
local _, is_other_life = writable(epoch, erased)
local name, type, replaces, expect, keys, parts = take(), take(), take() == '1', take(), take_list(), take_list()

local header = not is_other_life and redis.call('HGET', DOCUMENTS, name)
local old_type, version, count, units = string.match(header or '', '(%a+) (%d+) (%d+) (%d+)')
if expect ~= '' and tonumber(expect) ~= tonumber(version or '0') then return { 'conflict' } end
if not replaces and old_type and old_type ~= type then return { 'conflict' } end

begin_writing(epoch, is_other_life, admitted_at)
count, units = tonumber(count or '0'), tonumber(units or '0')
if replaces then
  redis.call('UNLINK', PARTS)
  count, units = 0, 0
end
in_chunks(keys, ${CHUNK}, function(first, last)
  local kept = redis.call('HMGET', PARTS, unpack(keys, first, last))
  local fields = {}
  for index = first, last do
    local old = kept[index - first + 1]
    count = count + (old and 0 or 1)
    units = units + units_of_part(parts[index]) - (old and units_of_part(old) or 0)
    fields[#fields + 1] = keys[index]; fields[#fields + 1] = parts[index]
  end
  redis.call('HSET', PARTS, unpack(fields))
end)
version = math.max(tonumber(version or '0') + 1, now_us())
redis.call('HSET', DOCUMENTS, name, table.concat({ type, whole(version), whole(count), whole(units) }, ' '))
return { 'written' }`,
);
