import type { Finding } from '@tidemark/core/ports';
import type { Transaction } from 'lmdb';
import { keyOf, readNumber, textsOf } from '../keys.ts';
import type { Tables } from '../tables.ts';
import type { KeptJob, Standing } from './kept-job.ts';
import type { KeptQueue } from './kept-queue.ts';
import { headPlace, isHeadPlace, numberAt, placeOf } from './places.ts';

/** Looks whether every job stands where it should and nothing else does, in the snapshot of the transaction. */
export async function* verifyJobs(
  tables: Tables,
  transaction: Transaction,
  breathe: () => Promise<void>,
): AsyncIterable<Finding> {
  const check = new JobsCheck(tables, transaction);
  for (const { key, value } of tables.jobs.getRange({ transaction })) {
    await breathe();
    yield* check.job(readNumber(key, 0), JSON.parse(value) as KeptJob);
  }
  for (const { key, value } of tables.jobPlaces.getRange({ transaction })) {
    await breathe();
    yield* check.place(key, value);
  }
  for (const key of tables.payloads.getKeys({ transaction })) {
    await breathe();
    yield* check.payload(readNumber(key, 0));
  }
  yield* check.queues();
}

class JobsCheck {
  readonly #tables: Tables;
  readonly #transaction: Transaction;
  readonly #counts = new Map<string, Record<Standing, number>>();

  constructor(tables: Tables, transaction: Transaction) {
    this.#tables = tables;
    this.#transaction = transaction;
  }

  *job(number: number, job: KeptJob): Iterable<Finding> {
    const counts = this.#counts.get(job.queue) ?? { ready: 0, waiting: 0, leased: 0, dead: 0 };
    counts[job.standing]++;
    this.#counts.set(job.queue, counts);
    if (!this.#has('jobPlaces', placeOf(number, job))) yield finding('missing_from_index', `job ${number}`);
    if (!this.#has('payloads', keyOf(number))) yield finding('unreadable', `what job ${number} carries`);
    if (job.order === null || job.standing === 'dead') return;
    const head = this.#tables.jobPlaces.get(headPlace(job.queue, job.order), { transaction: this.#transaction });
    const isHead = head === String(number);
    if (head === undefined || isHead === (job.standing === 'waiting')) {
      yield finding('missing_from_index', `job ${number} is ${job.standing}, the head of its order is ${head}`);
    }
  }

  *place(key: Buffer, value: string): Iterable<Finding> {
    const isHead = isHeadPlace(key);
    const number = isHead ? Number(value) : numberAt(key);
    const job = this.#read(number);
    if (job === null) yield finding('orphan', `a place of the unknown job ${number}`);
    else if (!this.#placesOf(number, job).some((place) => place.equals(key))) {
      yield finding('orphan', `a place where job ${number} does not stand`);
    }
  }

  *payload(number: number): Iterable<Finding> {
    if (!this.#has('jobs', keyOf(number))) yield finding('orphan', `what the unknown job ${number} carries`);
  }

  *queues(): Iterable<Finding> {
    const kept = new Map<string, KeptQueue>();
    for (const { key, value } of this.#tables.queues.getRange({ transaction: this.#transaction })) {
      kept.set(textsOf(key)[0] ?? '', JSON.parse(value) as KeptQueue);
    }
    for (const queue of new Set([...kept.keys(), ...this.#counts.keys()])) {
      const noted = kept.get(queue)?.counts;
      const found = this.#counts.get(queue);
      const standings: readonly Standing[] = ['ready', 'waiting', 'leased', 'dead'];
      const wrong = standings.filter((standing) => (noted?.[standing] ?? 0) !== (found?.[standing] ?? 0));
      if (wrong.length > 0)
        yield finding('wrong_size', `the queue ${JSON.stringify(queue)} counts ${wrong.join(', ')} wrongly`);
    }
  }

  #placesOf(number: number, job: KeptJob): readonly Buffer[] {
    const place = placeOf(number, job);
    return job.order === null ? [place] : [place, headPlace(job.queue, job.order)];
  }

  #read(number: number): KeptJob | null {
    const text = this.#tables.jobs.get(keyOf(number), { transaction: this.#transaction });
    return text === undefined ? null : (JSON.parse(text) as KeptJob);
  }

  #has(table: 'jobs' | 'payloads' | 'jobPlaces', key: Buffer): boolean {
    return this.#tables[table].get(key, { transaction: this.#transaction }) !== undefined;
  }
}

function finding(problem: Finding['problem'], detail: string): Finding {
  return { partition: null, problem, detail };
}
