import type { Histogram, MetricValueWithName, Registry } from 'prom-client';

/** Upper bounds in seconds, the usual ones of Prometheus. */
const BOUNDS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

type Labels = Readonly<Record<string, string>>;

/** The times measured under one set of labels. */
export class SecondsTally {
  readonly labels: Labels;
  /** How many times were within each bound and beyond the one before it; the last: beyond all of them. */
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

  /** As Prometheus counts: each bucket holds those of the smaller ones, too. */
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
 * A histogram of the registry whose labels are looked up once and not with every measurement: that of the library makes
 * a text of them each time, which costs every request more than all the rest of its measuring.
 */
export class SecondsHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly #tallies: SecondsTally[] = [];

  constructor(registry: Registry, { name, help }: { readonly name: string; readonly help: string }) {
    this.name = name;
    this.help = help;
    // All that a registry asks of a metric is its name and `get`, though its types want one of the library's own.
    registry.registerMetric(this as unknown as Histogram);
  }

  /** Asked for once for each set of labels. */
  tallyOf(labels: Labels): SecondsTally {
    const tally = new SecondsTally(labels);
    this.#tallies.push(tally);
    return tally;
  }

  /** Asked for by the registry. */
  async get() {
    const { name, help, type } = this;
    return { name, help, type, aggregator: 'sum', values: this.#tallies.flatMap((tally) => tally.values(name)) };
  }
}
