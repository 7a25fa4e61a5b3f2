import type { CollectReport } from '@tidemark/core';
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
import { type RequestCount, RequestCounter } from './request-counter.ts';
import { SecondsHistogram, type SecondsTally } from './seconds-histogram.ts';
import { SourceCounter, SourceLabels } from './source-counter.ts';

/** The metrics of one process. */
export type MetricValues = readonly MetricObjectWithValues<MetricValue<string>>[];

/** A page that a device was sent. */
interface SentPage {
  readonly entries: number;
  readonly bytes: number;
  readonly reason: string | null;
}

interface LabelledGauge {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** How the values of several workers become one. */
  readonly aggregator: 'first' | 'max';
}

export interface QueueGauges {
  readonly queue: string;
  readonly depth: number;
  readonly lagS: number;
  readonly dead: number;
}

export interface ConnectorGauges {
  readonly name: string;
  readonly lagS: number;
  readonly connected: number;
  readonly faults: number;
  readonly slotInDanger: number;
  /** Null: not known, as the other numbers below. */
  readonly slotState: number | null;
  readonly positionBytes: number | null;
  readonly retainedBytes: number | null;
  readonly safeBytes: number | null;
  readonly rowsPerS: number;
  readonly refusedRows: number;
}

export interface FileGauges {
  readonly files: number;
  readonly bytes: number;
  readonly missing: number;
  /** How long the one that is missing longest is missing. */
  readonly oldestMissingS: number;
}

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

  readonly #filesRemoved = this.#counter(
    'tidemark_files_removed_total',
    'Files that were removed because nothing referred to them any more',
  );
  readonly #fileBytesRemoved = this.#counter('tidemark_files_removed_bytes_total', 'Bytes of these files');
  readonly #fileUploadsDropped = this.#counter(
    'tidemark_files_uploads_expired_total',
    'Unfinished uploads of files that were dropped because no bytes came any more',
  );

  readonly #filesNotCollected = this.#counter(
    'tidemark_files_collect_failures_total',
    'Files and uploads that the collector could not remove, because the folder or bucket failed',
  );

  readonly #auditMissing = this.#counter(
    'tidemark_audit_missing_total',
    'Entries that could not be written to the audit trail; each is logged as audit_not_written',
  );

  readonly #labels = new SourceLabels();
  readonly #pages = this.#bySource(
    'pull_pages',
    'Pages sent to devices, by kind: no_news, changes, or start_over_ and why',
    'kind',
  );
  readonly #objectsDelivered = this.#bySource('delivered_objects', 'Objects and deletions sent to devices in pages');
  readonly #bytesDelivered = this.#bySource('delivered_bytes', 'Approximate bytes of these pages before compression');
  readonly #pushes = this.#bySource('pushes', 'Successful writes by backends, by operation', 'operation');
  readonly #objectsPushed = this.#bySource('pushed_objects', 'Objects that these writes changed');
  readonly #uploads = this.#bySource(
    'uploads',
    'Uploads of devices by outcome; one that is queued gets a second outcome later',
    'status',
  );
  readonly #refreshes = this.#bySource(
    'refreshes',
    'Refreshes from the backend, by result: ok, or the code of the failure',
    'result',
  );
  readonly #refreshSeconds = new Histogram({
    name: 'tidemark_refresh_seconds',
    help: 'Time of a refresh from the backend',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [this.#registry],
  });
  readonly #deliverySeconds = new Histogram({
    name: 'tidemark_delivery_seconds',
    help: 'Time from a commit until a device that was active has acknowledged it',
    labelNames: ['source'],
    buckets: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3_600],
    registers: [this.#registry],
  });
  readonly #writeSeconds = new Histogram({
    name: 'tidemark_write_seconds',
    help: 'Time until a push, document or refresh is written durably, including reads and repetitions',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers: [this.#registry],
  });
  readonly #flushSeconds = new Histogram({
    name: 'tidemark_store_flush_seconds',
    help: 'Time in which the disk of the embedded store makes a group of writes durable',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers: [this.#registry],
  });
  readonly #backendSeconds = new Histogram({
    name: 'tidemark_backend_call_seconds',
    help: 'Time of calls to the backend, by call and outcome; those held back took none',
    labelNames: ['call', 'outcome'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [this.#registry],
  });
  readonly #misfits = this.#bySource(
    'schema_misfits',
    'Objects written that do not fit the schema, which only reports',
  );
  readonly #mismatches = this.#bySource('checksum_mismatches', 'Devices whose objects did not match the checksum');
  readonly #requests = new RequestCounter(this.#registry);
  readonly #pingAttempts = new Counter({
    name: 'tidemark_ping_attempts_total',
    help: 'Attempts to deliver a ping to a device, by push service and result',
    labelNames: ['service', 'result'],
    registers: [this.#registry],
  });
  #isProcessMeasured = false;

  constructor(version = '') {
    new Gauge({
      name: 'tidemark_build_info',
      help: 'Always 1; the labels say which version runs',
      labelNames: ['version', 'node'],
      aggregator: 'first',
      registers: [this.#registry],
    }).set({ version, node: process.version }, 1);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    this.#measureProcess();
    return this.#registry.metrics();
  }

  /** Returns the metrics as data, to be aggregated with those of other workers. */
  measured(): Promise<MetricValues> {
    this.#measureProcess();
    return this.#registry.getMetricsAsJSON();
  }

  /** From the first scrape on: to measure the event loop wakes the process twenty times a second. */
  #measureProcess(): void {
    if (this.#isProcessMeasured) return;
    this.#isProcessMeasured = true;
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS });
  }

  /** Returns the tally for requests with these labels; callers keep it. */
  requestTally(labels: { readonly method: string; readonly route: string; readonly status: string }): SecondsTally {
    return this.#requestSeconds.tallyOf(labels);
  }

  /** Returns the counter of requests with these labels; callers keep it. */
  requestCount(labels: { readonly method: string; readonly route: string; readonly status: string }): RequestCount {
    return this.#requests.countOf(labels);
  }

  /** Counts a page that a device was sent. `reason` says why the device starts over; null: it does not. */
  pageSent(source: string, { entries, bytes, reason }: SentPage): void {
    this.#pages.add(source, 1, reason !== null ? `start_over_${reason}` : entries === 0 ? 'no_news' : 'changes');
    if (entries === 0) return;
    this.#objectsDelivered.add(source, entries);
    this.#bytesDelivered.add(source, bytes);
  }

  pushed(source: string, operation: string, objects: number): void {
    this.#pushes.add(source, 1, operation);
    this.#objectsPushed.add(source, objects);
  }

  uploaded(source: string, status: string): void {
    this.#uploads.add(source, 1, status);
  }

  refreshed(source: string, code: string | null, seconds: number): void {
    this.#refreshes.add(source, 1, code ?? 'ok');
    this.#refreshSeconds.observe(seconds);
  }

  /** Counts changes that a device has acknowledged, by the age of the oldest of them. */
  delivered(source: string, seconds: number): void {
    this.#deliverySeconds.observe({ source: this.#labels.of(source) }, seconds);
  }

  written(seconds: number): void {
    this.#writeSeconds.observe(seconds);
  }

  flushed(seconds: number): void {
    this.#flushSeconds.observe(seconds);
  }

  backendCalled(call: string, outcome: string, seconds: number): void {
    this.#backendSeconds.observe({ call, outcome }, seconds);
  }

  /** Counts a device that starts over because its objects did not match the checksum of the source. */
  mismatched(source: string): void {
    this.#mismatches.add(source, 1);
  }

  /** Counts objects that were written although they do not fit the schema of their source. */
  misfitsWritten(source: string, objects: number): void {
    this.#misfits.add(source, objects);
  }

  pingAttempted(service: string | null, result: string): void {
    this.#pingAttempts.inc({ service: service ?? 'none', result });
  }

  auditMissing(): void {
    this.#auditMissing.inc();
  }

  partitionTrimmed(seqs: number): void {
    this.#trimmedPartitions.inc();
    this.#trimmedSeqs.inc(seqs);
  }

  filesCollected(report: Pick<CollectReport, 'filesRemoved' | 'bytesRemoved' | 'uploadsDropped'>): void {
    this.#filesRemoved.inc(report.filesRemoved);
    this.#fileBytesRemoved.inc(report.bytesRemoved);
    this.#fileUploadsDropped.inc(report.uploadsDropped);
  }

  fileNotCollected(): void {
    this.#filesNotCollected.inc();
  }

  trimRound(seconds: number): void {
    this.#trimSeconds.observe(seconds);
  }

  /** Adds a gauge for the number of listening devices, read at each scrape. */
  watchListeners(count: () => number): void {
    this.#watch('tidemark_event_streams', 'Devices that listen for events at this server', count);
  }

  /** Adds a gauge for the open streams of live activity. */
  watchActivityStreams(count: () => number): void {
    this.#watch('tidemark_activity_streams', 'Open streams of live activity at this server', count);
  }

  /** Adds gauges for the devices of the installation that were seen within each window. */
  watchSeen(read: () => Promise<readonly (readonly [string, number])[]>): void {
    const help = 'Devices of the installation by how long ago they synchronised at most; counted every ten minutes';
    this.#watchLabelled({ name: 'tidemark_devices_seen', help, label: 'within', aggregator: 'first' }, read);
  }

  /** Adds a gauge for the age of the oldest change that an active device misses, by source, in seconds. */
  watchStaleness(read: () => ReadonlyMap<string, number>): void {
    const help = 'Age of the oldest change that a device seen here lately has not acknowledged';
    const gauge = { name: 'tidemark_staleness_seconds', help, label: 'source', aggregator: 'max' } as const;
    this.#watchLabelled(gauge, async () => {
      const labelled = new Map<string, number>();
      for (const [source, seconds] of read()) {
        const label = this.#labels.of(source);
        labelled.set(label, Math.max(seconds, labelled.get(label) ?? 0));
      }
      return [...labelled];
    });
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

  /** Adds gauges for the depth, the oldest due job and the dead jobs of each queue. */
  watchQueues(read: () => Promise<readonly QueueGauges[]>): void {
    const watch = (name: string, help: string, gaugeOf: (queue: QueueGauges) => number) =>
      this.#watchLabelled({ name, help, label: 'queue', aggregator: 'first' }, async () =>
        (await read()).map((one) => [one.queue, gaugeOf(one)]),
      );
    watch('tidemark_queue_jobs', 'Unfinished jobs of the installation, by queue', ({ depth }) => depth);
    watch('tidemark_queue_lag_seconds', 'How long the oldest due job of the queue has been due', ({ lagS }) => lagS);
    watch('tidemark_queue_dead_jobs', 'Jobs of the queue that have been given up', ({ dead }) => dead);
  }

  /** Adds gauges for the files of the installation. */
  watchFiles(read: () => Promise<FileGauges>): void {
    const watch = (name: string, help: string, gaugeOf: (gauges: FileGauges) => number) =>
      this.watchInstallation(`tidemark_files_${name}`, help, async () => gaugeOf(await read()));
    watch('stored', 'Files of the installation that are stored', ({ files }) => files);
    watch('stored_bytes', 'Bytes of these files', ({ bytes }) => bytes);
    watch('missing', 'Files that objects refer to and that have not arrived', ({ missing }) => missing);
    const help = 'How long the file that is missing longest has not arrived; 0: none is missing';
    watch('oldest_missing_seconds', help, ({ oldestMissingS }) => oldestMissingS);
  }

  /** Adds gauges for the connectors of the installation, from what they reported last. */
  watchConnectors(read: () => Promise<readonly ConnectorGauges[]>): void {
    const watch = (name: string, help: string, gaugeOf: (connector: ConnectorGauges) => number | null) =>
      this.#watchLabelled(
        { name: `tidemark_connector_${name}`, help, label: 'connector', aggregator: 'first' },
        async () => (await read()).flatMap((one) => valuesOf(one.name, gaugeOf(one))),
      );
    const lag = 'How far the connector is behind its database; a report that does not come counts as lag';
    watch('lag_seconds', lag, ({ lagS }) => lagS);
    watch('connected', '1 while the connector is connected to its database, 0 otherwise', (one) => one.connected);
    watch('faults', 'Faults of the connector, as /readyz names them', ({ faults }) => faults);
    watch('slot_in_danger', '1 if the replication slot is lost or soon will be', (one) => one.slotInDanger);
    const states = 'State of the log that the slot needs: 0 reserved, 1 extended, 2 unreserved, 3 lost';
    watch('slot_state', states, ({ slotState }) => slotState);
    const position = 'Position in the log of the database up to which everything is stored, as a number of bytes';
    watch('position_bytes', position, ({ positionBytes }) => positionBytes);
    watch('wal_retained_bytes', 'Log that the database keeps for the connector', (one) => one.retainedBytes);
    watch(
      'wal_safe_bytes',
      'Log that can be written before the slot is in danger; absent: any',
      (one) => one.safeBytes,
    );
    watch('rows_per_second', 'Rows that the connector applied in a second, lately', ({ rowsPerS }) => rowsPerS);
    watch('refused_rows', 'Rows that cannot be stored', ({ refusedRows }) => refusedRows);
  }

  /** Adds a gauge for the circuit breakers of this server: 0 closed, 1 trying, 2 open. */
  watchBreakers(read: () => Promise<ReadonlyMap<string, number>>): void {
    const help = 'Circuit breaker of calls to the backend at this server: 0 closed, 1 trying, 2 open';
    const name = 'tidemark_backend_breaker_state';
    this.#watchLabelled({ name, help, label: 'call', aggregator: 'max' }, async () => [...(await read())]);
  }

  /** Adds a gauge whose values are read at each scrape; it is absent if that fails. */
  #watchLabelled(
    { name, help, label, aggregator }: LabelledGauge,
    read: () => Promise<readonly (readonly [string, number])[]>,
  ): void {
    new Gauge({
      name,
      help,
      labelNames: [label],
      aggregator,
      registers: [this.#registry],
      async collect() {
        const values = await read().catch(() => []);
        this.reset();
        for (const [value, count] of values) this.set({ [label]: value }, count);
      },
    });
  }

  #bySource(name: string, help: string, by?: string): SourceCounter {
    const options = { name: `tidemark_${name}_total`, help, ...(by === undefined ? {} : { by }) };
    return new SourceCounter(this.#registry, this.#labels, options);
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

function valuesOf(label: string, value: number | null): readonly (readonly [string, number])[] {
  return value === null ? [] : [[label, value]];
}
