import { randomBytes } from 'node:crypto';
import {
  AUDIT_RETENTION_MS,
  type CollectPosition,
  type FileBytes,
  type Log,
  type PartitionKey,
  type PingResults,
  ServerLease,
  type Tidemark,
} from '@tidemark/core';
import { errorMessage, Refusal } from '@tidemark/protocol';
import { steadyClock } from '../primitives/system-ports.ts';
import { type GaugesParts, recordGauges, recordSeen } from '../telemetry/gauges.ts';
import type { Metrics } from '../telemetry/metrics.ts';

const FLUSH_EVERY_MS = 5_000;
/** How often objects of an older version of their schema are looked for. */
const CONVERT_EVERY_MS = 5_000;
const TRIM_EVERY_MS = 3_600_000;
/** How often files that nothing refers to are looked for. */
const COLLECT_EVERY_MS = 1_800_000;
/** Files looked at before the lease is checked again. */
const FILES_PER_PORTION = 200;
/** More often than the rest, because its size is bounded, too. */
const TRIM_HISTORY_EVERY_MS = 300_000;
/** Several times within one step of the statistics, so that every step has a measurement also when the leader changes. */
const GAUGE_EVERY_MS = 20_000;
/** One server, the leader, trims and measures for all. When it dies, another one takes over after this time. */
const LEASE_MS = 6_000;
const RENEW_EVERY_MS = 2_000;
const LEASE_ID_BYTES = 9;
const PARTITIONS_PER_READ = 1_000;
const DAY_MS = 24 * 3_600_000;

export interface MaintenanceParts extends GaugesParts {
  readonly tidemark: Tidemark;
  readonly results: PingResults;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly retentionDays: number;
  /** Where the bytes of files are. */
  readonly fileBytes: FileBytes;
  /** Null: the activity is not kept. */
  readonly history?: { trim(nowMs: number, mayGoOn: () => Promise<boolean>): Promise<void> } | null;
}

/** Runs recurring tasks: it flushes statistics, records gauges and deletes what has expired. */
export class Maintenance {
  readonly #parts: MaintenanceParts;
  readonly #lease: ServerLease;
  #timers: readonly NodeJS.Timeout[] = [];
  #isStopped = false;
  #isCollecting = false;
  #isConverting = false;

  constructor(parts: MaintenanceParts) {
    const serverId = randomBytes(LEASE_ID_BYTES).toString('base64url');
    const { store } = parts.tidemark;
    this.#parts = parts;
    this.#lease = new ServerLease({ store, clock: steadyClock }, { name: 'maintenance', serverId, leaseMs: LEASE_MS });
  }

  start(): void {
    this.#timers = [
      setInterval(() => this.#flush(), FLUSH_EVERY_MS),
      setInterval(() => this.#convert(), CONVERT_EVERY_MS),
      setInterval(() => this.#trim(), TRIM_EVERY_MS),
      setInterval(() => this.#collectFiles(), COLLECT_EVERY_MS),
      setInterval(() => this.#trimHistory(), TRIM_HISTORY_EVERY_MS),
      setInterval(() => this.#recordGauges(), GAUGE_EVERY_MS),
      setInterval(() => this.#renewLease(), RENEW_EVERY_MS),
    ];
    for (const timer of this.#timers) timer.unref();
    void this.#renewLease();
  }

  /** Stops the tasks, flushes the statistics and releases the lease, so that another server takes over at once. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([this.#flush(), this.#attempt('lease', () => this.#lease.release())]);
    this.#isStopped = true;
  }

  #flush(): Promise<void> {
    return this.#attempt('flush', () => this.#parts.tidemark.stats.flush());
  }

  #trim(): Promise<void> {
    return this.#attempt('trim', () => trimExpired(this.#parts, this.#lease));
  }

  async #trimHistory(): Promise<void> {
    const mayGoOn = () => this.#lease.isStillHeld();
    if (!this.#lease.isHeld) return;
    await this.#attempt('activity', async () => this.#parts.history?.trim(Date.now(), mayGoOn));
  }

  /** A round may take longer than the time between two of them. */
  async #collectFiles(): Promise<void> {
    if (this.#isCollecting || !this.#lease.isHeld) return;
    this.#isCollecting = true;
    const mayGoOn = async () => !this.#isStopped && (await this.#lease.isStillHeld());
    await this.#attempt('collect_files', () => collectFiles(this.#parts, mayGoOn));
    this.#isCollecting = false;
  }

  /** A source with many objects takes longer than the time between two rounds. */
  async #convert(): Promise<void> {
    if (this.#isConverting || !this.#lease.isHeld) return;
    this.#isConverting = true;
    const mayGoOn = async () => !this.#isStopped && (await this.#lease.isStillHeld());
    await this.#attempt('convert', () => this.#parts.tidemark.conversions.run(mayGoOn));
    this.#isConverting = false;
  }

  async #recordGauges(): Promise<void> {
    const { fence } = this.#lease;
    if (fence === null) return;
    await this.#attempt('gauge', () => recordGauges(this.#parts, fence, Date.now()));
    await this.#attempt('devices_seen', () => recordSeen(this.#parts.tidemark, fence, Date.now()));
  }

  async #renewLease(): Promise<void> {
    const wasHeld = this.#lease.isHeld;
    await this.#attempt('lease', () => this.#lease.renew());
    if (wasHeld) return;
    await this.#recordGauges();
    // A file that the last leader was removing when it died is out of the way until somebody finishes that.
    await this.#collectFiles();
  }

  async #attempt(task: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // A task that began before the stop finds the store closed; the next server does its work.
      if (!this.#isStopped) this.#parts.log.warn('maintenance_failed', { task, reason: errorMessage(error) });
    }
  }
}

/** Every step may run twice without harm: the lease only saves the other servers the work, so it is checked rarely. */
async function trimExpired(
  { tidemark, results, metrics, retentionDays }: MaintenanceParts,
  lease: ServerLease,
): Promise<void> {
  const nowMs = Date.now();
  const mayGoOn = () => lease.isStillHeld();
  const steps = [
    () => tidemark.tokens.trimExpired(nowMs),
    () => tidemark.logins.trim(),
    () => tidemark.invites.trim(),
    () => tidemark.stats.trim(nowMs, mayGoOn),
    () => tidemark.audit.trim(nowMs, AUDIT_RETENTION_MS, mayGoOn),
    () => results.trim(nowMs),
    () => trimPartitions(tidemark, metrics, retentionDays * DAY_MS, mayGoOn),
  ];
  for (const step of steps) if (await mayGoOn()) await step();
}

/** Runs one round of the collector of files. */
export async function collectFiles(
  { tidemark, metrics, fileBytes, log }: Pick<MaintenanceParts, 'tidemark' | 'metrics' | 'fileBytes' | 'log'>,
  mayGoOn: () => Promise<boolean> = async () => true,
): Promise<void> {
  let position: CollectPosition | undefined;
  const onFailed = (what: string, error: unknown) => {
    metrics.store.fileNotCollected();
    log.warn('file_not_collected', { what, reason: errorMessage(error) });
  };
  do {
    const report = await tidemark.files.collect(fileBytes, { position, itemsMax: FILES_PER_PORTION, onFailed });
    metrics.store.filesCollected(report);
    if (report.next === null) return;
    position = report.next;
  } while (await mayGoOn());
}

/** Deletes the tombstones that no device seen within the retention time still needs. */
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
    for (const partition of partitions)
      metrics.store.partitionTrimmed(await trimPartition(tidemark, partition, retentionMs));
    after = partitions.at(-1);
    if (after === undefined || partitions.length < PARTITIONS_PER_READ || !(await mayGoOn())) break;
  }
  metrics.store.trimRound((performance.now() - startedMs) / 1_000);
}

/** Returns by how much the floor was raised. A source or user deleted since the listing has nothing left to trim. */
async function trimPartition(tidemark: Tidemark, partition: PartitionKey, retentionMs: number): Promise<number> {
  try {
    const before = await tidemark.store.partition(partition);
    const after = await tidemark.objects.trim({ partition, retentionMs });
    return before.epoch === after.epoch ? after.floor - before.floor : 0;
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return 0;
    throw error;
  }
}
