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
import { RequestCounter } from './request-counter.ts';
import { SecondsHistogram } from './seconds-histogram.ts';
import { SourceCounter, SourceLabels } from './source-counter.ts';

/** The metrics of one process. */
export type MetricValues = readonly MetricObjectWithValues<MetricValue<string>>[];

interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly buckets: number[];
  readonly labelNames?: string[];
}

interface LabelledGauge {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** How the values of several workers become one. */
  readonly aggregator: 'first' | 'max';
}

/** Makes metrics, and shows all that it has made. */
export class MetricRegistry {
  readonly sources = new SourceLabels();
  readonly #registry = new Registry();
  #isProcessMeasured = false;

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

  counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  histogram(options: HistogramOptions): Histogram {
    return new Histogram({ ...options, registers: [this.#registry] });
  }

  secondsHistogram(name: string, help: string): SecondsHistogram {
    return new SecondsHistogram(this.#registry, { name, help });
  }

  requestCounter(): RequestCounter {
    return new RequestCounter(this.#registry);
  }

  /** Makes a counter by source, and perhaps by one more label. */
  sourceCounter(name: string, help: string, by?: string): SourceCounter {
    const options = { name: `tidemark_${name}_total`, help, ...(by === undefined ? {} : { by }) };
    return new SourceCounter(this.#registry, this.sources, options);
  }

  /** Makes a gauge with one fixed value. */
  info(name: string, help: string, labels: Readonly<Record<string, string>>): void {
    const labelNames = Object.keys(labels);
    new Gauge({ name, help, labelNames, aggregator: 'first', registers: [this.#registry] }).set(labels, 1);
  }

  /** Makes a gauge that is read at each scrape. */
  gauge(name: string, help: string, read: () => number): void {
    const collect = function (this: Gauge) {
      this.set(read());
    };
    new Gauge({ name, help, registers: [this.#registry], collect });
  }

  /** Makes a gauge whose values are read at each scrape; it is absent if that fails. */
  labelledGauge(
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

  /**
   * Makes a gauge that is the same at all servers: several workers show it once. It is absent until it has been
   * measured.
   */
  installationGauge(name: string, help: string, read: () => Promise<number | null>): void {
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

  /** From the first scrape on: to measure the event loop wakes the process twenty times a second. */
  #measureProcess(): void {
    if (this.#isProcessMeasured) return;
    this.#isProcessMeasured = true;
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS });
  }
}
