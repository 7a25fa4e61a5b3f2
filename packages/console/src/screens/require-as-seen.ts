import { canonicalJson, type JsonValue } from '@tidemark/protocol';
import type { Attributes, Change } from './object-difference.ts';

interface Edit {
  readonly id: string;
  /** True: the object is to be added. */
  readonly isNew: boolean;
  readonly difference: readonly Change[];
}

/**
 * Throws if the object is no longer what the person saw who changes it. A push would make an object that was deleted anew,
 * with nothing but the change, and undo what somebody else has changed.
 */
export function requireAsSeen(now: Attributes | null, { id, isNew, difference }: Edit): void {
  if (isNew && now !== null) throw new Error(`There is an object “${id}” already. Open it to change it.`);
  if (isNew) return;
  if (now === null) throw new Error(`There is no object “${id}” any more: somebody has deleted it.`);
  const changed = difference.find(({ name, before, after }) => {
    const text = textOf(Object.hasOwn(now, name) ? now[name] : undefined);
    return text !== textOf(before) && text !== textOf(after);
  });
  if (changed !== undefined) {
    throw new Error(`“${changed.name}” is not what you saw any more: somebody has changed it. Nothing was saved.`);
  }
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : canonicalJson(value);
}
