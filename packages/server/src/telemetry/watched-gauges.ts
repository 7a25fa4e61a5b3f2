import type { MetricRegistry } from './metric-registry.ts';

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

/** Gauges whose values are read at each scrape. */
export class WatchedGauges {
  readonly #registry: MetricRegistry;

  constructor(registry: MetricRegistry) {
    this.#registry = registry;
  }

  /** Adds a gauge for the number of listening devices, read at each scrape. */
  listeners(count: () => number): void {
    this.#registry.gauge('tidemark_event_streams', 'Devices that listen for events at this server', count);
  }

  /** Adds a gauge for the open streams of live activity. */
  activityStreams(count: () => number): void {
    this.#registry.gauge('tidemark_activity_streams', 'Open streams of live activity at this server', count);
  }

  /** Adds gauges for the devices of the installation that were seen within each window. */
  seen(read: () => Promise<readonly (readonly [string, number])[]>): void {
    const help = 'Devices of the installation by how long ago they synchronised at most; counted every ten minutes';
    this.#registry.labelledGauge({ name: 'tidemark_devices_seen', help, label: 'within', aggregator: 'first' }, read);
  }

  /** Adds a gauge for the age of the oldest change that an active device misses, by source, in seconds. */
  staleness(read: () => ReadonlyMap<string, number>): void {
    const help = 'Age of the oldest change that a device seen here lately has not acknowledged';
    const gauge = { name: 'tidemark_staleness_seconds', help, label: 'source', aggregator: 'max' } as const;
    this.#registry.labelledGauge(gauge, async () => {
      const labelled = new Map<string, number>();
      for (const [source, seconds] of read()) {
        const label = this.#registry.sources.of(source);
        labelled.set(label, Math.max(seconds, labelled.get(label) ?? 0));
      }
      return [...labelled];
    });
  }

  /** Adds gauges for requests and bodies under way; both are 0 when nobody calls. */
  requests(open: () => number, bodyBytes: () => number): void {
    this.#registry.gauge('tidemark_http_requests_open', 'Requests that are being processed or answered', open);
    this.#registry.gauge('tidemark_http_body_bytes', 'Bytes of large bodies in flight', bodyBytes);
  }

  /** Adds a gauge that is the same at all servers. It is absent until it has been measured. */
  installation(name: string, help: string, read: () => Promise<number | null>): void {
    this.#registry.installationGauge(name, help, read);
  }

  /** Adds gauges for the depth, the oldest due job and the dead jobs of each queue. */
  queues(read: () => Promise<readonly QueueGauges[]>): void {
    const watch = (name: string, help: string, gaugeOf: (queue: QueueGauges) => number) =>
      this.#registry.labelledGauge({ name, help, label: 'queue', aggregator: 'first' }, async () =>
        (await read()).map((one) => [one.queue, gaugeOf(one)]),
      );
    watch('tidemark_queue_jobs', 'Unfinished jobs of the installation, by queue', ({ depth }) => depth);
    watch('tidemark_queue_lag_seconds', 'How long the oldest due job of the queue has been due', ({ lagS }) => lagS);
    watch('tidemark_queue_dead_jobs', 'Jobs of the queue that have been given up', ({ dead }) => dead);
  }

  /** Adds gauges for the files of the installation. */
  files(read: () => Promise<FileGauges>): void {
    const watch = (name: string, help: string, gaugeOf: (gauges: FileGauges) => number) =>
      this.#registry.installationGauge(`tidemark_files_${name}`, help, async () => gaugeOf(await read()));
    watch('stored', 'Files of the installation that are stored', ({ files }) => files);
    watch('stored_bytes', 'Bytes of these files', ({ bytes }) => bytes);
    watch('missing', 'Files that objects refer to and that have not arrived', ({ missing }) => missing);
    const help = 'How long the file that is missing longest has not arrived; 0: none is missing';
    watch('oldest_missing_seconds', help, ({ oldestMissingS }) => oldestMissingS);
  }

  /** Adds gauges for the connectors of the installation, from what they reported last. */
  connectors(read: () => Promise<readonly ConnectorGauges[]>): void {
    const watch = (name: string, help: string, gaugeOf: (connector: ConnectorGauges) => number | null) =>
      this.#registry.labelledGauge(
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
  breakers(read: () => Promise<ReadonlyMap<string, number>>): void {
    const help = 'Circuit breaker of calls to the backend at this server: 0 closed, 1 trying, 2 open';
    const name = 'tidemark_backend_breaker_state';
    this.#registry.labelledGauge({ name, help, label: 'call', aggregator: 'max' }, async () => [...(await read())]);
  }
}

function valuesOf(label: string, value: number | null): readonly (readonly [string, number])[] {
  return value === null ? [] : [[label, value]];
}
