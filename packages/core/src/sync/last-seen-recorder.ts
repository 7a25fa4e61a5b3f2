import { type Clients, LAST_SYNC_EVERY_MS, type OwnDevice } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import type { BuiltPage } from '../pages/built-page.ts';
import { isWorthRecording, noteTidemark, tidemarkOf } from '../pages/record-tidemark.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { DeviceTidemark, PartitionKey, Store } from '../ports/store.ts';
import { RecordedTidemarks } from './recorded-tidemarks.ts';

export interface LastSeenRecorderParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly clients: Clients;
}

/** A page that a device was given. */
export interface SentPage {
  readonly partition: PartitionKey;
  readonly page: BuiltPage;
}

/** That devices were here, and what they presented. It is a hint for trimming: nobody has to wait for it. */
export class LastSeenRecorder {
  readonly #parts: LastSeenRecorderParts;
  readonly #tidemarks = new RecordedTidemarks();

  constructor(parts: LastSeenRecorderParts) {
    this.#parts = parts;
  }

  /** Remembers a visit, unless it is known well enough. It never rejects. */
  async note(device: DeviceId, own: OwnDevice, given: readonly SentPage[]): Promise<void> {
    const nowMs = this.#parts.clock.nowMs();
    const notes: Promise<void>[] = [];
    for (const { partition, page } of given) {
      const mark = tidemarkOf({ client: device.client, start: page.start, given: page.token, nowMs });
      const known = this.#tidemarks.of(partition, device.client);
      if (known === undefined || isWorthRecording(known, mark)) notes.push(this.#note(partition, mark));
    }
    if (own.lastSyncMs === null || elapsedMs(own.lastSyncMs, nowMs) >= LAST_SYNC_EVERY_MS) {
      notes.push(this.#parts.clients.noteSync(device.client, nowMs).catch(this.#onFailed));
    }
    if (notes.length > 0) await Promise.all(notes);
  }

  async #note(partition: PartitionKey, mark: DeviceTidemark): Promise<void> {
    try {
      this.#tidemarks.remember(partition, await noteTidemark(this.#parts.store, partition, mark));
    } catch (error) {
      this.#onFailed(error);
    }
  }

  readonly #onFailed = (error: unknown): void => {
    this.#parts.log.warn('tidemark_not_noted', { reason: error instanceof Error ? error.message : String(error) });
  };
}
