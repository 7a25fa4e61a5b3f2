import { addChecksums, canonicalJson, objectChecksum } from '@tidemark/protocol';
import type { ModelPartition } from './partition.ts';
import { partitionText } from './partition.ts';
import type { Attributes, ObjectsGiven } from './write.ts';

/** Attribute → canonical JSON text of its value. Never changed in place, so states may share it. */
export type ModelObject = ReadonlyMap<string, string>;

/** Returns the object with these attributes set. */
export function withAttributes(object: ModelObject, given: Attributes = {}): ModelObject {
  const result = new Map(object);
  for (const [name, value] of Object.entries(given)) result.set(name, canonicalJson(value));
  return result;
}

/** Returns one text for equal objects, whatever the order of their attributes. */
export function objectText(object: ModelObject): string {
  return JSON.stringify([...object].sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** A set of objects in comparable form, with the size and checksum computed from them alone. */
export interface Snapshot {
  readonly texts: ReadonlyMap<string, string>;
  readonly size: number;
  readonly checksum: number;
}

const snapshots = new WeakMap<ReadonlyMap<string, ModelObject>, Snapshot>();

/** Caches the snapshot per map, because most steps change nothing. So nobody may change the map afterwards. */
export function snapshotOf(objects: ReadonlyMap<string, ModelObject>): Snapshot {
  const known = snapshots.get(objects);
  if (known !== undefined) return known;
  const snapshot = takeSnapshot(objects);
  snapshots.set(objects, snapshot);
  return snapshot;
}

export function takeSnapshot(objects: ReadonlyMap<string, ModelObject>): Snapshot {
  const texts = new Map<string, string>();
  let checksum = 0;
  for (const [id, object] of objects) {
    texts.set(id, objectText(object));
    checksum = addChecksums(checksum, objectChecksum(id, object));
  }
  return { texts, size: texts.size, checksum };
}

/** Describes the first difference between two sets of objects; null: they are equal. */
export function difference(
  actual: ReadonlyMap<string, string>,
  expected: ReadonlyMap<string, string>,
  names: { readonly actual: string; readonly expected: string },
): string | null {
  for (const [id, text] of expected) {
    const found = actual.get(id);
    if (found !== text) {
      return `object ${JSON.stringify(id)}: ${names.expected} has ${text}, ${names.actual} has ${found ?? 'none'}`;
    }
  }
  for (const [id, text] of actual) {
    if (!expected.has(id)) {
      return `object ${JSON.stringify(id)}: ${names.expected} has none, ${names.actual} has ${text}`;
    }
  }
  return null;
}

/** What the server must hold: every acknowledged change, once and in order. For runs in which no two writers race. */
export class ExpectedObjects {
  readonly #partitions = new Map<string, Map<string, Attributes>>();

  merge(partition: ModelPartition, id: string, attributes: Attributes): void {
    const objects = this.#of(partition);
    objects.set(id, { ...objects.get(id), ...attributes });
  }

  delete(partition: ModelPartition, id: string): void {
    this.#of(partition).delete(id);
  }

  /** Returns the objects of a partition by their ids, as they are now. */
  objects(partition: ModelPartition): ObjectsGiven {
    return Object.fromEntries(this.#of(partition));
  }

  #of(partition: ModelPartition): Map<string, Attributes> {
    const key = partitionText(partition);
    const objects = this.#partitions.get(key) ?? new Map<string, Attributes>();
    this.#partitions.set(key, objects);
    return objects;
  }
}
