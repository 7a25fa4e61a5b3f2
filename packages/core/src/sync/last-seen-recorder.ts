import { errorMessage } from '@tidemark/protocol';
import { type Clients, LAST_SYNC_EVERY_MS, type OwnDevice } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import {
  emptiedTidemark,
  isWorthRecording,
  type PresentedPosition,
  type RecordTidemarkParts,
  recordTidemark,
  tidemarkOf,
} from '../pages/record-tidemark.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { partitionName } from '../ports/owner.ts';
import type { DeviceTidemark, Guard, PartitionKey, PartitionState } from '../ports/store.ts';
import { BoundedMap } from '../primitives/bounded-map.ts';
import { KeyedMutex } from '../primitives/keyed-mutex.ts';

/** Tidemarks in memory. Beyond this number, the one recorded longest ago is evicted. */
const TIDEMARKS_MAX = 50_000;

export interface LastSeenRecorderParts extends RecordTidemarkParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly clients: Pick<Clients, 'noteSync'>;
  /** Is told of every token that a device presents, with the head of the partition. */
  readonly freshness: { presented(partition: PartitionKey, mark: DeviceTidemark, head: number): void };
}

/** A token that a device presented to a partition, and the state that it was compared with. */
type Presented = PresentedPosition & {
  readonly partition: PartitionKey;
  readonly state: Pick<PartitionState, 'head'>;
};

/** A tidemark is deleted with its device, so it counts for the registration alone under which it was recorded. */
interface RecordedTidemark {
  readonly mark: DeviceTidemark;
  readonly registration: number;
}

/** Records when devices were seen and what they have acknowledged. Trimming uses it as a hint, so no caller has to wait. */
export class LastSeenRecorder {
  readonly #parts: LastSeenRecorderParts;
  /**
   * The tidemarks that this process has recorded. Devices present the same token at every pull without news: reading from
   * the store each time that nothing must be recorded would cost as much as the rest of the pull.
   */
  readonly #tidemarks = new BoundedMap<string, RecordedTidemark>(TIDEMARKS_MAX);
  /** A device acknowledges what it was sent while that may still be being recorded. */
  readonly #writes = new KeyedMutex();

  constructor(parts: LastSeenRecorderParts) {
    this.#parts = parts;
  }

  /** Records that the device was here and presented these tokens, unless that is known well enough. It never rejects. */
  async record(device: DeviceId, own: OwnDevice, presented: readonly Presented[]): Promise<void> {
    const nowMs = this.#parts.clock.nowMs();
    const writes: Promise<void>[] = [];
    for (const position of presented) {
      const mark = tidemarkOf(device.client, position, nowMs);
      this.#parts.freshness.presented(position.partition, mark, position.state.head);
      const key = keyOf(position.partition, device.client);
      const known = this.#tidemarks.get(key);
      const isRecorded = known?.registration === own.registration && !isWorthRecording(known.mark, mark);
      if (!isRecorded) writes.push(this.#record({ key, ...device, ...own }, position.partition, mark));
    }
    if (own.lastSyncMs === null || elapsedMs(own.lastSyncMs, nowMs) >= LAST_SYNC_EVERY_MS) {
      writes.push(this.#parts.clients.noteSync(device.client, nowMs).catch(this.#onFailed));
    }
    if (writes.length > 0) await Promise.all(writes);
  }

  /** Records that the device is told to remove what it has of these partitions. It never rejects. */
  async recordGone({ client }: DeviceId, partitions: readonly PartitionKey[]): Promise<void> {
    const writes = partitions.map((partition) =>
      this.#writes.take(keyOf(partition, client), () => this.#writeGone(client, partition)).catch(this.#onFailed),
    );
    await Promise.all(writes);
  }

  async #writeGone(client: string, partition: PartitionKey): Promise<void> {
    const { store, clock } = this.#parts;
    if ((await store.readTidemark(partition, client)) === null) return;
    const mark = emptiedTidemark(client, await store.partition(partition), clock.nowMs());
    await store.noteTidemark(partition, mark, [{ kind: 'client', key: [client] }]);
    this.#tidemarks.delete(keyOf(partition, client));
  }

  async #record(
    { key, user, client, registration }: DeviceId & OwnDevice & { readonly key: string },
    partition: PartitionKey,
    presented: DeviceTidemark,
  ): Promise<void> {
    // A later device of the same id has not acknowledged what this one has.
    const guards: readonly Guard[] = [{ kind: 'user_client', key: [user, client], version: registration }];
    const write = async () => {
      const mark = await recordTidemark(this.#parts, partition, presented, guards);
      this.#tidemarks.set(key, { mark, registration });
    };
    await this.#writes.take(key, write).catch(this.#onFailed);
  }

  readonly #onFailed = (error: unknown): void => {
    this.#parts.log.warn('tidemark_not_noted', { reason: errorMessage(error) });
  };
}

/** Ids of devices contain no line breaks, so the key is unique. */
function keyOf(partition: PartitionKey, client: string): string {
  return `${client}\n${partitionName(partition)}`;
}
