import type { ConformanceCase } from '../conformance-case.ts';
import { keep, Matcher, MOMENT, same } from '../matcher.ts';
import { del, get, json, path, post, refused } from '../requests.ts';

const ID = new Matcher('an id', (value) => typeof value === 'string' && value !== '');

function queueView(queue: string, counts: Readonly<Record<string, number>> = {}, paused = false) {
  const lag = new Matcher('a time', (value) => Number.isInteger(value));
  return { queue, paused, counts: { due: 0, delayed: 0, waiting: 0, leased: 0, dead: 0, ...counts }, lag_ms: lag };
}

function jobView(id: unknown, state: string, reason: string | null) {
  return {
    id,
    kind: 'nothing',
    state,
    order: null,
    attempt: state === 'dead' ? 1 : 0,
    attempts_max: 3,
    enqueued_at: MOMENT,
    due_at: MOMENT,
    last_reason: reason,
  };
}

export const jobCases: readonly ConformanceCase[] = [
  {
    rule: 'REST-36',
    title: 'queues and jobs can be listed, dead jobs retried or removed, and queues paused',
    needs: ['jobs'],
    steps: (name) => {
      const queue = name('queue');
      const jobs = path`/rc/v1/jobs/${queue}/jobs`;
      return [
        { job: { queue, state: 'dead' } },
        [post(path`/rc/v1/jobs/${queue}/pause`, {}), json(queueView(queue, { dead: 1 }, true))],
        [
          get('/rc/v1/jobs'),
          json(new Matcher('a list with the queue', (value) => JSON.stringify(value).includes(queue))),
        ],
        [get(path`/rc/v1/jobs/${queue}`), json(queueView(queue, { dead: 1 }, true))],
        [get(jobs), json({ jobs: [jobView(keep('id', ID), 'dead', 'it was to die')], next: null })],
        [get(`${jobs}?state=due`), json({ jobs: [], next: null })],
        [get(`${jobs}/{id}`), json(jobView(same('id'), 'dead', 'it was to die'))],
        [post(`${jobs}/{id}/retry`, {}), json({ retried: same('id') })],
        [get(path`/rc/v1/jobs/${queue}`), json(queueView(queue, { due: 1 }, true))],
        [post(`${jobs}/{id}/retry`, {}), refused('job_not_idle')],
        [del(`${jobs}/{id}`), json({ removed: same('id') })],
        [del(`${jobs}/{id}`), refused('job_not_found')],
        [get(`${jobs}/{id}`), refused('job_not_found')],
        [post(`${jobs}/{id}/retry`, {}), refused('job_not_found')],
        [post(path`/rc/v1/jobs/${queue}/resume`, {}), json(queueView(queue))],
      ];
    },
  },
  {
    rule: 'REST-36',
    title: 'jobs are listed page by page',
    needs: ['jobs'],
    steps: (name) => {
      const jobs = path`/rc/v1/jobs/${name('queue')}/jobs`;
      const dead = (count: number) => Array.from({ length: count }, () => jobView(ID, 'dead', 'it was to die'));
      return [
        { job: { queue: name('queue'), state: 'dead' } },
        { job: { queue: name('queue'), state: 'dead' } },
        { job: { queue: name('queue'), state: 'dead' } },
        [get(`${jobs}?limit=2`), json({ jobs: dead(2), next: keep('next', ID) })],
        [get(`${jobs}?limit=2&after={next}`), json({ jobs: dead(1), next: null })],
      ];
    },
  },
  {
    rule: 'REST-36',
    title: 'an invalid queue, state, cursor or limit is refused',
    steps: (name) => {
      const jobs = path`/rc/v1/jobs/${name('queue')}/jobs`;
      return [
        [get('/rc/v1/jobs/*'), refused('invalid_name')],
        [get(`${jobs}?state=asleep`), refused('invalid_value')],
        [get(`${jobs}?limit=0`), refused('invalid_value')],
        [get(`${jobs}?limit=x`), refused('invalid_request')],
        [get(`${jobs}?after=nowhere`), refused('invalid_value')],
        [get(`${jobs}/none`), refused('job_not_found')],
        [get(path`/rc/v1/jobs/${name('queue')}`), json(queueView(name('queue')))],
      ];
    },
  },
];
