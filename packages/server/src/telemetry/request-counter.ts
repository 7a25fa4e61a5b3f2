import type { Counter, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

/** The number of requests with one set of labels. */
export interface RequestCount {
  readonly labels: Labels;
  value: number;
}

/** Counts requests by method, route and exact status. Labels are looked up once, as in `SecondsHistogram`. */
export class RequestCounter {
  readonly name = 'tidemark_http_requests_total';
  readonly help = 'Answered requests by method, route template and status';
  readonly type = 'counter';
  readonly #counts: RequestCount[] = [];

  constructor(registry: Registry) {
    // The registry only needs a name and `get`, though its types require a metric of the library.
    registry.registerMetric(this as unknown as Counter);
  }

  /** Called once for each set of labels. */
  countOf(labels: Labels): RequestCount {
    const count = { labels, value: 0 };
    this.#counts.push(count);
    return count;
  }

  /** Called by the registry. */
  async get() {
    const { name, help, type } = this;
    return { name, help, type, aggregator: 'sum', values: this.#counts.map((count) => ({ ...count })) };
  }
}
