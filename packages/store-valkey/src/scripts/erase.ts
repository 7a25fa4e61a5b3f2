import { SCOPE_KEYS } from '../layout.ts';
import { ADMIT, EXPIRY, FENCE_S } from './admission.ts';
import { ACKNOWLEDGED_INDEX } from './devices.ts';
import { KEPT_BYTES, maintenanceScript, STATE, WIPE } from './scope.ts';
import { CHUNK, lua, registryScript } from './script.ts';

// The words of this file are explained in admission.ts.

/** Scopes that one call hands out. */
const SCOPES_PER_CALL = 100;

/**
 * Hands out the next scopes that an erasure covers. When none is left, the erasure is finished, and is remembered for a day.
 *
 * `index` is 'scopes', 'scopes_by_source' or '' for none, with a range; `byClient` says whether to look in a range of
 * SCOPES_BY_CLIENT as well.
 *
 * Reply  {'done'} · {'scopes', version, time in µs, members of the index, members of SCOPES_BY_CLIENT}
 */
export const nextScopesScript = registryScript('next_scopes', {
  effect: 'frees',
  parameters: {
    erasure: 'text',
    ...{ index: 'text', min: 'text', max: 'text' },
    ...{ byClient: 'flag', clientMin: 'text', clientMax: 'text' },
  },
  body: lua`
local version = redis.call('HGET', ERASURES, erasure)
if not version then return { 'done' } end
local scopes, clients = {}, {}
if index ~= '' then
  local key = index == 'scopes' and SCOPES or SCOPES_BY_SOURCE
  scopes = redis.call('ZRANGEBYLEX', key, min, max, 'LIMIT', 0, ${SCOPES_PER_CALL})
end
if by_client then
  clients = redis.call('ZRANGEBYLEX', SCOPES_BY_CLIENT, client_min, client_max, 'LIMIT', 0, ${SCOPES_PER_CALL})
end
if #scopes == 0 and #clients == 0 then
  redis.call('HDEL', ERASURES, erasure)
  -- A reset is not remembered: it begins a new epoch, and what belongs to the old one reads as empty.
  if min ~= '-' then redis.call('ZADD', RECENT_ERASURES, version, erasure) end
  redis.call('ZREMRANGEBYSCORE', RECENT_ERASURES, '-inf', whole(now_us() - ${FENCE_S} * 1000000))
  return { 'done' }
end
return { 'scopes', version, whole(now_us()), scopes, clients }`,
});

/**
 * Removes erased scopes from the indexes, unless the erasure was finished or began anew meanwhile.
 *
 * Reply  nothing
 */
export const removeScopesScript = registryScript('remove_scopes', {
  effect: 'frees',
  parameters: { erasure: 'text', version: 'text', scopes: 'list', bySource: 'list', byClient: 'list' },
  body: lua`
if redis.call('HGET', ERASURES, erasure) ~= version then return {} end
local function remove(key, members)
  if #members > 0 then redis.call('ZREM', key, unpack(members)) end
end
remove(SCOPES, scopes)
remove(SCOPES_BY_SOURCE, by_source)
remove(SCOPES_BY_CLIENT, by_client)
if #scopes > 0 then redis.call('HDEL', CHANGES, unpack(scopes)) end
return {}`,
});

/**
 * Deletes all data of a scope and sets its fence, once for each version of an erasure.
 *
 * `readAtUs` is when the erasure was read from the registry. An erasure that was read too long ago may be finished by now
 * and its name in use again, so it is refused.
 *
 * Reply  {'erased'} · {'stale', time in µs}
 */
export const eraseScopeScript = maintenanceScript('erase_scope', {
  effect: 'frees',
  keys: SCOPE_KEYS,
  parameters: { version: 'text', readAtUs: 'number' },
  uses: [EXPIRY, WIPE],
  body: lua`
if is_expired(read_at_us) then return { 'stale', whole(now_us()) } end
local fence = redis.call('GET', FENCE)
if fence and tonumber(fence) >= tonumber(version) then return { 'erased' } end
wipe()
redis.call('SET', FENCE, version, 'EX', ${FENCE_S})
return { 'erased' }`,
});

/**
 * Deletes the tidemark and the notes of a client in a scope, a bounded number of notes per call, and sets the client's
 * fence.
 *
 * Extra key  the fence of the client
 * Reply      {'erased'} · {'more'}: call again · {'stale', time in µs}
 */
export const eraseClientScript = maintenanceScript('erase_client', {
  effect: 'frees',
  keys: ['state', 'tidemarks', 'acknowledged', 'notes', 'note_names', 'note_ends'],
  extraKey: 'client_fence',
  parameters: {
    ...{ version: 'text', readAtUs: 'number' },
    ...{ tidemarkMin: 'text', tidemarkMax: 'text', noteMin: 'text', noteMax: 'text' },
  },
  uses: [EXPIRY, ACKNOWLEDGED_INDEX, KEPT_BYTES],
  body: lua`
if is_expired(read_at_us) then return { 'stale', whole(now_us()) } end
local fence = redis.call('GET', CLIENT_FENCE)
if fence and tonumber(fence) >= tonumber(version) then return { 'erased' } end
remove_acknowledged(tidemark_min, tidemark_max)
redis.call('ZREMRANGEBYLEX', TIDEMARKS, tidemark_min, tidemark_max)
local fields = redis.call('ZRANGEBYLEX', NOTE_NAMES, note_min, note_max, 'LIMIT', 0, ${CHUNK})
local kept = redis.call('HGET', STATE, 'k')
if #fields > 0 then
  if kept then
    for _, field in ipairs(fields) do kept = kept - note_bytes(field, redis.call('HSTRLEN', NOTES, field)) end
    redis.call('HSET', STATE, 'k', whole(math.max(kept, 0)))
  end
  redis.call('HDEL', NOTES, unpack(fields))
  redis.call('ZREM', NOTE_NAMES, unpack(fields))
end
if #fields == ${CHUNK} then return { 'more' } end
redis.call('ZREMRANGEBYLEX', NOTE_ENDS, note_min, note_max)
redis.call('SET', CLIENT_FENCE, version, 'EX', ${FENCE_S})
return { 'erased' }`,
});

/**
 * Checks scopes that an audit has found by their keys. A scope that was last written to before its owner or source was
 * erased is reported; any other is added to the indexes. An erasure or a member of '' means none.
 *
 * Reply  {time in µs, index from 1, version of the erasure, …}
 */
export const auditScript = registryScript('audit', {
  effect: 'frees',
  parameters: { scopes: ['version', 'ownerErasure', 'sourceErasure', 'scopeMember', 'sourceMember'] },
  uses: [ADMIT],
  body: lua`
local reply = { whole(now_us()) }
for index, scope in ipairs(scopes) do
  local erased = last_erasure({ scope.owner_erasure, scope.source_erasure })
  if tonumber(scope.version) < tonumber(erased) then
    reply[#reply + 1], reply[#reply + 2] = index, erased
  else
    add_to_index(SCOPES, scope.scope_member)
    add_to_index(SCOPES_BY_SOURCE, scope.source_member)
  end
end
return reply`,
});

/**
 * Deletes all data of a scope that was last written to before an erasure. A scope that was written to since is left alone.
 *
 * Reply  nothing
 */
export const eraseOutdatedScript = maintenanceScript('erase_outdated', {
  effect: 'frees',
  keys: SCOPE_KEYS,
  parameters: { erasedAt: 'text' },
  uses: [STATE, WIPE],
  body: lua`
local state = read_state()
if not state or state.version >= tonumber(erased_at) then return {} end
wipe()
redis.call('SET', FENCE, erased_at, 'EX', ${FENCE_S})
return {}`,
});
