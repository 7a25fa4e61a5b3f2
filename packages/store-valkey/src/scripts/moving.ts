import { CHUNK, lua, REGISTRY, type Script, script } from './script.ts';

/**
 * Puts down members of one key as they are, for a store that is being filled.
 *
 * KEYS    the key
 * ARGV    HSET or ZADD; pairs as the command takes them
 * Answer  nothing
 */
export const putScript: Script = script(
  'put',
  'writes',
  lua`
local command, pairs_given = take(), take_list()
in_chunks(pairs_given, ${2 * CHUNK}, function(first, last) redis.call(command, KEYS[1], unpack(pairs_given, first, last)) end)
return {}`,
);

/**
 * Claims the registry for a migration, before anything is there.
 *
 * KEYS    the registry
 * ARGV    an epoch, for a registry that has none; the format; '1' to take what a migration has left, which the caller
 *         then empties
 * Answer  {'claimed'} · {'left', seal}, or {'cleanable', seal} when it may be taken · {'used'}
 */
export const claimScript: Script = script(
  'claim',
  'writes',
  REGISTRY,
  lua`
local epoch, format, is_cleaned = take(), take(), take() == '1'
local seal = redis.call('HGET', FACTS, 'seal')
if not seal then
  if redis.call('EXISTS', FACTS) == 1 then return { 'used' } end
  redis.call('HSET', FACTS, 'epoch', epoch, 'format', format, 'seal', 'incomplete')
  return { 'claimed' }
end
if not is_cleaned or string.find(seal, '^moving') then return { 'left', seal } end
redis.call('HSET', FACTS, 'seal', 'incomplete')
return { 'cleanable', seal }`,
);

/**
 * Takes over a life.
 *
 * KEYS    the registry
 * ARGV    epoch; a version that no write so far has gone beyond
 * Answer  nothing
 */
export const takeLifeScript: Script = script(
  'take_life',
  'writes',
  REGISTRY,
  lua`
local epoch, version = take(), take_number()
local last = tonumber(redis.call('HGET', FACTS, 'version') or '0')
redis.call('HSET', FACTS, 'epoch', epoch, 'version', whole(math.max(last, version)))
return {}`,
);

/**
 * Seals the store, so that no server opens it and nothing is admitted; or opens it.
 *
 * KEYS    the registry
 * ARGV    the seal, '' to open
 * Answer  nothing
 */
export const sealScript: Script = script(
  'seal',
  'writes',
  REGISTRY,
  lua`
local seal = take()
if seal == '' then redis.call('HDEL', FACTS, 'seal') else redis.call('HSET', FACTS, 'seal', seal) end
return {}`,
);
