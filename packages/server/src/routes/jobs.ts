import { JOB_STATES, type JobState, type JobView, type QueueView, queueProblem } from '@tidemark/core';
import { LIST_MAX, pointer, Refusal } from '@tidemark/protocol';
import { Job, JobPage, JobQueue, JobRemoved, JobRetried } from '@tidemark/protocol/admin/jobs';
import { text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { documentedAs } from '../http/documented-schema.ts';
import { route } from '../http/route.ts';
import { pageOf } from './paging.ts';
import { Empty, pageQuery } from './shapes.ts';

const Queue = text('The name of the queue.', 'uploads');
const QueueParams = Type.Object({ queue: Queue });
const JobParams = Type.Object({ queue: Queue, job_id: text('The id of the job.', 'j-1f9') });
const StateParam = Type.Enum([...JOB_STATES], { description: 'The state of the jobs; absent: `dead`.' });

const list = route({
  method: 'GET',
  path: '/rc/v1/jobs',
  operationId: 'jobsQueues',
  scope: 'read',
  summary: 'Queues that have jobs or are paused, with their state',
  answer: Type.Array(JobQueue, { description: 'Queues.' }),
  handle: async ({ context }) => {
    const names = await context.jobs.queues();
    return Promise.all(names.slice(0, LIST_MAX).map(async (name) => queueOf(await context.jobs.describe(name))));
  },
});

const describe = route({
  method: 'GET',
  path: '/rc/v1/jobs/:queue',
  operationId: 'jobsQueue',
  scope: 'read',
  summary: 'The state of a queue',
  params: QueueParams,
  answer: JobQueue,
  handle: async ({ context, params }) => queueOf(await context.jobs.describe(admitQueue(params.queue))),
});

const inspect = route({
  method: 'GET',
  path: '/rc/v1/jobs/:queue/jobs',
  operationId: 'jobsInspect',
  scope: 'read',
  summary: 'Jobs of a queue in a state, in pages, without their payload',
  refusals: ['invalid_value'],
  params: QueueParams,
  query: pageQuery('`next` of that page', 'j-1f9', { state: Type.Optional(Type.String(documentedAs(StateParam))) }),
  answer: JobPage,
  handle: async ({ context, params, query }) => {
    const { state = 'dead', ...paging } = query;
    const queue = admitQueue(params.queue);
    const { after, limit = DEFAULT_LIMIT } = pageOf(paging);
    const page = { limit: admitLimit(limit), ...(after === undefined ? {} : { after: admitAfter(after) }) };
    const { jobs, next } = await context.jobs.inspect(queue, admitState(state), page);
    return { jobs: jobs.map(jobOf), next };
  },
});

const find = route({
  method: 'GET',
  path: '/rc/v1/jobs/:queue/jobs/:job_id',
  operationId: 'jobsGet',
  scope: 'read',
  summary: 'One job, without its payload',
  params: JobParams,
  answer: Job,
  handle: async ({ context, params }) => {
    const job = await context.jobs.find(admitQueue(params.queue), params.job_id);
    if (job === null) throw notThere(params.job_id);
    return jobOf(job);
  },
});

const retry = route({
  method: 'POST',
  path: '/rc/v1/jobs/:queue/jobs/:job_id/retry',
  operationId: 'jobsRetry',
  scope: 'admin',
  summary: 'Make a dead job due again, with all its attempts',
  refusals: ['job_not_idle'],
  params: JobParams,
  body: Empty,
  answer: JobRetried,
  audit: 'jobs.retry',
  handle: async ({ context, params }) => {
    const { queue, job_id } = params;
    if (await context.jobs.revive(admitQueue(queue), job_id)) return { retried: job_id };
    throw await refusalFor(context.jobs.find(queue, job_id), job_id, 'only a dead job can be retried');
  },
});

const remove = route({
  method: 'DELETE',
  path: '/rc/v1/jobs/:queue/jobs/:job_id',
  operationId: 'jobsRemove',
  scope: 'admin',
  summary: 'Delete a job that is not running',
  refusals: ['job_not_idle'],
  params: JobParams,
  answer: JobRemoved,
  audit: 'jobs.remove',
  handle: async ({ context, params }) => {
    const { queue, job_id } = params;
    if (await context.jobs.remove(admitQueue(queue), job_id)) return { removed: job_id };
    throw await refusalFor(
      context.jobs.find(queue, job_id),
      job_id,
      'the job is running; wait for it, or pause the queue',
    );
  },
});

const pause = route({
  method: 'POST',
  path: '/rc/v1/jobs/:queue/pause',
  operationId: 'jobsPause',
  scope: 'admin',
  summary: 'Pause a queue; running jobs continue',
  params: QueueParams,
  body: Empty,
  answer: JobQueue,
  audit: 'jobs.pause',
  handle: async ({ context, params }) => {
    await context.jobs.pause(admitQueue(params.queue));
    return queueOf(await context.jobs.describe(params.queue));
  },
});

const resume = route({
  method: 'POST',
  path: '/rc/v1/jobs/:queue/resume',
  operationId: 'jobsResume',
  scope: 'admin',
  summary: 'Resume a queue',
  params: QueueParams,
  body: Empty,
  answer: JobQueue,
  audit: 'jobs.resume',
  handle: async ({ context, params }) => {
    await context.jobs.resume(admitQueue(params.queue));
    return queueOf(await context.jobs.describe(params.queue));
  },
});

const DEFAULT_LIMIT = 100;
/** The cursor of a page is short. */
const AFTER_UNITS_MAX = 1_024;

function queueOf({ queue, isPaused, counts, lagMs }: QueueView): object {
  return { queue, paused: isPaused, counts, lag_ms: lagMs };
}

function jobOf({ attemptsMax, enqueuedAtMs, dueAtMs, lastReason, ...job }: JobView): object {
  const at = (ms: number) => new Date(ms).toISOString();
  return {
    ...job,
    attempts_max: attemptsMax,
    enqueued_at: at(enqueuedAtMs),
    due_at: at(dueAtMs),
    last_reason: lastReason,
  };
}

function admitQueue(queue: string): string {
  const problem = queueProblem(queue);
  if (problem === null) return queue;
  throw new Refusal('invalid_name', problem, [{ pointer: pointer('queue'), detail: problem }]);
}

function admitState(state: string): JobState {
  const found = JOB_STATES.find((one) => one === state);
  if (found !== undefined) return found;
  const detail = `must be one of ${JOB_STATES.join(', ')}`;
  throw new Refusal('invalid_value', `state ${detail}`, [{ pointer: pointer('state'), detail }]);
}

function admitLimit(limit: number): number {
  if (limit >= 1 && limit <= LIST_MAX) return limit;
  const detail = `must be a whole number from 1 to ${LIST_MAX}`;
  throw new Refusal('invalid_value', `limit ${detail}`, [{ pointer: pointer('limit'), detail }]);
}

function admitAfter(after: string): string {
  if (after.length <= AFTER_UNITS_MAX && after.isWellFormed()) return after;
  const detail = 'must be the `next` of the previous page';
  throw new Refusal('invalid_value', `after ${detail}`, [{ pointer: pointer('after'), detail }]);
}

async function refusalFor(found: Promise<JobView | null>, id: string, whenThere: string): Promise<Refusal> {
  return (await found) === null ? notThere(id) : new Refusal('job_not_idle', whenThere);
}

function notThere(id: string): Refusal {
  return new Refusal('job_not_found', `the queue has no job ${JSON.stringify(id.slice(0, 80).toWellFormed())}`);
}

export const jobRoutes = [list, describe, inspect, find, retry, remove, pause, resume];
