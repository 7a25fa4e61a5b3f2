import { LEASE_RAN_OUT, LEASED_UNITS } from '@tidemark/core/ports';
import { CLOCK_SKEW_MS_MAX } from '@tidemark/protocol';
import { DIGITS } from '../keys.ts';
import { QUEUE_KEYS } from '../layout.ts';
import {
  type Effect,
  encoderOf,
  lua,
  nameKeys,
  type Parameters,
  type RunnableScript,
  script,
  type ValuesOf,
} from '../scripts/script.ts';
import type { Argument } from '../wire.ts';

/** Expired leases that one call ends. */
const LEASES_PER_CALL = 1_000;
/** The number of a job is the time at which it was enqueued in µs, or the next number that is free. */
export const NUMBER_DIGITS = 16;

/**
 * Functions on one queue. Every job has a number, and is a member of one sorted set, chosen by its status:
 *
 *   READY    due time, number       the first one is leased next, once it is due
 *   LEASED   end of lease, number   the first ones are those whose lease has expired
 *   DEAD     time of death, number
 *   WAITING  order key, number      jobs behind the head of their order
 *   HEADS    order key → number     the job of each order that is ready or leased
 *
 * An order key is the digest of an order. JOBS holds number → attributes, PAYLOADS number → payload. QUEUE holds whether
 * the queue is paused, the last number, the latest time, and the version of the reset that emptied it last.
 *
 * A script may reply 'more' instead of what its comment says: it has ended a bounded number of expired leases, and must be
 * called again.
 */
const QUEUE_FUNCTIONS = lua`
local SETS = { ready = READY, leased = LEASED, dead = DEAD, waiting = WAITING }

local function digits(number) return string.format('%0${DIGITS}.0f', number) end
local function order_key(order) return redis.sha1hex(order) end
local function number_in(member) return member and string.sub(member, -${NUMBER_DIGITS}) or nil end
local function up_to(time_ms) return '(' .. digits(time_ms + 1) end

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
  local stored = number and redis.call('HGET', JOBS, number)
  return stored and cmsgpack.unpack(stored) or nil
end

local function member_of(number, job)
  return (job.status == 'waiting' and order_key(job.order) or digits(job.at)) .. number
end

-- The latest time at which a time of some job of the queue was set.
local latest = tonumber(redis.call('HGET', QUEUE, 'latest') or '0')

local function save(number, job)
  if now_ms > latest then
    latest = now_ms
    redis.call('HSET', QUEUE, 'latest', whole(now_ms))
  end
  redis.call('HSET', JOBS, number, cmsgpack.pack(job))
  redis.call('ZADD', SETS[job.status], 0, member_of(number, job))
end

local function remove_from_set(number, job) redis.call('ZREM', SETS[job.status], member_of(number, job)) end

local function update(number, job, changes)
  remove_from_set(number, job)
  for name, value in pairs(changes) do job[name] = value end
  save(number, job)
end

local function head_of(order) return redis.call('HGET', HEADS, order_key(order)) or nil end
local function set_head(order, number) redis.call('HSET', HEADS, order_key(order), number) end

local function first_waiting(order)
  local key = order_key(order)
  return first_in(WAITING, '[' .. key, '(' .. key .. ':')
end

-- Makes the next job of the order its head, if the given job was the head.
local function replace_head(number, order)
  if not order or head_of(order) ~= number then return end
  local next = first_waiting(order)
  if not next then redis.call('HDEL', HEADS, order_key(order)); return end
  local job = read(next)
  update(next, job, { status = 'ready', at = job.due_at })
  set_head(order, next)
end

local function delete(number, job)
  remove_from_set(number, job)
  redis.call('HDEL', JOBS, number)
  redis.call('HDEL', PAYLOADS, number)
  replace_head(number, job.order)
end

local function bury(number, job, reason, died_at)
  update(number, job, { status = 'dead', at = died_at, lease = '', reason = reason })
  replace_head(number, job.order)
  if redis.call('ZCARD', DEAD) > dead_max then
    local first = first_in(DEAD, '-', '+')
    delete(first, read(first))
  end
end

-- Makes a leased job ready again. It stays the head of its order, unless a job that was enqueued before it was revived
-- meanwhile.
local function release(number, job, changes)
  changes.due_at = changes.due_at or job.due_at
  changes.status, changes.at, changes.lease = 'ready', changes.due_at, ''
  changes.set_at = now_ms
  update(number, job, changes)
  local first = job.order and first_waiting(job.order)
  if first and first < number then
    update(number, job, { status = 'waiting' })
    replace_head(number, job.order)
  end
end

-- After the clock was set back: a time that was set by the old clock is moved back, so that the job waits as long as before.
local function move_times(number, job)
  local set_at = job.set_at or job.enqueued_at
  if job.status == 'dead' or set_at <= now_ms + ${CLOCK_SKEW_MS_MAX} then return end
  local due_at = now_ms + (job.status == 'leased' and 0 or math.max(0, job.due_at - set_at))
  local at = job.status == 'leased' and now_ms + job.at - set_at or due_at
  update(number, job, { due_at = due_at, at = at, set_at = now_ms })
end

-- Looks at all jobs of the queue once after the clock was set back, a bounded number per call. False: there are more.
local function follow_clock()
  if latest <= now_ms + ${CLOCK_SKEW_MS_MAX} then return true end
  local found = redis.call('HSCAN', JOBS, redis.call('HGET', QUEUE, 'looked_at') or '0', 'COUNT', ${LEASES_PER_CALL})
  for index = 1, #found[2], 2 do move_times(found[2][index], cmsgpack.unpack(found[2][index + 1])) end
  if found[1] ~= '0' then
    redis.call('HSET', QUEUE, 'looked_at', found[1])
    return false
  end
  redis.call('HDEL', QUEUE, 'looked_at')
  redis.call('HSET', QUEUE, 'latest', whole(now_ms))
  return true
end

-- Ends expired leases: the job is due again, or dead when that was its last attempt. False: there are more.
local function end_leases()
  if not follow_clock() then return false end
  for _ = 1, ${LEASES_PER_CALL} do
    local number = first_in(LEASED, '-', up_to(now_ms))
    if not number then return true end
    local job = read(number)
    if job.attempt >= job.attempts_max then bury(number, job, '${LEASE_RAN_OUT}', job.at)
    else release(number, job, { due_at = job.at }) end
  end
  return false
end

local function state_of(job)
  if job.status ~= 'ready' then return job.status end
  return job.due_at <= now_ms and 'due' or 'delayed'
end

-- Optional texts are '=' and the text, or ''.
local function optional(text) return text and '=' .. text or '' end
local function from_optional(text) return text ~= '' and string.sub(text, 2) or nil end

local function view_of(number, job)
  return { number, job.kind, state_of(job), optional(job.order), whole(job.attempt), whole(job.attempts_max),
    whole(job.enqueued_at), whole(job.due_at), optional(job.reason) }
end`;

/** What every script on a queue takes first. Scripts that look at no times take zeros. */
const TIMES = { nowMs: 'number', deadMax: 'number' } as const;
export const UNTIMED = { nowMs: 0, deadMax: 0 };

export interface QueueScript<P extends Parameters> extends RunnableScript {
  args(times: ValuesOf<typeof TIMES>, values: ValuesOf<P>): Argument[];
}

function queueScript<const P extends Parameters>(
  name: string,
  { effect, parameters, body }: { readonly effect: Effect; readonly parameters: P; readonly body: string },
): QueueScript<P> {
  const spec = { effect, keys: nameKeys(QUEUE_KEYS), uses: [QUEUE_FUNCTIONS], body };
  const { args: _, ...made } = script(name, { ...spec, parameters: { ...TIMES, ...parameters } });
  const [encodeTimes, encodeOwn] = [encoderOf(TIMES), encoderOf(parameters)];
  return { ...made, args: (times, values) => encodeOwn(values, encodeTimes(times)) };
}

/**
 * Adds jobs, all or none. `order` is an optional text, `dueAtMs` may be ''.
 *
 * Reply  {'full'} or {'ids', id …}
 */
export const enqueueScript = queueScript('enqueue', {
  effect: 'writes',
  parameters: { jobsMax: 'number', newJobs: ['kind', 'payload', 'attemptsMax', 'order', 'dueAtMs'] },
  body: lua`
if not follow_clock() then return 'more' end
local held = redis.call('ZCARD', READY) + redis.call('ZCARD', WAITING) + redis.call('ZCARD', LEASED)
if held + #new_jobs > jobs_max then return { 'full' } end
local reply = { 'ids' }
for _, new in ipairs(new_jobs) do
  local number, order = next_number(), from_optional(new.order)
  local due_at = new.due_at_ms ~= '' and tonumber(new.due_at_ms) or now_ms
  local is_head = order and not head_of(order)
  local status = (order and not is_head) and 'waiting' or 'ready'
  redis.call('HSET', PAYLOADS, number, new.payload)
  save(number, { kind = new.kind, order = order, attempt = 0, attempts_max = tonumber(new.attempts_max),
    enqueued_at = now_ms, due_at = due_at, at = due_at, set_at = now_ms, lease = '', status = status })
  if is_head then set_head(order, number) end
  reply[#reply + 1] = number
end
return reply`,
});

/**
 * Leases the next due jobs. A queue in which nothing is due is only read.
 *
 * Reply  for each job {id, kind, payload, attempt, attempts at most, lease}
 */
export const leaseScript = queueScript('lease', {
  effect: 'writes',
  parameters: { leaseMs: 'number', jobsMax: 'number' },
  body: lua`
if redis.call('HGET', QUEUE, 'paused') then return {} end
if not end_leases() then return 'more' end
local reply, bytes = {}, 0
for _, member in ipairs(redis.call('ZRANGEBYLEX', READY, '-', up_to(now_ms), 'LIMIT', 0, jobs_max)) do
  if bytes > ${LEASED_UNITS} then break end
  local number = number_in(member)
  local job, payload, lease = read(number), redis.call('HGET', PAYLOADS, number), next_number()
  update(number, job, { status = 'leased', at = now_ms + lease_ms, set_at = now_ms, lease = lease,
    attempt = job.attempt + 1 })
  bytes = bytes + #payload
  reply[#reply + 1] = { number, job.kind, payload, whole(job.attempt), whole(job.attempts_max), lease }
end
return reply`,
});

/**
 * Deletes jobs that are done.
 *
 * Reply  for each job 1 when its lease was valid, otherwise 0
 */
export const acknowledgeScript = queueScript('acknowledge', {
  effect: 'writes',
  parameters: { leases: ['id', 'lease'] },
  body: lua`
if not end_leases() then return 'more' end
local reply = {}
for _, held in ipairs(leases) do
  local job = read(held.id)
  local is_valid = job and job.status == 'leased' and job.lease == held.lease
  if is_valid then delete(held.id, job) end
  reply[#reply + 1] = is_valid and 1 or 0
end
return reply`,
});

/**
 * Does what the holder of a lease asks for: renew, done, retry, bury or give_back. `timeMs` is the length of a renewed lease,
 * or when the job is due again; absent for a job that is given back: as before.
 *
 * Reply  'lease_lost', 'settled' or 'dead'
 */
export const settleScript = queueScript('settle', {
  effect: 'writes',
  parameters: { id: 'text', lease: 'text', action: 'text', timeMs: 'optional_number', reason: 'text' },
  body: lua`
if not end_leases() then return 'more' end
local job = read(id)
if not job or job.status ~= 'leased' or job.lease ~= lease then return 'lease_lost' end
if action == 'renew' then update(id, job, { at = now_ms + time_ms, set_at = now_ms })
elseif action == 'done' then delete(id, job)
elseif action == 'give_back' then
  release(id, job, { attempt = job.attempt - 1, due_at = time_ms, reason = time_ms and reason or job.reason })
elseif action == 'bury' or job.attempt >= job.attempts_max then
  bury(id, job, reason, now_ms)
  return 'dead'
else release(id, job, { due_at = time_ms, reason = reason }) end
return 'settled'`,
});

/**
 * Does what an operator asks for: pause, resume, revive or remove.
 *
 * Reply  1 when it was done, otherwise 0
 */
export const adminScript = queueScript('admin', {
  effect: 'writes',
  parameters: { action: 'text', id: 'text' },
  body: lua`
if not follow_clock() then return 'more' end
if action == 'pause' then redis.call('HSET', QUEUE, 'paused', '1'); return 1 end
if action == 'resume' then redis.call('HDEL', QUEUE, 'paused'); return 1 end
if not end_leases() then return 'more' end
local job = read(id)
if not job then return 0 end
if action == 'remove' then
  if job.status == 'leased' then return 0 end
  delete(id, job)
  return 1
end
if job.status ~= 'dead' then return 0 end
-- The head of the order waits behind the revived job, if it was enqueued later and is not leased.
local head = job.order and head_of(job.order)
local is_head = job.order and true or false
if head then
  local other = read(head)
  is_head = other.status ~= 'leased' and head > id
  if is_head then update(head, other, { status = 'waiting' }) end
end
local status = (not job.order or is_head) and 'ready' or 'waiting'
update(id, job, { status = status, at = now_ms, due_at = now_ms, set_at = now_ms, attempt = 0 })
if is_head then set_head(job.order, id) end
return 1`,
});

/**
 * Lists jobs in a state: due, delayed, waiting, leased or dead. `after` is the cursor of the page before, or ''.
 *
 * Reply  {cursor of the next page or '', view …}
 */
export const inspectScript = queueScript('inspect', {
  effect: 'writes',
  parameters: { state: 'text', after: 'text', limit: 'number' },
  body: lua`
if not end_leases() then return 'more' end
local is_ready = state == 'due' or state == 'delayed'
local min = state == 'delayed' and '[' .. digits(now_ms + 1) or '-'
local max = state == 'due' and up_to(now_ms) or '+'
if after ~= '' and '(' .. after > '(' .. string.sub(min, 2) then min = '(' .. after end
local members = redis.call('ZRANGEBYLEX', is_ready and READY or SETS[state], min, max, 'LIMIT', 0, limit + 1)
local reply = { members[limit + 1] and members[limit] or '' }
for index = 1, math.min(limit, #members) do
  local number = number_in(members[index])
  reply[#reply + 1] = view_of(number, read(number))
end
return reply`,
});

/**
 * Reads one job.
 *
 * Reply  a view, or {} when there is no such job
 */
export const findScript = queueScript('find', {
  effect: 'writes',
  parameters: { id: 'text' },
  body: lua`
if not end_leases() then return 'more' end
local job = read(id)
return job and view_of(id, job) or {}`,
});

/**
 * Describes a queue.
 *
 * Reply  {'1' when paused, due, delayed, waiting, leased, dead, lag in ms}
 */
export const describeScript = queueScript('describe', {
  effect: 'writes',
  parameters: {},
  body: lua`
if not end_leases() then return 'more' end
local due = redis.call('ZLEXCOUNT', READY, '-', up_to(now_ms))
local first = redis.call('ZRANGEBYLEX', READY, '-', up_to(now_ms), 'LIMIT', 0, 1)[1]
local lag = first and now_ms - tonumber(string.sub(first, 1, ${DIGITS})) or 0
return { redis.call('HGET', QUEUE, 'paused') or '', due, redis.call('ZCARD', READY) - due, redis.call('ZCARD', WAITING),
  redis.call('ZCARD', LEASED), redis.call('ZCARD', DEAD), lag }`,
});

// These take no time into account.

/**
 * Empties a queue, once for each version of a reset.
 *
 * Reply  nothing
 */
export const emptyQueueScript = queueScript('empty_queue', {
  effect: 'frees',
  parameters: { version: 'number' },
  body: lua`
if tonumber(redis.call('HGET', QUEUE, 'emptied') or '0') >= version then return {} end
redis.call('UNLINK', JOBS, PAYLOADS, READY, LEASED, DEAD, WAITING, HEADS)
redis.call('HDEL', QUEUE, 'paused')
redis.call('HSET', QUEUE, 'emptied', whole(version))
return {}`,
});

/** The columns of a job in a migration. `order` and `lastReason` are optional texts. */
const MOVED_JOB = [
  ...['kind', 'payload', 'order', 'attempt', 'attemptsMax', 'enqueuedAtMs', 'dueAtMs', 'lastReason'],
  ...['status', 'atMs'],
] as const;

/**
 * Reads jobs for a migration.
 *
 * Reply  for each job the values of MOVED_JOB
 */
export const exportJobsScript = queueScript('export_jobs', {
  effect: 'reads',
  parameters: { numbers: 'list' },
  body: lua`
local reply = {}
for _, number in ipairs(numbers) do
  local job, payload = read(number), redis.call('HGET', PAYLOADS, number)
  if not job or not payload then error('a job is incomplete; run verify') end
  reply[#reply + 1] = { job.kind, payload, optional(job.order), whole(job.attempt), whole(job.attempts_max),
    whole(job.enqueued_at), whole(job.due_at), optional(job.reason), job.status, whole(job.at) }
end
return reply`,
});

/**
 * Writes jobs of a migration under new numbers. The holder of a lease is gone, so the lease expires by itself.
 *
 * Reply  nothing
 */
export const importJobsScript = queueScript('import_jobs', {
  effect: 'writes',
  parameters: { isPaused: 'flag', moved: MOVED_JOB },
  body: lua`
if is_paused then redis.call('HSET', QUEUE, 'paused', '1') end
for _, row in ipairs(moved) do
  local number = next_number()
  local job = { kind = row.kind, order = from_optional(row.order), attempt = tonumber(row.attempt),
    attempts_max = tonumber(row.attempts_max), enqueued_at = tonumber(row.enqueued_at_ms),
    due_at = tonumber(row.due_at_ms), reason = from_optional(row.last_reason), status = row.status,
    at = tonumber(row.at_ms), lease = '' }
  if job.status == 'leased' then job.lease = next_number() end
  redis.call('HSET', PAYLOADS, number, row.payload)
  save(number, job)
  if job.order and (job.status == 'ready' or job.status == 'leased') then set_head(job.order, number) end
end
return {}`,
});
