import assert from 'node:assert/strict';
import type { JobState, Jobs, LeasedJob, NewJob } from '@tidemark/core';

export const QUEUE = 'pings';
export const LEASE_MS = 1_000;

/** Returns a job with its name as payload. */
export function newJob(payload: string, more: Partial<NewJob> = {}): NewJob {
  return { kind: 'test', payload, attemptsMax: 3, ...more };
}

export async function leased(jobs: Jobs, queue = QUEUE): Promise<LeasedJob> {
  return (await jobs.lease(queue, LEASE_MS)) ?? assert.fail('nothing was due');
}

/** Leases all due jobs without acknowledging them. Returns them in order. */
export async function leaseAll(jobs: Jobs, queue = QUEUE): Promise<LeasedJob[]> {
  const all: LeasedJob[] = [];
  for (let job = await jobs.lease(queue, LEASE_MS); job !== null; job = await jobs.lease(queue, LEASE_MS)) {
    all.push(job);
    assert.ok(all.length <= 1_000, 'jobs are leased again and again');
  }
  return all;
}

export async function payloadsDue(jobs: Jobs, queue = QUEUE): Promise<string[]> {
  return (await leaseAll(jobs, queue)).map(({ payload }) => payload);
}

/** Leases and acknowledges all due jobs. Returns their payloads in order. */
export async function workOff(jobs: Jobs, queue = QUEUE): Promise<string[]> {
  const done: string[] = [];
  for (let job = await jobs.lease(queue, LEASE_MS); job !== null; job = await jobs.lease(queue, LEASE_MS)) {
    assert.equal(await jobs.acknowledge(job), true);
    done.push(job.payload);
  }
  return done;
}

export async function idsIn(jobs: Jobs, state: JobState, queue = QUEUE): Promise<string[]> {
  return (await jobs.inspect(queue, state, { limit: 1_000 })).jobs.map(({ id }) => id);
}
