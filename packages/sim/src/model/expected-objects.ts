import type { PartitionKey } from '@tidemark/core';
import { partitionText } from './partition.ts';
import type { Attributes, ObjectsGiven } from './write.ts';

/** What the server must hold: every acknowledged change, once and in order. For runs in which no two writers race. */
export class ExpectedObjects {
  readonly #partitions = new Map<string, Map<string, Attributes>>();

  merge(partition: PartitionKey, id: string, attributes: Attributes): void {
    const objects = this.#of(partition);
    objects.set(id, { ...objects.get(id), ...attributes });
  }

  delete(partition: PartitionKey, id: string): void {
    this.#of(partition).delete(id);
  }

  /** Returns the objects of a partition by their ids, as they are now. */
  objects(partition: PartitionKey): ObjectsGiven {
    return Object.fromEntries(this.#of(partition));
  }

  #of(partition: PartitionKey): Map<string, Attributes> {
    const key = partitionText(partition);
    const objects = this.#partitions.get(key) ?? new Map<string, Attributes>();
    this.#partitions.set(key, objects);
    return objects;
  }
}
