import type { CarriedJob, JobPiece, Piece } from '@tidemark/core/ports';
import type { Transaction } from 'lmdb';
import { behind, keyOf, textsOf } from '../keys.ts';
import { nextNumber } from '../meta.ts';
import type { Tables } from '../tables.ts';
import { headKey, isHeadKey, jobKey, jobNumberIn } from './job-keys.ts';
import { type JobRow, type QueueRow, readQueue, writeJob, writeQueue } from './job-rows.ts';

type QueuePiece = Extract<Piece, { readonly what: 'queue' }>;

/** Exports queues and their jobs, in the order in which they were enqueued. It holds the job numbers of one queue in memory. */
export function* exportedJobs(tables: Tables, transaction: Transaction): Iterable<QueuePiece | JobPiece> {
  for (const { key, value } of tables.queues.getRange({ transaction })) {
    const [queue = ''] = textsOf(key);
    yield { what: 'queue', queue, isPaused: (JSON.parse(value) as QueueRow).isPaused };
    const numbers = numbersIn(tables, transaction, queue);
    for (const [index, number] of numbers.entries()) {
      yield { what: 'job', queue, position: index + 1, job: readJobPiece(tables, transaction, number) };
    }
  }
}

function numbersIn(tables: Tables, transaction: Transaction, queue: string): Float64Array {
  const start = keyOf(queue);
  const end = behind(start);
  const numbers: number[] = [];
  for (const key of tables.jobIndex.getKeys({ start, ...(end === undefined ? {} : { end }), transaction })) {
    if (!isHeadKey(key)) numbers.push(jobNumberIn(key));
  }
  return Float64Array.from(numbers).sort();
}

function readJobPiece(tables: Tables, transaction: Transaction, number: number): CarriedJob {
  const text = tables.jobs.get(keyOf(number), { transaction });
  const payload = tables.payloads.get(keyOf(number), { transaction });
  if (text === undefined || payload === undefined)
    throw new Error(`job ${number} has no row or no payload; run verify`);
  const { queue: _queue, lease: _lease, state: standing, ...job } = JSON.parse(text) as JobRow;
  return { ...job, standing, payload };
}

/** Imports queues and jobs in the writer's transaction. Jobs get new numbers, in the given order. */
export function importJobs(tables: Tables, pieces: readonly (QueuePiece | JobPiece)[]): void {
  for (const piece of pieces) {
    const row = readQueue(tables, piece.queue);
    if (piece.what === 'queue') {
      writeQueue(tables, piece.queue, { ...row, isPaused: piece.isPaused });
      continue;
    }
    putJob(tables, piece);
    const { standing } = piece.job;
    const counts = { ...row.counts, [standing]: row.counts[standing] + 1 };
    writeQueue(tables, piece.queue, { ...row, counts });
  }
}

function putJob(tables: Tables, { queue, job: { payload, standing: state, ...job } }: JobPiece): void {
  const number = nextNumber(tables, 'job');
  // The holder of the lease worked on the old store, so nobody can settle the job before its lease expires.
  const lease = state === 'leased' ? nextNumber(tables, 'lease') : 0;
  const row: JobRow = { ...job, state, queue, lease };
  tables.payloads.put(keyOf(number), payload);
  writeJob(tables, number, row);
  tables.jobIndex.put(jobKey(number, row), '');
  const isHead = state === 'ready' || state === 'leased';
  if (job.order !== null && isHead) tables.jobIndex.put(headKey(queue, job.order), String(number));
}
