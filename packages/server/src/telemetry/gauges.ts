import { type Guard, isAhead, type Jobs, lastSyncMsOf, refs, type Store, type Tidemark } from '@tidemark/core';
import { QUEUES_LOOKED_AT_MAX } from '../limits.ts';
import type { QueueGauges } from './watched-gauges.ts';

export interface GaugesParts {
  readonly tidemark: Pick<Tidemark, 'users' | 'clients' | 'store'>;
  readonly jobs: Pick<Jobs, 'queues' | 'describe'>;
  /** Counts the devices that listen, at all servers. */
  readonly listeners: () => Promise<number>;
}

const STEP_S = 60;
/** All devices are read for it, so they are counted less often. */
const SEEN_STEP_S = 600;
const DEVICES_PER_READ = 1_000;

const HOUR_MS = 3_600_000;
/** The windows by which devices are counted, with the label of each. */
const SEEN_WINDOWS = [
  ['1h', HOUR_MS],
  ['1d', 24 * HOUR_MS],
  ['7d', 7 * 24 * HOUR_MS],
  ['30d', 30 * 24 * HOUR_MS],
] as const;

function seenMetric(window: string): string {
  return `devices_seen:${window}`;
}

/** Reads the gauges of the installation. */
async function readGauges({ tidemark, jobs, listeners }: GaugesParts): Promise<ReadonlyMap<string, number>> {
  const [users, clients, listening, depths, memory] = await Promise.all([
    tidemark.users.count(),
    tidemark.clients.count(),
    listeners(),
    readQueues(jobs),
    tidemark.store.memoryBytes?.() ?? null,
  ]);
  const fixed = new Map([
    ['users', users],
    ['clients', clients],
    ['listeners', listening],
  ]);
  if (memory !== null) fixed.set('valkey_memory_bytes', memory);
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
  return record(store, { lease: 'gauges', fence, atS }, gauges);
}

/** Counts the devices seen within each window, as `recordGauges` does. They are only read if the step is new. */
export async function recordSeen({ store }: Pick<Tidemark, 'store'>, fence: Guard, nowMs: number): Promise<boolean> {
  const atS = Math.floor(nowMs / 1_000 / SEEN_STEP_S) * SEEN_STEP_S;
  if ((await lastStep(store, 'seen', atS)).isTaken) return false;
  return record(store, { lease: 'seen', fence, atS }, await countSeen(store, nowMs));
}

async function countSeen(store: Store, nowMs: number): Promise<ReadonlyMap<string, number>> {
  const counts: number[] = SEEN_WINDOWS.map(() => 0);
  let after: readonly string[] | undefined;
  for (;;) {
    const from = after === undefined ? {} : { after };
    const page = await store.listEntries({ kind: 'client', prefix: [], limit: DEVICES_PER_READ, ...from });
    for (const { value } of page) countDevice(counts, lastSyncMsOf(value), nowMs);
    after = page.at(-1)?.key;
    if (page.length < DEVICES_PER_READ) break;
  }
  return new Map(SEEN_WINDOWS.map(([window], index) => [seenMetric(window), counts[index] ?? 0]));
}

/** A device counts in every window within which it was seen. */
function countDevice(counts: number[], seenMs: number | null, nowMs: number): void {
  for (const [index, [, windowMs]] of SEEN_WINDOWS.entries()) {
    if (seenMs !== null && nowMs - seenMs < windowMs) counts[index] = (counts[index] ?? 0) + 1;
  }
}

interface Step {
  /** The name of the entry that says which step was recorded last. */
  readonly lease: string;
  readonly fence: Guard;
  readonly atS: number;
}

async function record(store: Store, step: Step, gauges: ReadonlyMap<string, number>): Promise<boolean> {
  const { atS } = step;
  if (!(await claimStep(store, step))) return false;
  await store.addStats(
    [...gauges].map(([metric, value]) => ({ metric, atS, count: 1, sum: value, min: value, max: value })),
  );
  return true;
}

/** A server that dies between the claim and the measurement leaves a gap, which is better than a wrong number. */
async function claimStep(store: Store, { lease, fence, atS }: Step): Promise<boolean> {
  const { isTaken, version } = await lastStep(store, lease, atS);
  if (isTaken) return false;
  const write = { ...refs.lease(lease), value: String(atS), expect: version };
  return (await store.writeEntries({ writes: [write], guards: [fence] })).status === 'written';
}

async function lastStep(store: Store, lease: string, atS: number) {
  const entry = await store.readEntry(refs.lease(lease));
  const lastS = entry === null ? null : Number(entry.value);
  // A claim from the future was made by a clock that has been set back since, and is ignored.
  const isTaken = lastS !== null && lastS >= atS && !isAhead(lastS * 1_000, atS * 1_000);
  return { isTaken, version: entry?.version ?? 0 };
}

/** Returns the last value recorded by any server; null if there is none. */
export async function lastGauge(store: Store, metric: string): Promise<number | null> {
  const [row] = await store.readStats(metric, 'newest', 1);
  return row === undefined ? null : row.sum / row.count;
}

/** Returns the devices last counted within each window. Windows that were not counted yet are left out. */
export async function readSeen(store: Store): Promise<readonly (readonly [string, number])[]> {
  const counts = await Promise.all(
    SEEN_WINDOWS.map(async ([window]) => [window, await lastGauge(store, seenMetric(window))] as const),
  );
  return counts.flatMap(([window, count]) => (count === null ? [] : [[window, count] as const]));
}
