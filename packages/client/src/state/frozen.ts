import type { Attributes } from './rows.ts';

/** Freezes attributes, because apps keep references to them. */
export function frozen(attributes: Attributes): Attributes {
  freezeDeep(attributes);
  return attributes;
}

function freezeDeep(value: object): void {
  if (Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) freezeDeep(inner);
}
