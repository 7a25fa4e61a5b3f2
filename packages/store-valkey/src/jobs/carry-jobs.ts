import type { CarriedJob, JobPiece, Piece } from '@tidemark/core/ports';
import type { Layout } from '../layout.ts';
import type { Link } from '../link.ts';
import { listArgs } from '../lists.ts';
import { bytesOf, listOf, textOf } from '../reply.ts';
import type { Argument, Reply } from '../wire.ts';
import { carriedJobsScript, carryJobsScript, NUMBER_DIGITS } from './queue-scripts.ts';

type QueuePiece = Extract<Piece, { readonly what: 'queue' }>;

/** Members of a place read in one step, and jobs with what they carry. */
const MEMBERS_PER_READ = 10_000;
const JOBS_PER_READ = 100;
/** The keys of a queue under which its jobs stand. */
const STANDING_PLACES = ['ready', 'leased', 'dead', 'waiting'];

/** Queues and their jobs, each in the order in which they were enqueued. Of one queue, the numbers are held at a time. */
export async function* carriedJobs(link: Link, layout: Layout): AsyncIterable<QueuePiece | JobPiece> {
  const names = listOf(await link.command('ZRANGE', layout.queues, 0, -1)).map((name) => textOf(name));
  for (const queue of names) {
    const keys = layout.queue(queue);
    const isPaused = (await link.command('HGET', keys[0] ?? '', 'paused')) !== null;
    const numbers = await numbersIn(link, keys);
    if (!isPaused && numbers.length === 0) continue;
    yield { what: 'queue', queue, isPaused };
    for (let first = 0; first < numbers.length; first += JOBS_PER_READ) {
      const some = [...numbers.subarray(first, first + JOBS_PER_READ)].map(idOf);
      const found = listOf(await link.run(carriedJobsScript, keys, [0, ...listArgs(some)]));
      for (const [index, view] of found.entries()) {
        yield { what: 'job', queue, place: first + index + 1, job: jobFrom(listOf(view)) };
      }
    }
  }
}

async function numbersIn(link: Link, keys: readonly string[]): Promise<Float64Array> {
  const numbers: number[] = [];
  for (const key of keys.filter((name) => STANDING_PLACES.some((place) => name.endsWith(`:${place}`)))) {
    for (let first = 0; ; first += MEMBERS_PER_READ) {
      const members = listOf(await link.command('ZRANGE', key, first, first + MEMBERS_PER_READ - 1));
      for (const member of members) numbers.push(Number(bytesOf(member).toString('latin1').slice(-NUMBER_DIGITS)));
      if (members.length < MEMBERS_PER_READ) break;
    }
  }
  return Float64Array.from(numbers).sort();
}

function idOf(number: number): string {
  return String(number).padStart(NUMBER_DIGITS, '0');
}

function jobFrom(view: readonly Reply[]): CarriedJob {
  const [
    kind = '',
    payload = '',
    order = '',
    attempt,
    attemptsMax,
    enqueuedAtMs,
    dueAtMs,
    reason = '',
    standing,
    atMs,
  ] = view.map((text) => textOf(text));
  return {
    ...{ kind, payload, order: given(order), attempt: Number(attempt), attemptsMax: Number(attemptsMax) },
    ...{ enqueuedAtMs: Number(enqueuedAtMs), dueAtMs: Number(dueAtMs), lastReason: given(reason) },
    ...{ standing: standing as CarriedJob['standing'], atMs: Number(atMs) },
  };
}

function given(text: string): string | null {
  return text === '' ? null : text.slice(1);
}

/** Jobs get numbers of their own, in the given order. */
export async function importJobs(
  link: Link,
  layout: Layout,
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
    await link.command('ZADD', layout.queues, 0, queue);
    const args: Argument[] = [0, isPaused ? '1' : '', ...listArgs(jobs.flatMap(jobArgs))];
    await link.write(carryJobsScript, layout.queue(queue), args);
  }
}

function jobArgs(job: CarriedJob): (string | number)[] {
  const { kind, payload, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, lastReason, standing, atMs } = job;
  return [
    ...[kind, payload, order === null ? '' : `=${order}`, attempt, attemptsMax, enqueuedAtMs, dueAtMs],
    ...[lastReason === null ? '' : `=${lastReason}`, standing, atMs],
  ];
}
