import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';
import { EVENT_LOOP_SAMPLE_MS } from '../limits.ts';
import { SecondsHistogram, type SecondsTally } from './seconds-histogram.ts';

/** The metrics of one process. */
export type MetricValues = readonly MetricObjectWithValues<MetricValue<string>>[];

/** The metrics of the server at `/metrics`. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requestSeconds = new SecondsHistogram(this.#registry, {
    name: 'tidemark_http_request_seconds',
    help: 'Time from the first byte of a request to the last of its answer',
  });
  readonly #trimSeconds = new Histogram({
    name: 'tidemark_trim_seconds',
    help: 'Time of one round of trimming tombstones, over all partitions',
    buckets: [0.01, 0.1, 1, 10, 60, 600],
    registers: [this.#registry],
  });
  readonly #trimmedPartitions = this.#counter(
    'tidemark_trim_partitions_total',
    'Partitions checked for tombstones that no device needs any more',
  );
  readonly #trimmedSeqs = this.#counter(
    'tidemark_trim_seqs_total',
    'Sequence numbers by which the floors of partitions were raised; tombstones up to there are deleted',
  );

  readonly #auditMissing = this.#counter(
    'tidemark_audit_missing_total',
    'Entries that could not be written to the audit trail; each is logged as audit_not_written',
  );

  constructor() {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Returns the metrics as data, to be aggregated with those of other workers. */
  measured(): Promise<MetricValues> {
    return this.#registry.getMetricsAsJSON();
  }

  /** Returns the tally for requests with these labels; callers keep it. */
  requestTally(labels: { readonly method: string; readonly route: string; readonly status: string }): SecondsTally {
    return this.#requestSeconds.tallyOf(labels);
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

  /** Adds a gauge for the number of listening devices, read at each scrape. */
  watchListeners(count: () => number): void {
    this.#watch('tidemark_event_streams', 'Devices that listen for events at this server', count);
  }

  /** Adds gauges for requests and bodies under way; both are 0 when nobody calls. */
  watchRequests(open: () => number, bodyBytes: () => number): void {
    this.#watch('tidemark_http_requests_open', 'Requests that are being processed or answered', open);
    this.#watch('tidemark_http_body_bytes', 'Bytes of large bodies in flight', bodyBytes);
  }

  /**
   * Adds a gauge that is the same at all servers: several workers show it once. It is absent until it has been
   * measured.
   */
  watchInstallation(name: string, help: string, read: () => Promise<number | null>): void {
    new Gauge({
      name,
      help,
      aggregator: 'first',
      registers: [this.#registry],
      async collect() {
        const value = await read().catch(() => null);
        if (value === null) this.reset();
        else this.set(value);
      },
    });
  }

  /** Adds a gauge for the depth of each queue. */
  watchQueues(read: () => Promise<ReadonlyMap<string, number>>): void {
    new Gauge({
      name: 'tidemark_queue_jobs',
      help: 'Unfinished jobs of the installation, by queue',
      labelNames: ['queue'],
      aggregator: 'first',
      registers: [this.#registry],
      async collect() {
        const depths = await read().catch(() => new Map<string, number>());
        this.reset();
        for (const [queue, depth] of depths) this.set({ queue }, depth);
      },
    });
  }

  #watch(name: string, help: string, read: () => number): void {
    const collect = function (this: Gauge) {
      this.set(read());
    };
    new Gauge({ name, help, registers: [this.#registry], collect });
  }

  #counter(name: string, help: string): Counter {
    return new Counter({ name, help, registers: [this.#registry] });
  }
}
