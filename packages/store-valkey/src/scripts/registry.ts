import { REGISTRY_KEYS, STATS_KEYS } from '../layout.ts';
import { ADMIT } from './admission.ts';
import { APPEND_FIELDS, CHUNK, lua, nameKeys, registryScript, script } from './script.ts';

// META holds the format, the epoch, the last version, the migration state and the progress of audits. ENTRIES holds field →
// "version value", ENTRY_NAMES the fields in order.

/** Versions follow the clock and never repeat, not even after the store was emptied or restored from an older state. */
const VERSIONS = lua`
local function next_version()
  local last = tonumber(redis.call('HGET', META, 'version') or '0')
  local version = whole(math.max(last + 1, now_us()))
  redis.call('HSET', META, 'version', version)
  return version
end`;

/**
 * Gives an empty store its first epoch and its format.
 *
 * Reply  {epoch, format, migration}: the stored values; '' when there is no migration
 */
export const beginScript = registryScript('begin', {
  effect: 'writes',
  parameters: { epoch: 'text', format: 'text' },
  body: lua`
redis.call('HSETNX', META, 'epoch', epoch)
redis.call('HSETNX', META, 'format', format)
local meta = redis.call('HMGET', META, 'epoch', 'format', 'migration')
return { meta[1], meta[2], meta[3] or '' }`,
});

const WRITE_ENTRIES = {
  parameters: {
    guards: ['field', 'version'],
    /** Erasures that must be finished before. */
    blockedBy: 'list',
    /** `expect` is a version or ''; `value` is '=' and the value, or '' to delete. */
    writes: ['field', 'expect', 'value'],
    /** Erasures that begin with this write. */
    erasures: 'list',
  },
  uses: [ADMIT, VERSIONS],
  body: lua`
if redis.call('HEXISTS', META, 'migration') == 1 then return { 'read_only' } end
local missing = missing_guard(guards)
if missing then return { 'gone', missing } end
local erasing = erasing_among(blocked_by)
if erasing then return { 'erasing', unpack(erasing) } end
for _, write in ipairs(writes) do
  if write.expect ~= '' then
    local stored = redis.call('HGET', ENTRIES, write.field)
    local version = stored and string.match(stored, '^%d+') or '0'
    if tonumber(version) ~= tonumber(write.expect) then return { 'conflict' } end
  end
end
for _, write in ipairs(writes) do
  if write.value == '' then
    redis.call('HDEL', ENTRIES, write.field)
    redis.call('ZREM', ENTRY_NAMES, write.field)
  else
    redis.call('HSET', ENTRIES, write.field, next_version() .. ' ' .. string.sub(write.value, 2))
    redis.call('ZADD', ENTRY_NAMES, 0, write.field)
  end
end
if #erasures > 0 then
  local version = next_version()
  for _, erasure in ipairs(erasures) do redis.call('HSET', ERASURES, erasure, version) end
end
return { 'written' }`,
} as const;

/**
 * Writes entries, and begins erasures with them.
 *
 * Reply  {'written'} · {'conflict'} · {'gone', index of the guard} · {'erasing', erasure …} · {'read_only'}
 */
export const writeEntriesScript = registryScript('write_entries', { effect: 'writes', ...WRITE_ENTRIES });

/** The same without memory: for deletions, and for the tokens of those who delete. */
export const freeEntriesScript = registryScript('free_entries', { effect: 'frees', ...WRITE_ENTRIES });

/**
 * Lists entries in a range of fields.
 *
 * Reply  field, value …
 */
export const listEntriesScript = registryScript('list_entries', {
  effect: 'reads',
  parameters: { min: 'text', max: 'text', limit: 'number' },
  uses: [APPEND_FIELDS],
  body: lua`
local fields = redis.call('ZRANGEBYLEX', ENTRY_NAMES, min, max, 'LIMIT', 0, limit)
return append_fields({}, ENTRIES, fields)`,
});

/**
 * Lists scopes, and the erasures in progress, which the caller leaves out.
 *
 * Reply  {members, erasures, epoch}
 */
export const listScopesScript = registryScript('list_scopes', {
  effect: 'reads',
  parameters: { min: 'text', limit: 'number' },
  body: lua`
return {
  redis.call('ZRANGEBYLEX', SCOPES, min, '+', 'LIMIT', 0, limit),
  redis.call('HKEYS', ERASURES),
  redis.call('HGET', META, 'epoch') or '',
}`,
});

/**
 * Empties the registry and the statistics except for some entries, begins a new epoch, and begins the erasure of all
 * scopes.
 *
 * KEYS   the registry; the statistics
 * Reply  nothing
 */
export const resetScript = registryScript('reset', {
  effect: 'frees',
  parameters: { epoch: 'text', erasure: 'text', keep: 'list' },
  uses: [VERSIONS],
  body: lua`
${nameKeys(STATS_KEYS, REGISTRY_KEYS.length + 1)}
local values = {}
for index, field in ipairs(keep) do values[index] = redis.call('HGET', ENTRIES, field) end
redis.call('UNLINK', ENTRIES, ENTRY_NAMES, SCOPES_BY_CLIENT, ERASURES, RECENT_ERASURES, CHANGES,
  STATS, STATS_BY_NAME, STATS_BY_TIME)
for index, field in ipairs(keep) do
  if values[index] then
    redis.call('HSET', ENTRIES, field, values[index])
    redis.call('ZADD', ENTRY_NAMES, 0, field)
  end
end
redis.call('HSET', META, 'epoch', epoch)
redis.call('HSET', ERASURES, erasure, next_version())
return {}`,
});

/**
 * Reads the order of changes, which only a store on one node has.
 *
 * META holds `changes`, the number of the last commit to the data of any group, and `changes_id`, the replication id of the
 * node at that commit. After a restart or failover, which can lose commits, the next one has another id. CHANGES holds the
 * member of a scope → the number of its last commit.
 *
 * `after` is the number in a mark or nil; `id` the id in it.
 *
 * Reply  {epoch, id, last number} and, if the mark is one of this store, the indexes of the members that changed, from 1
 */
export const changedScript = registryScript('changed', {
  effect: 'reads',
  parameters: { epoch: 'text', id: 'text', after: 'optional_number', members: 'list' },
  body: lua`
local meta = redis.call('HMGET', META, 'epoch', 'changes_id', 'changes')
local now = { meta[1] or '', meta[2] or '', meta[3] or '0' }
if not after or now[1] ~= epoch or now[2] ~= id or after > tonumber(now[3]) then return { now } end
local changed = {}
if after == tonumber(now[3]) then return { now, changed } end
in_chunks(members, ${CHUNK}, function(first, last)
  for index, number in ipairs(redis.call('HMGET', CHANGES, unpack(members, first, last))) do
    if number and tonumber(number) > after then changed[#changed + 1] = whole(first + index - 1) end
  end
end)
return { now, changed }`,
});

// Migration

/**
 * Writes fields or members of one key unchanged. Only the import uses it.
 *
 * KEYS   the key
 * Reply  nothing
 */
export const putScript = script('put', {
  effect: 'writes',
  parameters: { command: 'text', members: 'list' },
  body: lua`
in_chunks(members, ${2 * CHUNK}, function(first, last) redis.call(command, KEYS[1], unpack(members, first, last)) end)
return {}`,
});

/**
 * Claims an empty registry as the target of a migration. With `mayClean` it also takes one that a migration has left
 * behind, and the caller empties it.
 *
 * Reply  {'claimed'} · {'left', migration} or, when it may be cleaned, {'cleanable', migration} · {'used'}
 */
export const claimScript = registryScript('claim', {
  effect: 'writes',
  parameters: { epoch: 'text', format: 'text', mayClean: 'flag' },
  body: lua`
local migration = redis.call('HGET', META, 'migration')
if not migration then
  if redis.call('EXISTS', META) == 1 then return { 'used' } end
  redis.call('HSET', META, 'epoch', epoch, 'format', format, 'migration', 'incomplete')
  return { 'claimed' }
end
if not may_clean or string.find(migration, '^moving') then return { 'left', migration } end
redis.call('HSET', META, 'migration', 'incomplete')
return { 'cleanable', migration }`,
});

/**
 * Takes over the epoch of another store, and a version that no write there has exceeded.
 *
 * Reply  nothing
 */
export const adoptEpochScript = registryScript('adopt_epoch', {
  effect: 'writes',
  parameters: { epoch: 'text', version: 'number' },
  body: lua`
local last = tonumber(redis.call('HGET', META, 'version') or '0')
redis.call('HSET', META, 'epoch', epoch, 'version', whole(math.max(last, version)))
return {}`,
});

/**
 * Sets the migration state, so that no server opens the store and no write is admitted; '' removes it.
 *
 * Reply  nothing
 */
export const migrationScript = registryScript('migration', {
  effect: 'writes',
  parameters: { migration: 'text' },
  body: lua`
if migration == '' then redis.call('HDEL', META, 'migration') else redis.call('HSET', META, 'migration', migration) end
return {}`,
});
