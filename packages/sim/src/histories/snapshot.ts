import { addChecksums, objectChecksum } from '@tidemark/protocol';
import type { OracleObject } from './oracle-write.ts';

/** A set of objects in comparable form, with size and checksum computed from nothing but them. */
export interface Snapshot {
  readonly texts: ReadonlyMap<string, string>;
  readonly size: number;
  readonly checksum: number;
}

const snapshots = new WeakMap<ReadonlyMap<string, OracleObject>, Snapshot>();

/** Remembered per map, because most steps change nothing; so only for maps nobody changes any more. */
export function snapshotOf(objects: ReadonlyMap<string, OracleObject>): Snapshot {
  const known = snapshots.get(objects);
  if (known !== undefined) return known;
  const snapshot = takeSnapshot(objects);
  snapshots.set(objects, snapshot);
  return snapshot;
}

export function takeSnapshot(objects: ReadonlyMap<string, OracleObject>): Snapshot {
  const texts = new Map<string, string>();
  let checksum = 0;
  for (const [id, object] of objects) {
    texts.set(id, objectText(object));
    checksum = addChecksums(checksum, objectChecksum(id, object));
  }
  return { texts, size: texts.size, checksum };
}

/** One text per object, whatever the order of its attributes. */
export function objectText(object: OracleObject): string {
  return JSON.stringify([...object].sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** The first difference between two sets of objects, in words; null when there is none. */
export function difference(
  actual: ReadonlyMap<string, string>,
  expected: ReadonlyMap<string, string>,
  words: { readonly actual: string; readonly expected: string },
): string | null {
  for (const [id, text] of expected) {
    const found = actual.get(id);
    if (found !== text) {
      return `object ${JSON.stringify(id)}: ${words.expected} has ${text}, ${words.actual} has ${found ?? 'none'}`;
    }
  }
  for (const [id, text] of actual) {
    if (!expected.has(id)) {
      return `object ${JSON.stringify(id)}: ${words.expected} has none, ${words.actual} has ${text}`;
    }
  }
  return null;
}
