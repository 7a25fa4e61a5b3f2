import type { RegistryKeyName } from '../layout.ts';
import { lua, registryScript } from './script.ts';

/**
 * Admission decides whether a write may happen. On one node the script that writes also looks at the registry. In a
 * cluster the registry and the scope are on different nodes, so a write takes two scripts: `admitScript` at the registry
 * issues a permit, and the script at the scope checks the permit before it writes.
 *
 * - **Registry**: the keys under one hash tag. They hold the entries (users, clients, sources, tokens), the indexes of
 *   scopes, and the erasures.
 * - **Scope**: the keys under another hash tag, such as all data of a user at a source (`Scope` in keys.ts).
 * - **Guard**: an entry that must exist, and may have to have a certain version, for a write to happen.
 * - **Erasure**: deletes all scopes of a user, client or source, or everything. ERASURES holds it, with its version, from
 *   the step that removes the entries until all its scopes are empty; nothing is admitted there meanwhile.
 *   RECENT_ERASURES remembers it for a day after that, because a failover can bring back what a scope held.
 * - **Version**: the number that the registry gave to its last write. It follows the clock and never repeats.
 * - **Permit**: allows one write to one scope. It is a fencing token: it holds the version of the registry at which it was
 *   issued, besides the time, the epoch of the store and the version of the last erasure that covered the scope.
 * - **Fence**: the version of the last erasure of a scope, or of a client in it. A scope refuses permits with a lower
 *   version. So no write that was admitted before an erasure arrives after it. A fence expires after a day; permits expire
 *   long before.
 */
export const ADMISSION = {
  guards: ['field', 'version'],
  /** The erasures that cover what is written, and those of them that delete the whole scope. */
  erasures: 'list',
  scopeErasures: 'list',
  // Members for the indexes of scopes; '' for none.
  scopeMember: 'text',
  sourceMember: 'text',
  clientMember: 'text',
} as const;

/** The keys of the registry that `admit` and scripts that write use. */
export const ADMISSION_KEYS: readonly RegistryKeyName[] = [
  ...(['meta', 'entries', 'scopes', 'scopes_by_source', 'scopes_by_client'] as const),
  ...(['erasures', 'recent_erasures', 'changes'] as const),
];

export const PERMIT = { version: 'text', issuedAtUs: 'number', epoch: 'text', lastErasure: 'text' } as const;

/** A permit that arrives later than this is refused. */
export const PERMIT_MS = 600_000;
export const FENCE_S = 86_400;

/**
 * `admit(admission)` returns a refusal or nil, the epoch, the version of the registry, and the version of the last erasure
 * of the scope ('0' for none). That of a client who only has tidemarks and notes there does not count, since the scope was
 * not erased with it. Refusals are
 *   {'gone', index of the missing guard, from 1}
 *   {'erasing', erasure …}: these erasures must be finished first
 *   {'no_epoch'}: the registry is empty
 *   {'read_only'}: the data was moved to another store, or is being moved
 * A scope is added to the indexes before anything is written to it, so an erasure finds every scope that may hold data.
 */
export const ADMIT = lua`
local function missing_guard(guards)
  for index, guard in ipairs(guards) do
    local stored = redis.call('HGET', ENTRIES, guard.field)
    local version = guard.version
    if not stored or (version ~= '' and string.sub(stored, 1, #version + 1) ~= version .. ' ') then return index end
  end
  return nil
end

local function erasing_among(erasures)
  if #erasures == 0 or redis.call('EXISTS', ERASURES) == 0 then return nil end
  local found = {}
  for _, erasure in ipairs(erasures) do
    if redis.call('HEXISTS', ERASURES, erasure) == 1 then found[#found + 1] = erasure end
  end
  return #found > 0 and found or nil
end

local function last_erasure(erasures)
  local last = '0'
  if redis.call('EXISTS', RECENT_ERASURES) == 0 then return last end
  for _, erasure in ipairs(erasures) do
    local version = redis.call('ZSCORE', RECENT_ERASURES, erasure)
    if version and tonumber(version) > tonumber(last) then last = whole(tonumber(version)) end
  end
  return last
end

local function add_to_index(key, member)
  if member ~= '' then redis.call('ZADD', key, 0, member) end
end

local function admit(admission)
  local missing = missing_guard(admission.guards)
  if missing then return { 'gone', missing } end
  local erasing = erasing_among(admission.erasures)
  if erasing then return { 'erasing', unpack(erasing) } end
  local meta = redis.call('HMGET', META, 'epoch', 'migration', 'version')
  local epoch = meta[1]
  if not epoch then return { 'no_epoch' } end
  if meta[2] then return { 'read_only' } end
  add_to_index(SCOPES, admission.scope_member)
  add_to_index(SCOPES_BY_SOURCE, admission.source_member)
  add_to_index(SCOPES_BY_CLIENT, admission.client_member)
  return nil, epoch, meta[3] or '0', last_erasure(admission.scope_erasures)
end`;

/** `is_expired(at_us)`: a time that far in the future comes from another node's clock, and is refused as well. */
export const EXPIRY = lua`
local function is_expired(at_us) return math.abs(now_us() - at_us) > ${PERMIT_MS * 1_000} end`;

/**
 * `admitted(client_fence)` does the same in a script at a scope: on one node by `admit`, in a cluster by the permit. A
 * permit that is expired, or older than the fence of the scope or the given fence of a client, is refused with
 *   {'stale', time by this node's clock in µs, version of the fence or '0'}
 * The clocks of the two nodes need not agree: the caller asks the registry for another permit and replaces its time by
 * the one in the refusal, which was before that permit was issued.
 */
export const ADMITTED = lua`
${ADMIT}
${EXPIRY}
local function fence_at(key) return tonumber(redis.call('GET', key) or '0') end

local function admitted(client_fence)
  if IS_ONE_NODE then return admit(admission) end
  local fence = math.max(fence_at(FENCE), client_fence and fence_at(client_fence) or 0)
  if tonumber(permit.version) < fence or is_expired(permit.issued_at_us) then
    return { 'stale', whole(now_us()), whole(fence) }
  end
  return nil, permit.epoch, permit.version, permit.last_erasure
end`;

/**
 * Issues a permit.
 *
 * `fence` is the version of a fence that has refused a permit before, or 0. A fence that is newer than the registry belongs
 * to an erasure that the registry has lost. Its version then continues after that fence; otherwise the scope would refuse
 * every permit until the clock has passed the fence.
 *
 * Reply  {'admitted', version, time in µs, epoch, version of the last erasure} or a refusal
 */
export const admitScript = registryScript('admit', {
  effect: 'writes',
  parameters: { fence: 'number', admission: ADMISSION },
  uses: [ADMIT],
  body: lua`
local refusal, epoch, version, erased = admit(admission)
if refusal then return refusal end
if fence > tonumber(version) then
  version = whole(fence)
  redis.call('HSET', META, 'version', version)
end
return { 'admitted', version, whole(now_us()), epoch, erased }`,
});
