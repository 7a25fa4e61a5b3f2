import type { MetricRegistry } from './metric-registry.ts';
import type { RequestCount, RequestCounter } from './request-counter.ts';
import type { SecondsHistogram, SecondsTally } from './seconds-histogram.ts';

type RequestLabels = Readonly<Record<'method' | 'route' | 'status', string>>;

/** How many requests there were, and how long they took. */
export class RequestMetrics {
  readonly #seconds: SecondsHistogram;
  readonly #counter: RequestCounter;

  constructor(registry: MetricRegistry) {
    this.#seconds = registry.secondsHistogram(
      'tidemark_http_request_seconds',
      'Time from the first byte of a request to the last of its answer',
    );
    this.#counter = registry.requestCounter();
  }

  /** Returns the tally for requests with these labels; callers keep it. */
  tallyOf(labels: RequestLabels): SecondsTally {
    return this.#seconds.tallyOf(labels);
  }

  /** Returns the counter of requests with these labels; callers keep it. */
  countOf(labels: RequestLabels): RequestCount {
    return this.#counter.countOf(labels);
  }
}
