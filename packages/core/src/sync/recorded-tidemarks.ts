import type { DeviceTidemark, PartitionKey } from '../ports/store.ts';

/** Devices and sources remembered at once; beyond it the one not heard of for longest is forgotten. */
const REMEMBERED_MAX = 50_000;

/**
 * The places of devices as they were last noted. A device at rest presents the same token again and again, and one that
 * starts over page after page: finding out from the store each time that there is nothing to note would cost as much as
 * all the rest of looking for changes.
 */
export class RecordedTidemarks {
  readonly #noted = new Map<string, DeviceTidemark>();

  /** Undefined: nothing is known of it here. */
  of(partition: PartitionKey, client: string): DeviceTidemark | undefined {
    return this.#noted.get(keyOf(partition, client));
  }

  remember(partition: PartitionKey, mark: DeviceTidemark): void {
    const key = keyOf(partition, mark.client);
    this.#noted.delete(key);
    this.#noted.set(key, mark);
    for (const oldest of this.#noted.keys()) {
      if (this.#noted.size <= REMEMBERED_MAX) return;
      this.#noted.delete(oldest);
    }
  }
}

/** No name holds a line break, so no two of these meet. */
function keyOf({ source, user }: PartitionKey, client: string): string {
  return `${client}\n${source}\n${user ?? ''}`;
}
