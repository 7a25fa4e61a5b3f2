import { Refusal } from '@tidemark/protocol';
import { SNAPSHOT_RETRY_AFTER_S, SNAPSHOTS_MAX, SNAPSHOTS_PER_DEVICE_MAX } from '../limits.ts';

/**
 * Limits the concurrent snapshots of one device and of all devices: each holds a line in memory until it has been
 * sent.
 */
export class SnapshotSlots {
  readonly #byDevice = new Map<string, number>();
  #count = 0;

  /** Takes a slot for the device, or refuses. Returns the function that releases the slot; further calls do nothing. */
  take(client: string): () => void {
    const own = this.#byDevice.get(client) ?? 0;
    if (own >= SNAPSHOTS_PER_DEVICE_MAX) {
      const detail = `the device has ${SNAPSHOTS_PER_DEVICE_MAX} snapshots under way; read them to their end first`;
      throw new Refusal('rate_limited', detail, [], SNAPSHOT_RETRY_AFTER_S);
    }
    if (this.#count >= SNAPSHOTS_MAX) {
      const detail = `${SNAPSHOTS_MAX} snapshots are under way at this server`;
      throw new Refusal('overloaded', detail, [], SNAPSHOT_RETRY_AFTER_S);
    }
    this.#count++;
    this.#byDevice.set(client, own + 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#giveBack(client);
      isHeld = false;
    };
  }

  #giveBack(client: string): void {
    this.#count--;
    const left = (this.#byDevice.get(client) ?? 1) - 1;
    if (left === 0) this.#byDevice.delete(client);
    else this.#byDevice.set(client, left);
  }
}
