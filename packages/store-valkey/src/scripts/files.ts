import { HASH_UNITS } from '../layout.ts';
import { readingScript } from './scope.ts';
import { lua } from './script.ts';

// OBJECT_FILES holds id → hashes, FILE_OBJECTS the same as members of hash and id.

/**
 * Lists the members of FILE_OBJECTS that begin with a hash, or all when it is '', behind the member `after` if it is not ''.
 *
 * Reply  {'files', members} or a refusal to read
 */
export const fileObjectsScript = readingScript('file_objects', {
  effect: 'reads',
  keys: ['state', 'file_objects'],
  parameters: { sha256: 'text', after: 'text', limit: 'number' },
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
if not state then return { 'files', {} } end
local min, max = '[' .. sha256, sha256 == '' and '+' or '(' .. sha256 .. string.char(255)
if after ~= '' then min = '(' .. after end
return { 'files', redis.call('ZRANGEBYLEX', FILE_OBJECTS, min, max, 'LIMIT', 0, limit) }`,
});

/**
 * Lists the hashes in FILE_OBJECTS, each once: every one is found by a look-up behind the one before.
 *
 * Reply  {'files', hashes} or a refusal to read
 */
export const filesScript = readingScript('files', {
  effect: 'reads',
  keys: ['state', 'file_objects'],
  parameters: { after: 'text', limit: 'number' },
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
local files, last = {}, after
while state and #files < limit do
  local min = last == '' and '-' or '(' .. last .. string.char(255)
  local member = redis.call('ZRANGEBYLEX', FILE_OBJECTS, min, '+', 'LIMIT', 0, 1)[1]
  if not member then break end
  last = string.sub(member, 1, ${HASH_UNITS})
  files[#files + 1] = last
end
return { 'files', files }`,
});

/**
 * Reads the seqs of live objects, and their files. A member that FILE_OBJECTS lacks makes the files of its object ''.
 *
 * Reply  {'files', [seq or '', hashes, …]} or a refusal to read
 */
export const objectFilesScript = readingScript('object_files', {
  effect: 'reads',
  keys: ['state', 'live', 'object_files', 'file_objects'],
  parameters: { ids: 'list' },
  body: lua`
local refusal, state = readable()
if refusal then return refusal end
local rows = {}
for _, id in ipairs(ids) do
  local hashes = state and redis.call('HGET', OBJECT_FILES, id) or ''
  for at = 1, #hashes, ${HASH_UNITS} do
    local member = string.sub(hashes, at, at + ${HASH_UNITS - 1}) .. id
    if not redis.call('ZSCORE', FILE_OBJECTS, member) then
      hashes = ''
      break
    end
  end
  rows[#rows + 1] = state and redis.call('ZSCORE', LIVE, id) or ''
  rows[#rows + 1] = hashes
end
return { 'files', rows }`,
});
