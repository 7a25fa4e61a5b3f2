import { CHUNK, lua, type Script, script } from './script.ts';

// STATS has for each metric and step "count sum min max"; BY_NAME has the fields in order, BY_TIME with their steps.
const STATS = lua`
local ROWS, BY_NAME, BY_TIME = unpack(KEYS, 1, 3)`;

/**
 * Merges rows of statistics.
 *
 * KEYS    the statistics
 * ARGV    field, step, count, sum, min, max of each row
 * Answer  nothing
 */
export const addStatsScript: Script = script(
  'add_stats',
  'writes',
  STATS,
  lua`
local rows = take_list()
for index = 1, #rows, 6 do
  local field, at = rows[index], rows[index + 1]
  local count, sum, min, max = tonumber(rows[index + 2]), tonumber(rows[index + 3]), tonumber(rows[index + 4]), tonumber(rows[index + 5])
  local kept = redis.call('HGET', ROWS, field)
  if kept then
    local old_count, old_sum, old_min, old_max = string.match(kept, '(%S+) (%S+) (%S+) (%S+)')
    count, sum = count + tonumber(old_count), sum + tonumber(old_sum)
    min, max = math.min(min, tonumber(old_min)), math.max(max, tonumber(old_max))
  end
  redis.call('HSET', ROWS, field, string.format('%.17g %.17g %.17g %.17g', count, sum, min, max))
  redis.call('ZADD', BY_NAME, 0, field)
  redis.call('ZADD', BY_TIME, at, field)
end
return {}`,
);

/**
 * Reads rows of a metric.
 *
 * KEYS    the statistics
 * ARGV    'oldest' or 'newest'; begin and end of the range; how many at most
 * Answer  field, row …, from the given end on
 */
export const readStatsScript: Script = script(
  'read_stats',
  'reads',
  STATS,
  lua`
local from, min, max, limit = take(), take(), take(), take()
local fields = from == 'oldest' and redis.call('ZRANGEBYLEX', BY_NAME, min, max, 'LIMIT', 0, limit)
  or redis.call('ZREVRANGEBYLEX', BY_NAME, max, min, 'LIMIT', 0, limit)
local answer = {}
in_chunks(fields, ${CHUNK}, function(first, last)
  local values = redis.call('HMGET', ROWS, unpack(fields, first, last))
  for index = first, last do
    answer[#answer + 1] = fields[index]
    answer[#answer + 1] = values[index - first + 1]
  end
end)
return answer`,
);

/**
 * The first field of each metric, leaping from one to the next.
 *
 * KEYS    the statistics
 * ARGV    how many at most; '-' or the field behind which to go on
 * Answer  fields
 */
export const statNamesScript: Script = script(
  'stat_names',
  'reads',
  STATS,
  lua`
local limit, after = take_number(), take()
local answer = {}
while #answer < limit do
  local field = redis.call('ZRANGEBYLEX', BY_NAME, after, '+', 'LIMIT', 0, 1)[1]
  if not field then return answer end
  answer[#answer + 1] = field
  -- The name ends at the zero byte; what follows is the step.
  after = '[' .. string.sub(field, 1, string.find(field, '\0', 1, true) - 1) .. '\1'
end
return answer`,
);

/**
 * Forgets rows from before a moment.
 *
 * KEYS    the statistics
 * ARGV    the moment; how many at most
 * Answer  how many went
 */
export const trimStatsScript: Script = script(
  'trim_stats',
  'frees',
  STATS,
  lua`
local fields = redis.call('ZRANGEBYSCORE', BY_TIME, '-inf', '(' .. take(), 'LIMIT', 0, take())
in_chunks(fields, ${CHUNK}, function(first, last)
  redis.call('HDEL', ROWS, unpack(fields, first, last))
  redis.call('ZREM', BY_NAME, unpack(fields, first, last))
  redis.call('ZREM', BY_TIME, unpack(fields, first, last))
end)
return #fields`,
);
