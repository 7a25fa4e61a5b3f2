import { LEASE_RAN_OUT, LEASED_UNITS } from '@tidemark/core/ports';
import { CLOCK_SKEW_MS_MAX } from '@tidemark/protocol';
import { DIGITS } from '../keys.ts';
import { QUEUE_KEYS } from '../layout.ts';
import { lua, type Script, script } from '../scripts/script.ts';

/** Leases ended in one step; whoever comes next goes on. */
const SWEEP_MAX = 1_000;
/** The number of a job: the moment it was enqueued in µs, or the next one that is free. */
export const NUMBER_DIGITS = 16;

/**
 * One queue during one script. Every job stands in one place, sorted by what is asked of it:
 *
 *   READY    due time, number       the first one is the next to lease, if its time has come
 *   LEASED   end of lease, number   the first ones are those whose lease has run out
 *   DEAD     time of death, number
 *   WAITING  line, number           behind the head of their line; nobody who leases passes by here
 *   HEADS    line → number          who of an order is ready or leased
 *
 * A line is the digest of an order. JOBS has what is known of each job, PAYLOADS what it carries, QUEUE whether the
 * queue is paused, the last number given, and the version of the reset that emptied it last. Every script takes the
 * moment first, and may answer 'more' instead of what it says: then it has ended a bounded number of leases that had run
 * out, and must be called again.
 */
const DESK = lua`
local QUEUE, JOBS, PAYLOADS, READY, LEASED, DEAD, WAITING, HEADS = unpack(KEYS, 1, ${QUEUE_KEYS.length})
local PLACES = { ready = READY, leased = LEASED, dead = DEAD, waiting = WAITING }
local now = take_number()

local function digits(number) return string.format('%0${DIGITS}.0f', number) end
local function line_of(order) return redis.sha1hex(order) end
local function number_in(member) return member and string.sub(member, -${NUMBER_DIGITS}) or nil end
local function up_to(moment) return '(' .. digits(moment + 1) end

local function first_in(key, min, max)
  return number_in(redis.call('ZRANGEBYLEX', key, min, max, 'LIMIT', 0, 1)[1])
end

local function next_number()
  local last = tonumber(redis.call('HGET', QUEUE, 'number') or '0')
  local number = string.format('%0${NUMBER_DIGITS}.0f', math.max(last + 1, now_us()))
  redis.call('HSET', QUEUE, 'number', number)
  return number
end

local function read(number)
  local kept = number and redis.call('HGET', JOBS, number)
  return kept and cmsgpack.unpack(kept) or nil
end

local function member_of(number, job)
  return (job.standing == 'waiting' and line_of(job.order) or digits(job.at)) .. number
end

local function leave(number, job) redis.call('ZREM', PLACES[job.standing], member_of(number, job)) end

-- The last moment at which a job of the queue was given a time.
local latest = tonumber(redis.call('HGET', QUEUE, 'latest') or '0')

local function enter(number, job)
  if now > latest then
    latest = now
    redis.call('HSET', QUEUE, 'latest', whole(now))
  end
  redis.call('HSET', JOBS, number, cmsgpack.pack(job))
  redis.call('ZADD', PLACES[job.standing], 0, member_of(number, job))
end

local function move(number, job, change)
  leave(number, job)
  for name, value in pairs(change) do job[name] = value end
  enter(number, job)
end

local function head_of(order) return redis.call('HGET', HEADS, line_of(order)) or nil end
local function set_head(order, number) redis.call('HSET', HEADS, line_of(order), number) end

local function first_behind(order)
  local line = line_of(order)
  return first_in(WAITING, '[' .. line, '(' .. line .. ':')
end

-- The next of the order takes the place of a head that has gone.
local function free_line(number, order)
  if not order or head_of(order) ~= number then return end
  local next = first_behind(order)
  if not next then redis.call('HDEL', HEADS, line_of(order)); return end
  local job = read(next)
  move(next, job, { standing = 'ready', at = job.due_at })
  set_head(order, next)
end

local function forget(number, job)
  leave(number, job)
  redis.call('HDEL', JOBS, number)
  redis.call('HDEL', PAYLOADS, number)
  free_line(number, job.order)
end

local function bury(number, job, reason, died_at, dead_max)
  move(number, job, { standing = 'dead', at = died_at, lease = '', reason = reason })
  free_line(number, job.order)
  if redis.call('ZCARD', DEAD) > dead_max then
    local first = first_in(DEAD, '-', '+')
    forget(first, read(first))
  end
end

-- A job that was leased is ready again, and still the head of its line. Only one that was enqueued earlier, and was
-- revived meanwhile, goes before it.
local function come_back(number, job, change)
  change.due_at = change.due_at or job.due_at
  change.standing, change.at, change.lease = 'ready', change.due_at, ''
  change.set_at = now
  move(number, job, change)
  local first = job.order and first_behind(job.order)
  if first and first < number then
    move(number, job, { standing = 'waiting' })
    free_line(number, job.order)
  end
end

-- Whatever a clock that has been set back since said to wait for is waited for from now on, for as long.
local function count_anew(number, job)
  local set_at = job.set_at or job.enqueued_at
  if job.standing == 'dead' or set_at <= now + ${CLOCK_SKEW_MS_MAX} then return end
  local due_at = now + (job.standing == 'leased' and 0 or math.max(0, job.due_at - set_at))
  move(number, job, { due_at = due_at, at = job.standing == 'leased' and now + job.at - set_at or due_at, set_at = now })
end

-- Looks at all jobs of the queue once after the clock was set back, so many in one step. False: there are more.
local function follow_clock()
  if latest <= now + ${CLOCK_SKEW_MS_MAX} then return true end
  local found = redis.call('HSCAN', JOBS, redis.call('HGET', QUEUE, 'looked_at') or '0', 'COUNT', ${SWEEP_MAX})
  for index = 1, #found[2], 2 do count_anew(found[2][index], cmsgpack.unpack(found[2][index + 1])) end
  if found[1] ~= '0' then
    redis.call('HSET', QUEUE, 'looked_at', found[1])
    return false
  end
  redis.call('HDEL', QUEUE, 'looked_at')
  redis.call('HSET', QUEUE, 'latest', whole(now))
  return true
end

-- Ends the leases that have run out: the job is due again, or dead when that was its last attempt.
local function sweep(dead_max)
  if not follow_clock() then return false end
  for _ = 1, ${SWEEP_MAX} do
    local number = first_in(LEASED, '-', up_to(now))
    if not number then return true end
    local job = read(number)
    if job.attempt >= job.attempts_max then bury(number, job, '${LEASE_RAN_OUT}', job.at, dead_max)
    else come_back(number, job, { due_at = job.at }) end
  end
  return false
end

local function state_of(job)
  if job.standing ~= 'ready' then return job.standing end
  return job.due_at <= now and 'due' or 'delayed'
end

local function view_of(number, job)
  return { number, job.kind, state_of(job), job.order and '=' .. job.order or '', whole(job.attempt),
    whole(job.attempts_max), whole(job.enqueued_at), whole(job.due_at), job.reason and '=' .. job.reason or '' }
end`;

/**
 * Adds jobs, all or none.
 *
 * KEYS    the queue
 * ARGV    moment; jobs at most; per job: kind, payload, attempts, '=order' or '', due time or ''
 * Answer  {'full'} or {'ids', id …}
 */
export const enqueueScript: Script = script(
  'enqueue',
  'writes',
  DESK,
  lua`
local jobs_max, jobs = take_number(), take_list()
if not follow_clock() then return 'more' end
local held = redis.call('ZCARD', READY) + redis.call('ZCARD', WAITING) + redis.call('ZCARD', LEASED)
if held + #jobs / 5 > jobs_max then return { 'full' } end
local answer = { 'ids' }
for index = 1, #jobs, 5 do
  local number = next_number()
  local order = jobs[index + 3] ~= '' and string.sub(jobs[index + 3], 2) or nil
  local due_at = jobs[index + 4] ~= '' and tonumber(jobs[index + 4]) or now
  local is_head = order and not head_of(order)
  local job = { kind = jobs[index], order = order, attempt = 0, attempts_max = tonumber(jobs[index + 2]),
    enqueued_at = now, due_at = due_at, at = due_at, set_at = now, lease = '', standing = (order and not is_head) and 'waiting' or 'ready' }
  redis.call('HSET', PAYLOADS, number, jobs[index + 1])
  enter(number, job)
  if is_head then set_head(order, number) end
  answer[#answer + 1] = number
end
return answer`,
);

/**
 * Leases the next due jobs. A queue at rest is only looked at.
 *
 * KEYS    the queue
 * ARGV    moment; dead jobs at most; length of the lease; jobs at most
 * Answer  of each: {id, kind, payload, attempt, attempts, lease}
 */
export const leaseScript: Script = script(
  'lease',
  'writes',
  DESK,
  lua`
local dead_max, lease_ms, jobs_max = take_number(), take_number(), take_number()
if redis.call('HGET', QUEUE, 'paused') then return {} end
if not sweep(dead_max) then return 'more' end
local answer, carried = {}, 0
for _, member in ipairs(redis.call('ZRANGEBYLEX', READY, '-', up_to(now), 'LIMIT', 0, jobs_max)) do
  if carried > ${LEASED_UNITS} then break end
  local number = number_in(member)
  local job, payload, lease = read(number), redis.call('HGET', PAYLOADS, number), next_number()
  move(number, job, { standing = 'leased', at = now + lease_ms, set_at = now, lease = lease, attempt = job.attempt + 1 })
  carried = carried + #payload
  answer[#answer + 1] = { number, job.kind, payload, whole(job.attempt), whole(job.attempts_max), lease }
end
return answer`,
);

/**
 * Forgets jobs that are done.
 *
 * KEYS    the queue
 * ARGV    moment; dead jobs at most; per job: id, lease
 * Answer  of each: 1 when the lease was good
 */
export const acknowledgeScript: Script = script(
  'acknowledge',
  'writes',
  DESK,
  lua`
local dead_max, held = take_number(), take_list()
if not sweep(dead_max) then return 'more' end
local answer = {}
for index = 1, #held, 2 do
  local job = read(held[index])
  local is_good = job and job.standing == 'leased' and job.lease == held[index + 1]
  if is_good then forget(held[index], job) end
  answer[#answer + 1] = is_good and 1 or 0
end
return answer`,
);

/**
 * Does what the holder of a lease says.
 *
 * KEYS    the queue
 * ARGV    moment; dead jobs at most; id; lease; renew, done, retry, bury or give_back; length or due time or ''; reason
 * Answer  'lease_lost', 'settled' or 'dead'
 */
export const settleScript: Script = script(
  'settle',
  'writes',
  DESK,
  lua`
local dead_max, number, lease, verdict, at, reason = take_number(), take(), take(), take(), take(), take()
if not sweep(dead_max) then return 'more' end
local job = read(number)
if not job or job.standing ~= 'leased' or job.lease ~= lease then return 'lease_lost' end
if verdict == 'renew' then move(number, job, { at = now + tonumber(at), set_at = now })
elseif verdict == 'done' then forget(number, job)
elseif verdict == 'give_back' then come_back(number, job, { attempt = job.attempt - 1 })
elseif verdict == 'bury' or job.attempt >= job.attempts_max then
  bury(number, job, reason, now, dead_max)
  return 'dead'
else come_back(number, job, { due_at = tonumber(at), reason = reason }) end
return 'settled'`,
);

/**
 * What an operator does.
 *
 * KEYS    the queue
 * ARGV    moment; dead jobs at most; pause, resume, revive or remove; id or ''
 * Answer  1 when it was done
 */
export const operateScript: Script = script(
  'operate',
  'writes',
  DESK,
  lua`
local dead_max, act, number = take_number(), take(), take()
if not follow_clock() then return 'more' end
if act == 'pause' then redis.call('HSET', QUEUE, 'paused', '1'); return 1 end
if act == 'resume' then redis.call('HDEL', QUEUE, 'paused'); return 1 end
if not sweep(dead_max) then return 'more' end
local job = read(number)
if not job then return 0 end
if act == 'remove' then
  if job.standing == 'leased' then return 0 end
  forget(number, job)
  return 1
end
if job.standing ~= 'dead' then return 0 end
-- A later head of its order that nobody has leased steps back for it.
local head = job.order and head_of(job.order)
local is_head = job.order and true or false
if head then
  local other = read(head)
  is_head = other.standing ~= 'leased' and head > number
  if is_head then move(head, other, { standing = 'waiting' }) end
end
local standing = (not job.order or is_head) and 'ready' or 'waiting'
move(number, job, { standing = standing, at = now, due_at = now, set_at = now, attempt = 0 })
if is_head then set_head(job.order, number) end
return 1`,
);

/**
 * Jobs in a state.
 *
 * KEYS    the queue
 * ARGV    moment; dead jobs at most; due, delayed, waiting, leased or dead; the place to go on behind, or ''; how many
 * Answer  {place of the next page or '', view …}
 */
export const inspectScript: Script = script(
  'inspect',
  'writes',
  DESK,
  lua`
local dead_max, state, after, limit = take_number(), take(), take(), take_number()
if not sweep(dead_max) then return 'more' end
local is_ready = state == 'due' or state == 'delayed'
local min = state == 'delayed' and '[' .. digits(now + 1) or '-'
local max = state == 'due' and up_to(now) or '+'
if after ~= '' and '(' .. after > '(' .. string.sub(min, 2) then min = '(' .. after end
local members = redis.call('ZRANGEBYLEX', is_ready and READY or PLACES[state], min, max, 'LIMIT', 0, limit + 1)
local answer = { members[limit + 1] and members[limit] or '' }
for index = 1, math.min(limit, #members) do
  local number = number_in(members[index])
  answer[#answer + 1] = view_of(number, read(number))
end
return answer`,
);

/**
 * One job.
 *
 * KEYS    the queue
 * ARGV    moment; dead jobs at most; id
 * Answer  a view, or {}
 */
export const findScript: Script = script(
  'find',
  'writes',
  DESK,
  lua`
local dead_max, number = take_number(), take()
if not sweep(dead_max) then return 'more' end
local job = read(number)
return job and view_of(number, job) or {}`,
);

/**
 * A queue as a whole.
 *
 * KEYS    the queue
 * ARGV    moment; dead jobs at most
 * Answer  {'1' when paused, due, delayed, waiting, leased, dead, lag in ms}
 */
export const describeScript: Script = script(
  'describe',
  'writes',
  DESK,
  lua`
local dead_max = take_number()
if not sweep(dead_max) then return 'more' end
local due = redis.call('ZLEXCOUNT', READY, '-', up_to(now))
local first = redis.call('ZRANGEBYLEX', READY, '-', up_to(now), 'LIMIT', 0, 1)[1]
local lag = first and now - tonumber(string.sub(first, 1, ${DIGITS})) or 0
return { redis.call('HGET', QUEUE, 'paused') or '', due, redis.call('ZCARD', READY) - due, redis.call('ZCARD', WAITING),
  redis.call('ZCARD', LEASED), redis.call('ZCARD', DEAD), lag }`,
);

/**
 * Empties a queue for a reset, once for each.
 *
 * KEYS    the queue
 * ARGV    moment, which is not used; version of the reset
 * Answer  nothing
 */
export const emptyQueueScript: Script = script(
  'empty_queue',
  'frees',
  DESK,
  lua`
local version = take()
if tonumber(redis.call('HGET', QUEUE, 'emptied') or '0') >= tonumber(version) then return {} end
redis.call('UNLINK', JOBS, PAYLOADS, READY, LEASED, DEAD, WAITING, HEADS)
redis.call('HDEL', QUEUE, 'paused')
redis.call('HSET', QUEUE, 'emptied', version)
return {}`,
);

/**
 * Jobs as they are, with what they carry, for a migration.
 *
 * KEYS    the queue
 * ARGV    moment, which is not used; numbers
 * Answer  of each: {kind, payload, '=order' or '', attempt, attempts, enqueued, due, '=reason' or '', standing, at}
 */
export const carriedJobsScript: Script = script(
  'carried_jobs',
  'reads',
  DESK,
  lua`
local answer = {}
for _, number in ipairs(take_list()) do
  local job, payload = read(number), redis.call('HGET', PAYLOADS, number)
  if not job or not payload then error('a job is not whole; run verify') end
  answer[#answer + 1] = { job.kind, payload, job.order and '=' .. job.order or '', whole(job.attempt),
    whole(job.attempts_max), whole(job.enqueued_at), whole(job.due_at), job.reason and '=' .. job.reason or '',
    job.standing, whole(job.at) }
end
return answer`,
);

/**
 * Puts down jobs as they were elsewhere, with numbers of their own. Whoever held a lease there is gone: it ends by itself.
 *
 * KEYS    the queue
 * ARGV    moment, which is not used; '1' when the queue is paused; of each job what carried_jobs answers
 * Answer  nothing
 */
export const carryJobsScript: Script = script(
  'carry_jobs',
  'writes',
  DESK,
  lua`
if take() == '1' then redis.call('HSET', QUEUE, 'paused', '1') end
local jobs = take_list()
local function text_in(value) return value ~= '' and string.sub(value, 2) or nil end
for index = 1, #jobs, 10 do
  local number = next_number()
  local job = { kind = jobs[index], order = text_in(jobs[index + 2]), attempt = tonumber(jobs[index + 3]),
    attempts_max = tonumber(jobs[index + 4]), enqueued_at = tonumber(jobs[index + 5]), due_at = tonumber(jobs[index + 6]),
    reason = text_in(jobs[index + 7]), standing = jobs[index + 8], at = tonumber(jobs[index + 9]), lease = '' }
  if job.standing == 'leased' then job.lease = next_number() end
  redis.call('HSET', PAYLOADS, number, jobs[index + 1])
  enter(number, job)
  if job.order and (job.standing == 'ready' or job.standing == 'leased') then set_head(job.order, number) end
end
return {}`,
);
