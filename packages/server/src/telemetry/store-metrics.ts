import type { CollectReport } from '@tidemark/core';
import type { Counter, Histogram } from 'prom-client';
import type { MetricRegistry } from './metric-registry.ts';

/** How long writes take, and what the work in the background deletes. */
export class StoreMetrics {
  readonly #writeSeconds: Histogram;
  readonly #flushSeconds: Histogram;
  readonly #auditMissing: Counter;
  readonly #trimSeconds: Histogram;
  readonly #trimmedPartitions: Counter;
  readonly #trimmedSeqs: Counter;
  readonly #files: FileMetrics;

  constructor(registry: MetricRegistry) {
    this.#trimSeconds = registry.histogram({
      name: 'tidemark_trim_seconds',
      help: 'Time of one round of trimming tombstones, over all partitions',
      buckets: [0.01, 0.1, 1, 10, 60, 600],
    });
    this.#trimmedPartitions = registry.counter(
      'tidemark_trim_partitions_total',
      'Partitions checked for tombstones that no device needs any more',
    );
    this.#trimmedSeqs = registry.counter(
      'tidemark_trim_seqs_total',
      'Sequence numbers by which the floors of partitions were raised; tombstones up to there are deleted',
    );
    this.#files = fileMetrics(registry);
    this.#auditMissing = registry.counter(
      'tidemark_audit_missing_total',
      'Entries that could not be written to the audit trail; each is logged as audit_not_written',
    );
    this.#writeSeconds = registry.histogram({
      name: 'tidemark_write_seconds',
      help: 'Time until a push, document or refresh is written durably, including reads and repetitions',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    });
    this.#flushSeconds = registry.histogram({
      name: 'tidemark_store_flush_seconds',
      help: 'Time in which the disk of the embedded store makes a group of writes durable',
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    });
  }

  written(seconds: number): void {
    this.#writeSeconds.observe(seconds);
  }

  flushed(seconds: number): void {
    this.#flushSeconds.observe(seconds);
  }

  auditMissing(): void {
    this.#auditMissing.inc();
  }

  partitionTrimmed(seqs: number): void {
    this.#trimmedPartitions.inc();
    this.#trimmedSeqs.inc(seqs);
  }

  trimRound(seconds: number): void {
    this.#trimSeconds.observe(seconds);
  }

  filesCollected(report: Pick<CollectReport, 'filesRemoved' | 'bytesRemoved' | 'uploadsDropped'>): void {
    this.#files.removed.inc(report.filesRemoved);
    this.#files.bytesRemoved.inc(report.bytesRemoved);
    this.#files.uploadsDropped.inc(report.uploadsDropped);
  }

  fileNotCollected(): void {
    this.#files.notCollected.inc();
  }
}

type FileMetrics = ReturnType<typeof fileMetrics>;

function fileMetrics(registry: MetricRegistry) {
  return {
    removed: registry.counter(
      'tidemark_files_removed_total',
      'Files that were removed because nothing referred to them any more',
    ),
    bytesRemoved: registry.counter('tidemark_files_removed_bytes_total', 'Bytes of these files'),
    uploadsDropped: registry.counter(
      'tidemark_files_uploads_expired_total',
      'Unfinished uploads of files that were dropped because no bytes came any more',
    ),
    notCollected: registry.counter(
      'tidemark_files_collect_failures_total',
      'Files and uploads that the collector could not remove, because the folder or bucket failed',
    ),
  };
}
