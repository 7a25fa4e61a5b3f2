import type { CarriedJob, JobPiece, Piece } from '@tidemark/core/ports';
import type { Keyspace } from '../connection.ts';
import { bytesOf, listOf, type Reply, textListOf } from '../wire.ts';
import { exportJobsScript, importJobsScript, NUMBER_DIGITS, UNTIMED } from './scripts.ts';

type QueuePiece = Extract<Piece, { readonly what: 'queue' }>;

/** Members of a sorted set that one call reads. */
const MEMBERS_PER_READ = 10_000;
/** Jobs, with their payloads, that one call reads. */
const JOBS_PER_READ = 100;
/** The sorted sets of a queue that contain its jobs. */
const SETS = ['ready', 'leased', 'dead', 'waiting'];

/** Exports queues and their jobs in the order in which they were enqueued. It holds the numbers of one queue in memory. */
export async function* exportJobs({ connection, layout }: Keyspace): AsyncIterable<QueuePiece | JobPiece> {
  for (const queue of textListOf(await connection.command('ZRANGE', layout.queues, 0, -1))) {
    const keys = layout.queue(queue);
    const isPaused = (await connection.command('HGET', keys[0] ?? '', 'paused')) !== null;
    const numbers = await jobNumbers({ connection, layout }, queue);
    if (!isPaused && numbers.length === 0) continue;
    yield { what: 'queue', queue, isPaused };
    for (let first = 0; first < numbers.length; first += JOBS_PER_READ) {
      const some = [...numbers.subarray(first, first + JOBS_PER_READ)];
      const args = exportJobsScript.args(UNTIMED, { numbers: some.map(jobId) });
      const jobs = listOf(await connection.run(exportJobsScript, keys, args));
      for (const [index, job] of jobs.entries()) {
        yield { what: 'job', queue, position: first + index + 1, job: jobFrom(job) };
      }
    }
  }
}

async function jobNumbers({ connection, layout }: Keyspace, queue: string): Promise<Float64Array> {
  const numbers: number[] = [];
  for (const key of layout.queue(queue).filter((name) => SETS.some((set) => name.endsWith(`:${set}`)))) {
    for (let first = 0; ; first += MEMBERS_PER_READ) {
      const members = listOf(await connection.command('ZRANGE', key, first, first + MEMBERS_PER_READ - 1));
      for (const member of members) numbers.push(Number(bytesOf(member).toString('latin1').slice(-NUMBER_DIGITS)));
      if (members.length < MEMBERS_PER_READ) break;
    }
  }
  return Float64Array.from(numbers).sort();
}

function jobId(number: number): string {
  return String(number).padStart(NUMBER_DIGITS, '0');
}

/** Reads the columns of MOVED_JOB. */
function jobFrom(reply: Reply): CarriedJob {
  const [kind = '', payload = '', order = '', ...rest] = textListOf(reply);
  const [attempt, attemptsMax, enqueuedAtMs, dueAtMs, reason = '', status, atMs] = rest;
  return {
    ...{ kind, payload, order: fromOptional(order), attempt: Number(attempt), attemptsMax: Number(attemptsMax) },
    ...{ enqueuedAtMs: Number(enqueuedAtMs), dueAtMs: Number(dueAtMs), lastReason: fromOptional(reason) },
    ...{ standing: status as CarriedJob['standing'], atMs: Number(atMs) },
  };
}

/** Imports jobs under new numbers, in the given order. */
export async function importJobs(
  { connection, layout }: Keyspace,
  pieces: readonly (QueuePiece | JobPiece)[],
): Promise<void> {
  const queues = new Map<string, { isPaused: boolean; jobs: CarriedJob[] }>();
  for (const piece of pieces) {
    const known = queues.get(piece.queue) ?? { isPaused: false, jobs: [] };
    queues.set(piece.queue, known);
    if (piece.what === 'queue') known.isPaused = piece.isPaused;
    else known.jobs.push(piece.job);
  }
  for (const [queue, { isPaused, jobs }] of queues) {
    await connection.command('ZADD', layout.queues, 0, queue);
    const moved = jobs.map(({ order, lastReason, standing, ...job }) => {
      return { ...job, order: optional(order), lastReason: optional(lastReason), status: standing };
    });
    const args = importJobsScript.args(UNTIMED, { isPaused, moved });
    await connection.write(importJobsScript, layout.queue(queue), args);
  }
}

// Scripts take an optional text as '=' and the text, or ''.

export function optional(text: string | null | undefined): string {
  return text === null || text === undefined ? '' : `=${text}`;
}

export function fromOptional(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text.slice(1);
}
