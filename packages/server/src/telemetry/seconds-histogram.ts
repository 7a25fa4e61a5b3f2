import type { Histogram, MetricValueWithName, Registry } from 'prom-client';

/** Upper bounds in seconds: the defaults of Prometheus. */
const BOUNDS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

type Labels = Readonly<Record<string, string>>;

/** Measured times for one set of labels. */
export class SecondsTally {
  readonly labels: Labels;
  /** Counts per bucket, not cumulative; the last one is for times above all bounds. */
  readonly #within: number[] = [...BOUNDS_S.map(() => 0), 0];
  #sum = 0;

  constructor(labels: Labels) {
    this.labels = labels;
  }

  observe(seconds: number): void {
    let place = 0;
    while (place < BOUNDS_S.length && seconds > (BOUNDS_S[place] ?? 0)) place += 1;
    this.#within[place] = (this.#within[place] ?? 0) + 1;
    this.#sum += seconds;
  }

  /** Returns cumulative buckets, as Prometheus defines them. */
  values(name: string): readonly MetricValueWithName<string>[] {
    let count = 0;
    const buckets = this.#within.map((within, place) => {
      count += within;
      return { metricName: `${name}_bucket`, labels: { le: BOUNDS_S[place] ?? '+Inf', ...this.labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: this.labels, value: this.#sum },
      { metricName: `${name}_count`, labels: this.labels, value: count },
    ];
  }
}

/**
 * A histogram that looks up its labels once instead of at every measurement: the one of the library builds a string
 * of the labels each time, which costs every request more than the rest of its measuring.
 */
export class SecondsHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly #tallies: SecondsTally[] = [];

  constructor(registry: Registry, { name, help }: { readonly name: string; readonly help: string }) {
    this.name = name;
    this.help = help;
    // The registry only needs a name and `get`, though its types require a metric of the library.
    registry.registerMetric(this as unknown as Histogram);
  }

  /** Called once for each set of labels. */
  tallyOf(labels: Labels): SecondsTally {
    const tally = new SecondsTally(labels);
    this.#tallies.push(tally);
    return tally;
  }

  /** Called by the registry. */
  async get() {
    const { name, help, type } = this;
    return { name, help, type, aggregator: 'sum', values: this.#tallies.flatMap((tally) => tally.values(name)) };
  }
}
