import type { Types } from './type-info.ts';

/** What the values of a type are made of: the type below all domains and arrays. */
export interface LeafType {
  readonly typeId: number;
  /** Whether values are lists of it. */
  readonly isList: boolean;
}

/** A chain of domains and arrays is at most as long as someone typed it; this ends a loop that only a broken catalogue can have. */
const DEPTH_MAX = 32;
/** `char(n)`, whose values Postgres fills up with blanks. */
const BPCHAR = 1042;

export function leafType(types: Types, typeId: number): LeafType {
  let [id, isList] = [typeId, false];
  for (let depth = 0; depth < DEPTH_MAX; depth++) {
    const type = types.get(id);
    if (type?.kind === 'array') [id, isList] = [type.elementId, true];
    else if (type?.kind === 'domain') id = type.baseId;
    else break;
  }
  return { typeId: id, isList };
}

/** Whether the values are filled up with blanks that mean nothing. */
export function isPadded({ typeId, isList }: LeafType): boolean {
  return typeId === BPCHAR && !isList;
}
