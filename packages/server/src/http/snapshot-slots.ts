import { Refusal } from '@tidemark/protocol';
import { SNAPSHOT_RETRY_AFTER_S, SNAPSHOTS_MAX, SNAPSHOTS_PER_DEVICE_MAX, SNAPSHOTS_PER_USER_MAX } from '../limits.ts';

/**
 * Limits the concurrent snapshots of one device, of one user and of all devices: each holds a line in memory until it has
 * been sent.
 */
export class SnapshotSlots {
  readonly #byDevice = new Map<string, number>();
  readonly #byUser = new Map<string, number>();
  #count = 0;

  /** Takes a slot for the device, or refuses. Returns the function that releases the slot; further calls do nothing. */
  take({ user, client }: { readonly user: string; readonly client: string }): () => void {
    if ((this.#byDevice.get(client) ?? 0) >= SNAPSHOTS_PER_DEVICE_MAX) {
      const detail = `the device has ${SNAPSHOTS_PER_DEVICE_MAX} snapshots under way; read them to their end first`;
      throw new Refusal('rate_limited', detail, [], SNAPSHOT_RETRY_AFTER_S);
    }
    if ((this.#byUser.get(user) ?? 0) >= SNAPSHOTS_PER_USER_MAX) {
      const detail = `the devices of the user have ${SNAPSHOTS_PER_USER_MAX} snapshots under way`;
      throw new Refusal('rate_limited', detail, [], SNAPSHOT_RETRY_AFTER_S);
    }
    if (this.#count >= SNAPSHOTS_MAX) {
      const detail = `${SNAPSHOTS_MAX} snapshots are under way at this server`;
      throw new Refusal('overloaded', detail, [], SNAPSHOT_RETRY_AFTER_S);
    }
    const change = (by: number) => {
      this.#count += by;
      add(this.#byDevice, client, by);
      add(this.#byUser, user, by);
    };
    change(1);
    let isHeld = true;
    return () => {
      if (isHeld) change(-1);
      isHeld = false;
    };
  }
}

/** Keeps no key whose count is 0. */
function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
