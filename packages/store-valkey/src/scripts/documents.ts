import { SCOPE_KEYS } from '../layout.ts';
import { HEADERS, readingScript, WRITING, writingScript } from './scope.ts';
import { CHUNK, lua } from './script.ts';

// DOCUMENTS holds name → "type version parts units". The parts of each document have a hash of their own: key → text with
// its header.

/**
 * Reads a document, or some of its parts.
 *
 * Extra key  the parts of the document
 * Reply      {'none'} · {'document', header, key, part, key, part …} · a refusal to read
 */
export const readDocumentScript = readingScript('read_document', {
  effect: 'reads',
  keys: ['state', 'documents'],
  extraKey: 'parts',
  parameters: { name: 'text', wantsAll: 'flag', keys: 'list' },
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
local header = state and redis.call('HGET', DOCUMENTS, name)
if not header then return { 'none' } end
local reply = { 'document', header }
if wants_all then
  for _, text in ipairs(redis.call('HGETALL', PARTS)) do reply[#reply + 1] = text end
  return reply
end
for _, key in ipairs(keys) do
  local part = redis.call('HGET', PARTS, key)
  if part then reply[#reply + 1] = key; reply[#reply + 1] = part end
end
return reply`,
});

/**
 * Lists the names of the documents of a scope.
 *
 * Reply  {'names', name …} or a refusal to read
 */
export const documentNamesScript = readingScript('document_names', {
  effect: 'reads',
  keys: ['state', 'documents'],
  parameters: {},
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
local reply = { 'names' }
if state then
  for _, name in ipairs(redis.call('HKEYS', DOCUMENTS)) do reply[#reply + 1] = name end
end
return reply`,
});

/**
 * Writes a document: replaces all its parts, or adds and replaces some.
 *
 * Extra key  the parts of the document
 * Reply      {'written'} · {'conflict'} · a refusal of admission
 */
export const writeDocumentScript = writingScript('write_document', {
  effect: 'writes',
  keys: SCOPE_KEYS,
  extraKey: 'parts',
  parameters: {
    ...{ name: 'text', type: 'text', replaces: 'flag', expectedVersion: 'optional_number' },
    ...{ keys: 'list', parts: 'list' },
  },
  uses: [WRITING, HEADERS],
  body: lua`
local refusal, epoch, registry_version, erased = admitted()
if refusal then return refusal end
local _, is_outdated = writable(epoch, erased)

local header = not is_outdated and redis.call('HGET', DOCUMENTS, name)
local old_type, version, count, units = string.match(header or '', '(%a+) (%d+) (%d+) (%d+)')
if expected_version and expected_version ~= tonumber(version or '0') then return { 'conflict' } end
if not replaces and old_type and old_type ~= type then return { 'conflict' } end

begin_writing(epoch, is_outdated, registry_version)
count, units = tonumber(count or '0'), tonumber(units or '0')
if replaces then
  redis.call('UNLINK', PARTS)
  count, units = 0, 0
end
in_chunks(keys, ${CHUNK}, function(first, last)
  local stored = redis.call('HMGET', PARTS, unpack(keys, first, last))
  local fields = {}
  for index = first, last do
    local old = stored[index - first + 1]
    count = count + (old and 0 or 1)
    units = units + units_of_part(parts[index]) - (old and units_of_part(old) or 0)
    fields[#fields + 1] = keys[index]; fields[#fields + 1] = parts[index]
  end
  redis.call('HSET', PARTS, unpack(fields))
end)
version = math.max(tonumber(version or '0') + 1, now_us())
redis.call('HSET', DOCUMENTS, name, table.concat({ type, whole(version), whole(count), whole(units) }, ' '))
return { 'written' }`,
});
