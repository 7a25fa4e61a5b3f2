import type { Attributes } from './rows.ts';

/** Freezes attributes, because apps keep references to them. */
export function frozen(attributes: Attributes): Attributes {
  freezeDeep(attributes);
  return attributes;
}

function freezeDeep(value: object): void {
  if (Object.isFrozen(value)) return;
  Object.freeze(value);
  // A loop over `Object.values` takes twice as long.
  for (const name in value) {
    const inner: unknown = value[name as keyof typeof value];
    if (typeof inner === 'object' && inner !== null) freezeDeep(inner);
  }
}
