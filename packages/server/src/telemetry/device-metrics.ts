import type { Counter, Histogram } from 'prom-client';
import type { MetricRegistry } from './metric-registry.ts';
import type { SourceCounter, SourceLabels } from './source-counter.ts';

/** A page that a device was sent. */
interface SentPage {
  readonly entries: number;
  readonly bytes: number;
  readonly reason: string | null;
}

/** What devices were sent, what they have sent, and the pings to them. */
export class DeviceMetrics {
  readonly #sources: SourceLabels;
  readonly #pages: SourceCounter;
  readonly #objects: SourceCounter;
  readonly #bytes: SourceCounter;
  readonly #uploads: SourceCounter;
  readonly #mismatches: SourceCounter;
  readonly #deliverySeconds: Histogram;
  readonly #pingAttempts: Counter;

  constructor(registry: MetricRegistry) {
    this.#sources = registry.sources;
    this.#pages = registry.sourceCounter(
      'pull_pages',
      'Pages sent to devices, by kind: no_news, changes, or start_over_ and why',
      'kind',
    );
    this.#objects = registry.sourceCounter('delivered_objects', 'Objects and deletions sent to devices in pages');
    this.#bytes = registry.sourceCounter('delivered_bytes', 'Approximate bytes of these pages before compression');
    this.#uploads = registry.sourceCounter(
      'uploads',
      'Uploads of devices by outcome; one that is queued gets a second outcome later',
      'status',
    );
    this.#mismatches = registry.sourceCounter(
      'checksum_mismatches',
      'Devices whose objects did not match the checksum',
    );
    this.#deliverySeconds = registry.histogram({
      name: 'tidemark_delivery_seconds',
      help: 'Time from a commit until a device that was active has acknowledged it',
      labelNames: ['source'],
      buckets: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3_600],
    });
    const attempts = 'Attempts to deliver a ping to a device, by push service and result';
    this.#pingAttempts = registry.counter('tidemark_ping_attempts_total', attempts, ['service', 'result']);
  }

  /** Counts a page that a device was sent. `reason` says why the device starts over; null: it does not. */
  pageSent(source: string, { entries, bytes, reason }: SentPage): void {
    this.#pages.add(source, 1, reason !== null ? `start_over_${reason}` : entries === 0 ? 'no_news' : 'changes');
    if (entries === 0) return;
    this.#objects.add(source, entries);
    this.#bytes.add(source, bytes);
  }

  uploaded(source: string, status: string): void {
    this.#uploads.add(source, 1, status);
  }

  /** Counts changes that a device has acknowledged, by the age of the oldest of them. */
  delivered(source: string, seconds: number): void {
    this.#deliverySeconds.observe({ source: this.#sources.of(source) }, seconds);
  }

  /** Counts a device that starts over because its objects did not match the checksum of the source. */
  mismatched(source: string): void {
    this.#mismatches.add(source, 1);
  }

  pingAttempted(service: string | null, result: string): void {
    this.#pingAttempts.inc({ service: service ?? 'none', result });
  }
}
