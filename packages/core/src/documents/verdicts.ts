import type { AttributeTexts } from '../journal/attribute-texts.ts';

/**
 * The result of an operation on one object: its new attributes, `gone` when it is deleted, null when nothing changes.
 * The operations differ only in these pure functions. `current` is null when the object does not exist.
 */
export type Verdict = AttributeTexts | 'gone' | null;

/** push_objects: sets the given attributes and keeps the others. */
export function merged(current: AttributeTexts | null, given: AttributeTexts): Verdict {
  if (current === null) return given.isEmpty ? null : given;
  const next = current.merge(given);
  return next === current ? null : next;
}

/** An update by a device: sets the given attributes and removes those named. An object without attributes is gone. */
export function mergedAndRemoved(
  current: AttributeTexts | null,
  given: AttributeTexts,
  removed: readonly string[],
): Verdict {
  const gone = new Set(removed.filter((name) => current?.has(name)));
  if (current === null || gone.size === 0) return merged(current, given);
  const next = current.merge(given).without((name) => gone.has(name));
  return next.isEmpty ? 'gone' : next;
}

/** push_deletes. */
export function deleted(current: AttributeTexts | null): Verdict {
  return current === null ? null : 'gone';
}

/** fast_update and fast_delete: removes attributes that still hold the value in `remove`, then sets those in `put`. */
export function updated(current: AttributeTexts | null, remove: AttributeTexts, put: AttributeTexts): Verdict {
  if (current === null) return put.isEmpty ? null : put;
  const next = current.without((name, text) => remove.get(name) === text).merge(put);
  if (next.isEmpty) return 'gone';
  return current.equals(next) ? null : next;
}

/** replace: the object becomes exactly the given one; null deletes it. */
export function replaced(current: AttributeTexts | null, given: AttributeTexts | null): Verdict {
  if (given === null || given.isEmpty) return deleted(current);
  return current?.equals(given) ? null : given;
}
