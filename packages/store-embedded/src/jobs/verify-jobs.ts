import type { Finding } from '@tidemark/core/ports';
import type { Transaction } from 'lmdb';
import { keyOf, readNumber, textsOf } from '../keys.ts';
import type { Tables } from '../tables.ts';
import { headKey, isHeadKey, jobKey, jobNumberIn } from './job-keys.ts';
import type { JobRow, QueueRow, StoredState } from './job-rows.ts';

/** Checks in one snapshot that every job has its key in the index and its payload, and that nothing else has. */
export async function* verifyJobs(
  tables: Tables,
  transaction: Transaction,
  pause: () => Promise<void>,
): AsyncIterable<Finding> {
  const check = new JobsCheck(tables, transaction);
  for (const { key, value } of tables.jobs.getRange({ transaction })) {
    await pause();
    yield* check.job(readNumber(key, 0), JSON.parse(value) as JobRow);
  }
  for (const { key, value } of tables.jobIndex.getRange({ transaction })) {
    await pause();
    yield* check.indexKey(key, value);
  }
  for (const key of tables.payloads.getKeys({ transaction })) {
    await pause();
    yield* check.payload(readNumber(key, 0));
  }
  yield* check.queues();
}

class JobsCheck {
  readonly #tables: Tables;
  readonly #transaction: Transaction;
  readonly #counts = new Map<string, Record<StoredState, number>>();

  constructor(tables: Tables, transaction: Transaction) {
    this.#tables = tables;
    this.#transaction = transaction;
  }

  *job(number: number, job: JobRow): Iterable<Finding> {
    const counts = this.#counts.get(job.queue) ?? { ready: 0, waiting: 0, leased: 0, dead: 0 };
    counts[job.state]++;
    this.#counts.set(job.queue, counts);
    if (!this.#has('jobIndex', jobKey(number, job))) yield finding('missing_from_index', `job ${number}`);
    if (!this.#has('payloads', keyOf(number))) yield finding('unreadable', `the payload of job ${number}`);
    if (job.order === null || job.state === 'dead') return;
    const head = this.#tables.jobIndex.get(headKey(job.queue, job.order), { transaction: this.#transaction });
    const isHead = head === String(number);
    if (head === undefined || isHead === (job.state === 'waiting')) {
      yield finding('missing_from_index', `job ${number} is ${job.state}, the head of its order is ${head}`);
    }
  }

  *indexKey(key: Buffer, value: string): Iterable<Finding> {
    const isHead = isHeadKey(key);
    const number = isHead ? Number(value) : jobNumberIn(key);
    const job = this.#read(number);
    if (job === null) yield finding('orphan', `an index key of the unknown job ${number}`);
    else if (!this.#keysOf(number, job).some((expected) => expected.equals(key))) {
      yield finding('orphan', `an index key that job ${number} does not have`);
    }
  }

  *payload(number: number): Iterable<Finding> {
    if (!this.#has('jobs', keyOf(number))) yield finding('orphan', `the payload of the unknown job ${number}`);
  }

  *queues(): Iterable<Finding> {
    const rows = new Map<string, QueueRow>();
    for (const { key, value } of this.#tables.queues.getRange({ transaction: this.#transaction })) {
      rows.set(textsOf(key)[0] ?? '', JSON.parse(value) as QueueRow);
    }
    for (const queue of new Set([...rows.keys(), ...this.#counts.keys()])) {
      const noted = rows.get(queue)?.counts;
      const found = this.#counts.get(queue);
      const states: readonly StoredState[] = ['ready', 'waiting', 'leased', 'dead'];
      const wrong = states.filter((state) => (noted?.[state] ?? 0) !== (found?.[state] ?? 0));
      if (wrong.length > 0)
        yield finding('wrong_size', `the queue ${JSON.stringify(queue)} counts ${wrong.join(', ')} wrongly`);
    }
  }

  #keysOf(number: number, job: JobRow): readonly Buffer[] {
    const own = jobKey(number, job);
    return job.order === null ? [own] : [own, headKey(job.queue, job.order)];
  }

  #read(number: number): JobRow | null {
    const text = this.#tables.jobs.get(keyOf(number), { transaction: this.#transaction });
    return text === undefined ? null : (JSON.parse(text) as JobRow);
  }

  #has(table: 'jobs' | 'payloads' | 'jobIndex', key: Buffer): boolean {
    return this.#tables[table].get(key, { transaction: this.#transaction }) !== undefined;
  }
}

function finding(problem: Finding['problem'], detail: string): Finding {
  return { partition: null, problem, detail };
}
