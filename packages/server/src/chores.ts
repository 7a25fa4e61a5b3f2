import { callFor, type Log, type PartitionKey, type PingResults, type Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { Metrics } from './metrics.ts';

const FLUSH_EVERY_MS = 5_000;
const TIDY_EVERY_MS = 3_600_000;
/** As long as a step of the statistics, so that every step has one measurement; counting takes longer than recording. */
const GAUGE_EVERY_MS = 60_000;
const PARTITIONS_PER_READ = 1_000;
const DAY_MS = 24 * 3_600_000;

export interface ChoresParts {
  readonly tidemark: Tidemark;
  readonly results: PingResults;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly retentionDays: number;
}

export interface Chores {
  /** Ends the rounds and carries what was measured into the store. */
  stop(): Promise<void>;
}

/** What has to be done from time to time, whoever asks for anything: measuring, keeping statistics, forgetting what is old. */
export function startChores({ tidemark, results, log, metrics, retentionDays }: ChoresParts): Chores {
  const told = (chore: string) => (error: unknown) =>
    log.warn('chore_failed', { chore, reason: error instanceof Error ? error.message : String(error) });
  const flush = () => tidemark.stats.flush().catch(told('flush'));
  const tidy = () => tidyUp(tidemark, results, metrics, retentionDays * DAY_MS).catch(told('tidy'));
  const gauge = () => recordGauges(tidemark, Date.now()).catch(told('gauge'));
  const timers = [
    setInterval(flush, FLUSH_EVERY_MS),
    setInterval(tidy, TIDY_EVERY_MS),
    setInterval(gauge, GAUGE_EVERY_MS),
  ];
  void gauge();
  for (const timer of timers) timer.unref();
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await flush();
    },
  };
}

/** How many there are: what is no event can only be looked at from time to time. */
export async function recordGauges(tidemark: Tidemark, nowMs: number): Promise<void> {
  const [users, clients] = await Promise.all([tidemark.users.count(), tidemark.clients.count()]);
  tidemark.stats.record('users', users, nowMs);
  tidemark.stats.record('clients', clients, nowMs);
}

async function tidyUp(tidemark: Tidemark, results: PingResults, metrics: Metrics, retentionMs: number): Promise<void> {
  const nowMs = Date.now();
  await tidemark.tokens.trimExpired(nowMs);
  await tidemark.logins.trim();
  await tidemark.stats.trim(nowMs);
  await tidemark.audit.trim(nowMs);
  await results.trim(nowMs);
  await trimPartitions(tidemark, metrics, retentionMs);
}

/** Forgets the tombstones that no device seen within the retention time still needs. */
export async function trimPartitions(tidemark: Tidemark, metrics: Metrics, retentionMs: number): Promise<void> {
  const startedMs = performance.now();
  let after: PartitionKey | undefined;
  for (;;) {
    const page = { limit: PARTITIONS_PER_READ, ...(after === undefined ? {} : { after }) };
    const partitions = await tidemark.store.partitions(page);
    for (const partition of partitions) metrics.partitionTrimmed(await trimPartition(tidemark, partition, retentionMs));
    after = partitions.at(-1);
    if (after === undefined || partitions.length < PARTITIONS_PER_READ) break;
  }
  metrics.trimRound((performance.now() - startedMs) / 1_000);
}

/** How far the floor was raised. A source or user that has gone since the listing has nothing left to trim. */
async function trimPartition(tidemark: Tidemark, partition: PartitionKey, retentionMs: number): Promise<number> {
  try {
    const before = await tidemark.store.partition(partition);
    const after = await tidemark.trim({ ...callFor(partition), retentionMs });
    return before.epoch === after.epoch ? after.floor - before.floor : 0;
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return 0;
    throw error;
  }
}
