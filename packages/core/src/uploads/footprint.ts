import { FOOTPRINT_ATTRIBUTES_MAX, parseJson, textChecksum } from '@tidemark/protocol';
import type { AttributeTexts } from '../admission/admitted.ts';

/**
 * What a device has written to an object itself: attribute → checksum of the value. A device often changes an object
 * again before it has pulled its own first change; that change must not be held against it.
 */
export type Footprint = ReadonlyMap<string, number>;

export function readFootprint(text: string | undefined): Footprint {
  return new Map(text === undefined ? [] : (parseJson(text) as [string, number][]));
}

export function footprintText(before: Footprint, written: AttributeTexts): string {
  const all = new Map(before);
  for (const [name, text] of written) {
    all.delete(name);
    all.set(name, textChecksum(text));
  }
  return JSON.stringify([...all].slice(-FOOTPRINT_ATTRIBUTES_MAX));
}
