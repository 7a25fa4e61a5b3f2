import type { Histogram } from 'prom-client';
import type { MetricRegistry } from './metric-registry.ts';
import type { SourceCounter } from './source-counter.ts';

/** What backends have written, and what they were asked. */
export class BackendMetrics {
  readonly #pushes: SourceCounter;
  readonly #objects: SourceCounter;
  readonly #misfits: SourceCounter;
  readonly #refreshes: SourceCounter;
  readonly #refreshSeconds: Histogram;
  readonly #callSeconds: Histogram;

  constructor(registry: MetricRegistry) {
    this.#pushes = registry.sourceCounter('pushes', 'Successful writes by backends, by operation', 'operation');
    this.#objects = registry.sourceCounter('pushed_objects', 'Objects that these writes changed');
    this.#misfits = registry.sourceCounter(
      'schema_misfits',
      'Objects written that do not fit the schema, which only reports',
    );
    this.#refreshes = registry.sourceCounter(
      'refreshes',
      'Refreshes from the backend, by result: ok, or the code of the failure',
      'result',
    );
    this.#refreshSeconds = registry.histogram({
      name: 'tidemark_refresh_seconds',
      help: 'Time of a refresh from the backend',
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60],
    });
    this.#callSeconds = registry.histogram({
      name: 'tidemark_backend_call_seconds',
      help: 'Time of calls to the backend, by call and outcome; those held back took none',
      labelNames: ['call', 'outcome'],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    });
  }

  pushed(source: string, operation: string, objects: number): void {
    this.#pushes.add(source, 1, operation);
    this.#objects.add(source, objects);
  }

  /** Counts objects that were written although they do not fit the schema of their source. */
  misfitsWritten(source: string, objects: number): void {
    this.#misfits.add(source, objects);
  }

  refreshed(source: string, code: string | null, seconds: number): void {
    this.#refreshes.add(source, 1, code ?? 'ok');
    this.#refreshSeconds.observe(seconds);
  }

  called(call: string, outcome: string, seconds: number): void {
    this.#callSeconds.observe({ call, outcome }, seconds);
  }
}
