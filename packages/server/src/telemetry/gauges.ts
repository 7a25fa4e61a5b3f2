import { type Guard, isAhead, type Jobs, refs, type Store, type Tidemark } from '@tidemark/core';
import { QUEUES_LOOKED_AT_MAX } from '../limits.ts';
import type { QueueGauges } from './metrics.ts';

export interface GaugesParts {
  readonly tidemark: Pick<Tidemark, 'users' | 'clients' | 'store'>;
  readonly jobs: Pick<Jobs, 'queues' | 'describe'>;
  /** Counts the devices that listen, at all servers. */
  readonly listeners: () => Promise<number>;
}

const STEP_S = 60;

/** Reads the gauges of the installation. */
async function readGauges({ tidemark, jobs, listeners }: GaugesParts): Promise<ReadonlyMap<string, number>> {
  const [users, clients, listening, depths] = await Promise.all([
    tidemark.users.count(),
    tidemark.clients.count(),
    listeners(),
    readQueues(jobs),
  ]);
  const fixed = new Map([
    ['users', users],
    ['clients', clients],
    ['listeners', listening],
  ]);
  for (const { queue, depth } of depths) fixed.set(`queues:${queue}:depth`, depth);
  return fixed;
}

/** Returns the number of unfinished and dead jobs of each queue, and how long the oldest one has been due. */
export async function readQueues(jobs: GaugesParts['jobs']): Promise<readonly QueueGauges[]> {
  const queues = (await jobs.queues()).slice(0, QUEUES_LOOKED_AT_MAX);
  const views = await Promise.all(queues.map((queue) => jobs.describe(queue)));
  return views.map(({ queue, counts: { due, delayed, waiting, leased, dead }, lagMs }) => ({
    queue,
    depth: due + delayed + waiting + leased,
    lagS: lagMs / 1_000,
    dead,
  }));
}

/** Records the gauges once per step for all servers, if this server still is the leader. Returns true if it did. */
export async function recordGauges(parts: GaugesParts, fence: Guard, nowMs: number): Promise<boolean> {
  const { store } = parts.tidemark;
  const atS = Math.floor(nowMs / 1_000 / STEP_S) * STEP_S;
  const gauges = await readGauges(parts);
  if (!(await claimStep(store, fence, atS))) return false;
  await store.addStats(
    [...gauges].map(([metric, value]) => ({ metric, atS, count: 1, sum: value, min: value, max: value })),
  );
  return true;
}

/** A server that dies between the claim and the measurement leaves a gap, which is better than a wrong number. */
async function claimStep(store: Store, fence: Guard, atS: number): Promise<boolean> {
  const ref = refs.lease('gauges');
  const entry = await store.readEntry(ref);
  const lastS = entry === null ? null : Number(entry.value);
  // A claim from the future was made by a clock that has been set back since, and is ignored.
  if (lastS !== null && lastS >= atS && !isAhead(lastS * 1_000, atS * 1_000)) return false;
  const write = { ...ref, value: String(atS), expect: entry?.version ?? 0 };
  return (await store.writeEntries({ writes: [write], guards: [fence] })).status === 'written';
}

/** Returns the last value recorded by any server; null if there is none. */
export async function lastGauge(store: Store, metric: string): Promise<number | null> {
  const [row] = await store.readStats(metric, 'newest', 1);
  return row === undefined ? null : row.sum / row.count;
}
