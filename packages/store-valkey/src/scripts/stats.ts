import { STATS_KEYS } from '../layout.ts';
import { APPEND_FIELDS, CHUNK, lua, nameKeys, script } from './script.ts';

// STATS holds field → "count sum min max". A field is the encoded metric and the digits of the time. STATS_BY_NAME holds
// the fields in order, STATS_BY_TIME by their times.
const keys = nameKeys(STATS_KEYS);

/**
 * Merges rows into those that are stored.
 *
 * Reply  nothing
 */
export const addStatsScript = script('add_stats', {
  effect: 'writes',
  keys,
  parameters: { rows: ['field', 'atS', 'count', 'sum', 'min', 'max'] },
  body: lua`
for _, row in ipairs(rows) do
  local count, sum, min, max = tonumber(row.count), tonumber(row.sum), tonumber(row.min), tonumber(row.max)
  local stored = redis.call('HGET', STATS, row.field)
  if stored then
    local old_count, old_sum, old_min, old_max = string.match(stored, '(%S+) (%S+) (%S+) (%S+)')
    count, sum = count + tonumber(old_count), sum + tonumber(old_sum)
    min, max = math.min(min, tonumber(old_min)), math.max(max, tonumber(old_max))
  end
  redis.call('HSET', STATS, row.field, string.format('%.17g %.17g %.17g %.17g', count, sum, min, max))
  redis.call('ZADD', STATS_BY_NAME, 0, row.field)
  redis.call('ZADD', STATS_BY_TIME, row.at_s, row.field)
end
return {}`,
});

/**
 * Reads rows in a range of fields, from either end.
 *
 * Reply  field, row …
 */
export const readStatsScript = script('read_stats', {
  effect: 'reads',
  keys,
  parameters: { isOldestFirst: 'flag', min: 'text', max: 'text', limit: 'number' },
  uses: [APPEND_FIELDS],
  body: lua`
local fields = is_oldest_first and redis.call('ZRANGEBYLEX', STATS_BY_NAME, min, max, 'LIMIT', 0, limit)
  or redis.call('ZREVRANGEBYLEX', STATS_BY_NAME, max, min, 'LIMIT', 0, limit)
return append_fields({}, STATS, fields)`,
});

/**
 * Finds the first field of each metric by jumping from one metric to the next. `after` is '-' or the start of a range.
 *
 * Reply  fields
 */
export const statNamesScript = script('stat_names', {
  effect: 'reads',
  keys,
  parameters: { limit: 'number', after: 'text' },
  body: lua`
local reply = {}
while #reply < limit do
  local field = redis.call('ZRANGEBYLEX', STATS_BY_NAME, after, '+', 'LIMIT', 0, 1)[1]
  if not field then return reply end
  reply[#reply + 1] = field
  -- The metric ends at the zero byte; the time follows.
  after = '[' .. string.sub(field, 1, string.find(field, '\0', 1, true) - 1) .. '\1'
end
return reply`,
});

/**
 * Deletes rows from before a time, a bounded number of them.
 *
 * Reply  how many were deleted
 */
export const trimStatsScript = script('trim_stats', {
  effect: 'frees',
  keys,
  parameters: { beforeS: 'text', limit: 'number' },
  body: lua`
local fields = redis.call('ZRANGEBYSCORE', STATS_BY_TIME, '-inf', '(' .. before_s, 'LIMIT', 0, limit)
in_chunks(fields, ${CHUNK}, function(first, last)
  redis.call('HDEL', STATS, unpack(fields, first, last))
  redis.call('ZREM', STATS_BY_NAME, unpack(fields, first, last))
  redis.call('ZREM', STATS_BY_TIME, unpack(fields, first, last))
end)
return #fields`,
});
