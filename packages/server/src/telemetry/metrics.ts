import { BackendMetrics } from './backend-metrics.ts';
import { DeviceMetrics } from './device-metrics.ts';
import { MetricRegistry, type MetricValues } from './metric-registry.ts';
import { RequestMetrics } from './request-metrics.ts';
import { StoreMetrics } from './store-metrics.ts';
import { WatchedGauges } from './watched-gauges.ts';

/** The metrics of the server at `/metrics`. */
export class Metrics {
  readonly #registry = new MetricRegistry();
  readonly requests = new RequestMetrics(this.#registry);
  readonly store = new StoreMetrics(this.#registry);
  readonly devices = new DeviceMetrics(this.#registry);
  readonly backend = new BackendMetrics(this.#registry);
  readonly watch = new WatchedGauges(this.#registry);

  constructor(version = '') {
    const help = 'Always 1; the labels say which version runs';
    this.#registry.info('tidemark_build_info', help, { version, node: process.version });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.text();
  }

  /** Returns the metrics as data, to be aggregated with those of other workers. */
  measured(): Promise<MetricValues> {
    return this.#registry.measured();
  }
}
