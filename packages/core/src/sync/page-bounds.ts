import { type Limits, pointer, Refusal } from '@tidemark/protocol';
import type { PageBounds } from '../pages/pull.ts';

/** What a caller asks for, as far as it may; asking for nothing at all is a mistake. */
export function pageBounds(
  { pageObjectsMax, pageUnitsMax }: Pick<Limits, 'pageObjectsMax' | 'pageUnitsMax'>,
  { objectsMax, unitsMax }: { readonly objectsMax?: number; readonly unitsMax?: number },
): PageBounds {
  return {
    entriesMax: bounded(objectsMax, pageObjectsMax, 'max_objects'),
    unitsMax: bounded(unitsMax, pageUnitsMax, 'max_units'),
  };
}

function bounded(asked: number | undefined, max: number, name: string): number {
  if (asked === undefined) return max;
  if (Number.isInteger(asked) && asked >= 1) return Math.min(asked, max);
  const detail = 'must be a whole number from 1';
  throw new Refusal('invalid_value', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}
