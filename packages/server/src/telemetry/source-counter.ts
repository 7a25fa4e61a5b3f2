import type { Counter, Registry } from 'prom-client';
import { SOURCES_LABELLED_MAX } from '../limits.ts';

/** The label of all sources beyond the limit. */
const OTHER = 'other';

/** Chooses the labels of sources: the first ones keep their name, so the number of time series is bounded. */
export class SourceLabels {
  readonly #known = new Set<string>();

  of(source: string): string {
    if (this.#known.has(source)) return source;
    if (this.#known.size >= SOURCES_LABELLED_MAX) return OTHER;
    this.#known.add(source);
    return source;
  }
}

interface Cell {
  readonly labels: Readonly<Record<string, string>>;
  value: number;
}

interface CounterOptions {
  readonly name: string;
  readonly help: string;
  /** The name of a second label, whose values are few and fixed. */
  readonly by?: string;
}

/**
 * A counter by source and by one more label. It looks up its labels in two maps, where the counter of the library
 * builds a string of them at every call.
 */
export class SourceCounter {
  readonly name: string;
  readonly help: string;
  readonly type = 'counter';
  readonly #by: string | undefined;
  readonly #labels: SourceLabels;
  readonly #cells = new Map<string, Map<string, Cell>>();

  constructor(registry: Registry, labels: SourceLabels, { name, help, by }: CounterOptions) {
    this.name = name;
    this.help = help;
    this.#by = by;
    this.#labels = labels;
    // The registry only needs a name and `get`, though its types require a metric of the library.
    registry.registerMetric(this as unknown as Counter);
  }

  add(source: string, value: number, by = ''): void {
    const label = this.#labels.of(source);
    const cell = this.#cells.get(label)?.get(by) ?? this.#begin(label, by);
    cell.value += value;
  }

  /** Called by the registry. */
  async get() {
    const { name, help, type } = this;
    const values = [...this.#cells.values()].flatMap((cells) => [...cells.values()].map((cell) => ({ ...cell })));
    return { name, help, type, aggregator: 'sum', values };
  }

  #begin(source: string, by: string): Cell {
    const cells = this.#cells.get(source) ?? new Map<string, Cell>();
    this.#cells.set(source, cells);
    const cell: Cell = { labels: { source, ...(this.#by === undefined ? {} : { [this.#by]: by }) }, value: 0 };
    cells.set(by, cell);
    return cell;
  }
}
