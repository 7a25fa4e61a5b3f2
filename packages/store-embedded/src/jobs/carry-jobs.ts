import type { CarriedJob, JobPiece, Piece } from '@tidemark/core/ports';
import type { Transaction } from 'lmdb';
import { nextNumber } from '../facts.ts';
import { behind, keyOf, textsOf } from '../keys.ts';
import type { Tables } from '../tables.ts';
import type { KeptJob } from './kept-job.ts';
import { type KeptQueue, readQueue, writeQueue } from './kept-queue.ts';
import { headPlace, isHeadPlace, numberAt, placeOf } from './places.ts';

type QueuePiece = Extract<Piece, { readonly what: 'queue' }>;

/** Queues and their jobs, each in the order in which they were enqueued. Of one queue, the numbers are held at a time. */
export function* carriedJobs(tables: Tables, transaction: Transaction): Iterable<QueuePiece | JobPiece> {
  for (const { key, value } of tables.queues.getRange({ transaction })) {
    const [queue = ''] = textsOf(key);
    yield { what: 'queue', queue, isPaused: (JSON.parse(value) as KeptQueue).isPaused };
    const numbers = numbersIn(tables, transaction, queue);
    for (const [index, number] of numbers.entries()) {
      yield { what: 'job', queue, place: index + 1, job: readCarried(tables, transaction, number) };
    }
  }
}

function numbersIn(tables: Tables, transaction: Transaction, queue: string): Float64Array {
  const start = keyOf(queue);
  const end = behind(start);
  const numbers: number[] = [];
  for (const key of tables.jobPlaces.getKeys({ start, ...(end === undefined ? {} : { end }), transaction })) {
    if (!isHeadPlace(key)) numbers.push(numberAt(key));
  }
  return Float64Array.from(numbers).sort();
}

function readCarried(tables: Tables, transaction: Transaction, number: number): CarriedJob {
  const text = tables.jobs.get(keyOf(number), { transaction });
  const payload = tables.payloads.get(keyOf(number), { transaction });
  if (text === undefined || payload === undefined) throw new Error(`job ${number} is not whole; run verify`);
  const { queue: _queue, lease: _lease, ...job } = JSON.parse(text) as KeptJob;
  return { ...job, payload };
}

/** Runs in the writer's transaction. Jobs get numbers of their own, in the given order. */
export function importJobs(tables: Tables, pieces: readonly (QueuePiece | JobPiece)[]): void {
  for (const piece of pieces) {
    const kept = readQueue(tables, piece.queue);
    if (piece.what === 'queue') {
      writeQueue(tables, piece.queue, { ...kept, isPaused: piece.isPaused });
      continue;
    }
    putJob(tables, piece);
    const { standing } = piece.job;
    const counts = { ...kept.counts, [standing]: kept.counts[standing] + 1 };
    writeQueue(tables, piece.queue, { ...kept, counts });
  }
}

function putJob(tables: Tables, { queue, job: { payload, ...job } }: JobPiece): void {
  const number = nextNumber(tables, 'job');
  // Whoever held a lease is gone with the old store: nobody can settle the job before the lease runs out.
  const lease = job.standing === 'leased' ? nextNumber(tables, 'lease') : 0;
  const kept: KeptJob = { ...job, queue, lease };
  tables.payloads.put(keyOf(number), payload);
  tables.jobs.put(keyOf(number), JSON.stringify(kept));
  tables.jobPlaces.put(placeOf(number, kept), '');
  const isHead = job.standing === 'ready' || job.standing === 'leased';
  if (job.order !== null && isHead) tables.jobPlaces.put(headPlace(queue, job.order), String(number));
}
