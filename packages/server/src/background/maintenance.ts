import { randomBytes } from 'node:crypto';
import {
  AUDIT_RETENTION_MS,
  callFor,
  type Log,
  type PartitionKey,
  type PingResults,
  ServerLease,
  type Tidemark,
} from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { steadyClock } from '../primitives/clocks.ts';
import { type GaugesParts, recordGauges } from '../telemetry/gauges.ts';
import type { Metrics } from '../telemetry/metrics.ts';

const FLUSH_EVERY_MS = 5_000;
const TIDY_EVERY_MS = 3_600_000;
/** Several times within a step of the statistics, so that every step has its measurement, whoever makes it. */
const GAUGE_EVERY_MS = 20_000;
/** Of all servers one does what one is enough for. When it dies, another one takes over after so long. */
const LEASE_MS = 6_000;
const RENEW_EVERY_MS = 2_000;
const WORD_BYTES = 9;
const PARTITIONS_PER_READ = 1_000;
const DAY_MS = 24 * 3_600_000;

export interface MaintenanceParts extends GaugesParts {
  readonly tidemark: Tidemark;
  readonly results: PingResults;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly retentionDays: number;
}

export interface Maintenance {
  /** Ends the rounds, carries what was measured into the store, and lets another server take over. */
  stop(): Promise<void>;
}

/** What has to be done from time to time, whoever asks for anything: measuring, keeping statistics, forgetting what is old. */
export function startChores(parts: MaintenanceParts): Maintenance {
  const { tidemark, log } = parts;
  const told = (chore: string) => (error: unknown) =>
    log.warn('chore_failed', { chore, reason: error instanceof Error ? error.message : String(error) });
  const lease = choresLease(tidemark);
  const flush = () => tidemark.stats.flush().catch(told('flush'));
  const tidy = () => tidyUp(parts, lease).catch(told('tidy'));
  const gauge = async () => {
    const { fence } = lease;
    if (fence !== null) await recordGauges(parts, fence, Date.now()).catch(told('gauge'));
  };
  const renew = async () => {
    const wasHeld = lease.isHeld;
    await lease.renew().catch(told('lease'));
    if (!wasHeld) await gauge();
  };
  const timers = [
    setInterval(flush, FLUSH_EVERY_MS),
    setInterval(tidy, TIDY_EVERY_MS),
    setInterval(gauge, GAUGE_EVERY_MS),
    setInterval(renew, RENEW_EVERY_MS),
  ];
  void renew();
  for (const timer of timers) timer.unref();
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await Promise.all([flush(), lease.release().catch(told('lease'))]);
    },
  };
}

function choresLease({ store }: Tidemark): ServerLease {
  const word = randomBytes(WORD_BYTES).toString('base64url');
  return new ServerLease({ store, clock: steadyClock }, { name: 'maintenance', word, leaseMs: LEASE_MS });
}

/** Each step may be done twice without harm; the lease only spares the others the work, so it is asked for now and then. */
async function tidyUp(
  { tidemark, results, metrics, retentionDays }: MaintenanceParts,
  lease: ServerLease,
): Promise<void> {
  const nowMs = Date.now();
  const mayGoOn = () => lease.isStillHeld();
  const steps = [
    () => tidemark.tokens.trimExpired(nowMs),
    () => tidemark.logins.trim(),
    () => tidemark.stats.trim(nowMs, mayGoOn),
    () => tidemark.audit.trim(nowMs, AUDIT_RETENTION_MS, mayGoOn),
    () => results.trim(nowMs),
    () => trimPartitions(tidemark, metrics, retentionDays * DAY_MS, mayGoOn),
  ];
  for (const step of steps) if (await mayGoOn()) await step();
}

/** Forgets the tombstones that no device seen within the retention time still needs. */
export async function trimPartitions(
  tidemark: Tidemark,
  metrics: Metrics,
  retentionMs: number,
  mayGoOn: () => Promise<boolean> = async () => true,
): Promise<void> {
  const startedMs = performance.now();
  let after: PartitionKey | undefined;
  for (;;) {
    const page = { limit: PARTITIONS_PER_READ, ...(after === undefined ? {} : { after }) };
    const partitions = await tidemark.store.partitions(page);
    for (const partition of partitions) metrics.partitionTrimmed(await trimPartition(tidemark, partition, retentionMs));
    after = partitions.at(-1);
    if (after === undefined || partitions.length < PARTITIONS_PER_READ || !(await mayGoOn())) break;
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
