import { join } from 'node:path';
import type { Finding, Jobs, LeasedJob, NewJob } from '@tidemark/core';
import { refusalOf, type SettableClock, settableClock, temporaryFolder } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { keyOf } from '../keys.ts';
import { type EmbeddedStore, openEmbeddedStore } from '../open-store.ts';
import { MAP_BYTES, openTables, type Tables } from '../tables.ts';
import { applyJobs } from './apply-jobs.ts';
import { headKey, jobKey } from './job-keys.ts';
import type { JobRow } from './job-rows.ts';
import type { JobsCall } from './jobs-task.ts';

interface Bench {
  readonly folder: string;
  readonly store: EmbeddedStore;
  readonly jobs: Jobs;
  readonly clock: SettableClock;
}

async function bench(): Promise<Bench> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const store = await openEmbeddedStore({ folder: join(folder.path, 'store') });
  onTestFinished(() => store.close());
  const clock = settableClock();
  return { folder: folder.path, store, clock, jobs: store.jobs({ clock }) };
}

/** Opens the tables of the store a second time. */
function backDoor({ folder }: Bench): Tables {
  const tables = openTables(join(folder, 'store', 'store.mdb'), { mapBytes: MAP_BYTES });
  onTestFinished(() => tables.root.close());
  return tables;
}

const job = (payload: string, more: Partial<NewJob> = {}): NewJob => ({
  kind: 'test',
  payload,
  attemptsMax: 3,
  ...more,
});

async function findings(store: EmbeddedStore): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const finding of store.verify(() => ({ id: '', checksum: 0 }))) found.push(finding);
  return found;
}

describe('jobs in the embedded store', () => {
  it('[JOB-24] a reset removes all jobs, and leases from before it are lost', async () => {
    const { store, jobs } = await bench();
    const ids = await jobs.enqueueAll('q', [job('a', { order: 'x' }), job('b', { order: 'x' }), job('c')]);
    const held = await jobs.lease('q', 1_000);
    await jobs.pause('other');
    await store.reset([]);
    expect(await jobs.queues()).toEqual([]);
    expect(held && (await jobs.acknowledge(held))).toBe(false);
    expect(await jobs.lease('q', 1_000)).toBeNull();
    const id = await jobs.enqueue('q', job('d', { order: 'x' }));
    expect(ids).not.toContain(id);
    expect(await jobs.lease('q', 1_000)).toMatchObject({ id, payload: 'd' });
    expect(await findings(store)).toEqual([]);
  });

  it('[JOB-24] a backup contains the jobs', async () => {
    const { folder, store, jobs, clock } = await bench();
    await jobs.enqueueAll('q', [job('a', { order: 'x' }), job('b', { order: 'x' })]);
    await jobs.lease('q', 1_000);
    await store.backup(join(folder, 'copy'));
    const copy = await openEmbeddedStore({ folder: join(folder, 'copy') });
    onTestFinished(() => copy.close());
    const copied = copy.jobs({ clock });
    expect(await copied.describe('q')).toEqual(await jobs.describe('q'));
    clock.advance(1_000);
    expect(await copied.lease('q', 1_000)).toMatchObject({ payload: 'a', attempt: 2 });
    expect(await findings(copy)).toEqual([]);
  });

  it('[JOB-24] every call about jobs is refused once the store is closed', async () => {
    const { store, jobs } = await bench();
    await jobs.enqueue('q', job('a'));
    const held = await jobs.lease('q', 1_000);
    if (held === null) throw new Error('nothing was due');
    await store.close();
    const calls = [
      jobs.enqueue('q', job('b')),
      jobs.lease('q', 1_000),
      jobs.renew(held, 1_000),
      jobs.acknowledge(held),
      jobs.retry(held, 0, 'late'),
      jobs.bury(held, 'late'),
      jobs.giveBack(held),
      jobs.pause('q'),
      jobs.resume('q'),
      jobs.revive('q', '1'),
      jobs.remove('q', '1'),
      jobs.inspect('q', 'due', { limit: 1 }),
      jobs.find('q', '1'),
      jobs.describe('q'),
      jobs.queues(),
    ];
    const codes = await Promise.all(calls.map(refusalOf));
    expect(new Set(codes)).toEqual(new Set(['store_unavailable']));
  });

  it('[JOB-26] leasing does not read jobs that are waiting or delayed', async () => {
    const made = await bench();
    const tables = backDoor(made);
    const nowMs = made.clock.nowMs();
    const many = Array.from({ length: 10_000 }, (_, number) => number);
    await made.jobs.enqueueAll('crowd', [
      job('head', { order: 'x' }),
      ...many.slice(1).map(() => job('', { order: 'x' })),
    ]);
    await made.jobs.enqueueAll(
      'crowd',
      many.map((number) => job('', { dueAtMs: nowMs + 1 + number })),
    );
    await made.jobs.enqueueAll(
      'calm',
      many.slice(0, 50).map(() => job('')),
    );
    const calm = entriesRead(tables, 'calm', nowMs);
    const crowded = entriesRead(tables, 'crowd', nowMs);
    expect(calm).toBeGreaterThan(0);
    // Reading the others as well would be thousands of reads.
    expect(crowded).toBeLessThanOrEqual(calm * 2);
  });

  it('[JOB-27] polling a queue without due jobs writes nothing', async () => {
    const made = await bench();
    const { jobs, clock } = made;
    await jobs.enqueueAll('q', [job('later', { dueAtMs: clock.nowMs() + 1 }), job('now')]);
    await jobs.lease('q', 10);
    await jobs.enqueue('paused', job('due'));
    await jobs.pause('paused');
    const tables = backDoor(made);
    const transactions = () => (tables.root.getStats() as { lastTxnId: number }).lastTxnId;
    const before = transactions();
    for (let count = 0; count < 20; count++) {
      for (const queue of ['q', 'paused', 'unknown']) expect(await jobs.lease(queue, 10)).toBeNull();
      await jobs.describe('q');
    }
    expect(transactions()).toBe(before);
  });
});

/** How many entries are read while one job is leased and acknowledged, the most of 50 times. */
function entriesRead(tables: Tables, queue: string, nowMs: number): number {
  const bounds = { jobsPerQueueMax: 1_000_000, deadPerQueueMax: 10 };
  let read = 0;
  const counted = countReads(tables, () => read++);
  const apply = (call: JobsCall) => applyJobs(counted, { calls: [call], queue, nowMs, bounds })[0];
  const once = () => {
    read = 0;
    const [held] = apply({ do: 'lease', leaseMs: 1_000, jobsMax: 1 }) as readonly [LeasedJob];
    expect(apply({ do: 'done', ids: [held.id], leases: [held.lease] })).toEqual([true]);
    return read;
  };
  return Math.max(...Array.from({ length: 50 }, () => tables.root.transactionSync(once)));
}

/** The same tables, counting every entry that is looked up or read by a range. */
function countReads(tables: Tables, onRead: () => void): Tables {
  function* told(entries: Iterable<unknown>): Iterable<unknown> {
    for (const entry of entries) {
      onRead();
      yield entry;
    }
  }
  const watch = (table: object) =>
    new Proxy(table, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          const result: unknown = member.apply(target, args);
          if (name === 'getRange' || name === 'getKeys') return told(result as Iterable<unknown>);
          if (name === 'get' || name === 'doesExist') onRead();
          return result;
        };
      },
    });
  return Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, watch(table)])) as unknown as Tables;
}

/** What is done to the tables, and the problems that verify must name. Job 1 is the head of an order, job 2 waits for it. */
const DAMAGE: Record<string, { harm: (tables: Tables, first: JobRow) => void; problems: Finding['problem'][] }> = {
  'a job without an index key': {
    harm: (tables, first) => void tables.jobIndex.removeSync(jobKey(1, first)),
    problems: ['missing_from_index'],
  },
  'a job with a second index key': {
    harm: (tables, first) => void tables.jobIndex.putSync(jobKey(1, { ...first, atMs: 7 }), ''),
    problems: ['orphan'],
  },
  'an index key without a job': {
    harm: (tables, first) => void tables.jobIndex.putSync(jobKey(99, first), ''),
    problems: ['orphan'],
  },
  'a job without a payload': {
    harm: (tables) => void tables.payloads.removeSync(keyOf(1)),
    problems: ['unreadable'],
  },
  'a payload without a job': {
    harm: (tables) => void tables.payloads.putSync(keyOf(99), 'text'),
    problems: ['orphan'],
  },
  'an order without a head': {
    harm: (tables) => void tables.jobIndex.removeSync(headKey('q', 'x')),
    problems: ['missing_from_index', 'missing_from_index'],
  },
  'an order whose head is waiting': {
    harm: (tables) => void tables.jobIndex.putSync(headKey('q', 'x'), '2'),
    problems: ['missing_from_index', 'missing_from_index'],
  },
  'a wrong count': {
    harm: (tables) =>
      void tables.queues.putSync(
        keyOf('q'),
        JSON.stringify({ isPaused: false, counts: { ready: 9, waiting: 1, leased: 0, dead: 0 } }),
      ),
    problems: ['wrong_size'],
  },
  'a lost queue': { harm: (tables) => void tables.queues.removeSync(keyOf('q')), problems: ['wrong_size'] },
};

describe('verify', () => {
  it.each(Object.entries(DAMAGE))('[JOB-25] verify names %s', async (_name, { harm, problems }) => {
    const made = await bench();
    await made.jobs.enqueueAll('q', [job('a', { order: 'x' }), job('b', { order: 'x' }), job('c')]);
    expect(await findings(made.store)).toEqual([]);
    const tables = backDoor(made);
    harm(tables, JSON.parse(tables.jobs.get(keyOf(1)) ?? '') as JobRow);
    // Writes by another handle are visible from the next event on.
    await new Promise((resolve) => setImmediate(resolve));
    const found = await findings(made.store);
    expect(found.map(({ problem }) => problem).sort()).toEqual([...problems].sort());
    expect(found.every(({ partition }) => partition === null)).toBe(true);
  });
});
