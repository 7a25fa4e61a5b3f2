import type { AttributeTexts } from '../admission/admitted.ts';

/**
 * The result of an operation on one object: its new attributes, `gone` when it is deleted, null when nothing changes.
 * The operations differ only in these pure functions. `current` is null when the object does not exist.
 */
export type Verdict = AttributeTexts | 'gone' | null;

/** push_objects: sets the given attributes and keeps the others. */
export function merged(current: AttributeTexts | null, given: AttributeTexts): Verdict {
  if (current === null) return given.size === 0 ? null : given;
  if (holdsAll(current, given)) return null;
  return new Map([...current, ...given]);
}

/** An update by a device: sets the given attributes and removes those named. An object without attributes is gone. */
export function mergedAndRemoved(
  current: AttributeTexts | null,
  given: AttributeTexts,
  removed: readonly string[],
): Verdict {
  const gone = removed.filter((name) => current?.has(name));
  if (current === null || gone.length === 0) return merged(current, given);
  const next = new Map([...current, ...given]);
  for (const name of gone) next.delete(name);
  return next.size === 0 ? 'gone' : next;
}

/** push_deletes. */
export function deleted(current: AttributeTexts | null): Verdict {
  return current === null ? null : 'gone';
}

/** fast_update and fast_delete: removes attributes that still hold the value in `remove`, then sets those in `put`. */
export function updated(current: AttributeTexts | null, remove: AttributeTexts, put: AttributeTexts): Verdict {
  if (current === null) return put.size === 0 ? null : put;
  const next = new Map(current);
  for (const [name, text] of remove) {
    if (current.get(name) === text) next.delete(name);
  }
  for (const [name, text] of put) next.set(name, text);
  if (next.size === 0) return 'gone';
  return isEqual(current, next) ? null : next;
}

/** replace: the object becomes exactly the given one; null deletes it. */
export function replaced(current: AttributeTexts | null, given: AttributeTexts | null): Verdict {
  if (given === null || given.size === 0) return deleted(current);
  return current !== null && isEqual(current, given) ? null : given;
}

function isEqual(left: AttributeTexts, right: AttributeTexts): boolean {
  return left.size === right.size && holdsAll(left, right);
}

function holdsAll(holder: AttributeTexts, given: AttributeTexts): boolean {
  for (const [name, text] of given) {
    if (holder.get(name) !== text) return false;
  }
  return true;
}
