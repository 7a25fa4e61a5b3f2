import { addChecksums, canonicalJson, objectChecksum, type Page, subtractChecksums } from '@tidemark/protocol';
import { frozen } from '../state/frozen.ts';
import type { Reader } from '../state/local-state.ts';
import type { Attributes } from '../state/rows.ts';

/**
 * The combined pages of one catch-up: the new state of each mentioned object, null if it is deleted. With `isFresh`
 * the catch-up starts over, and objects that no page mentions are deleted.
 */
export interface Fold {
  readonly isFresh: boolean;
  readonly objects: ReadonlyMap<string, Attributes | null>;
}

/** A page refers to an object that the device does not have, so the states of server and device differ. */
export class InconsistentPage extends Error {
  override readonly name = 'InconsistentPage';
}

export const EMPTY_FOLD: Fold = { isFresh: false, objects: new Map() };

/** Adds a page to the fold. The given fold is consumed: its map is reused, which avoids a copy. */
export function foldPage(reader: Reader, source: string, fold: Fold, page: Page): Fold {
  const isFresh = page.reset === true || fold.isFresh;
  const objects =
    page.reset === true ? new Map<string, Attributes | null>() : (fold.objects as Map<string, Attributes | null>);
  const held = (id: string): Attributes => {
    const known = objects.has(id) ? objects.get(id) : isFresh ? null : reader.get('objects', [source, id]);
    if (known === null || known === undefined)
      throw new InconsistentPage(`a change of ${JSON.stringify(id)}, which the device does not have`);
    return known;
  };
  for (const id of page.delete ?? []) objects.set(id, null);
  for (const [id, attributes] of Object.entries(page.put ?? {})) objects.set(id, frozen(attributes as Attributes));
  for (const [id, names] of Object.entries(page.drop ?? {})) objects.set(id, without(held(id), names));
  for (const [id, attributes] of Object.entries(page.patch ?? {})) {
    objects.set(id, frozen({ ...held(id), ...(attributes as Attributes) }));
  }
  return { isFresh, objects };
}

/** Compared with the values of the server. */
export interface SizeAndChecksum {
  readonly size: number;
  readonly checksum: number;
}

const NOTHING: SizeAndChecksum = { size: 0, checksum: 0 };

/** Measures the stored objects. */
export function measureAll(reader: Reader, source: string): SizeAndChecksum {
  let { size, checksum } = NOTHING;
  for (const [id, attributes] of reader.entries('objects', source)) {
    size++;
    checksum = addChecksums(checksum, checksumOf(id, attributes));
  }
  return { size, checksum };
}

/** Measures the objects as they will be when the fold is applied; `held` is the measure of the stored ones. */
export function measureFolded(
  reader: Reader,
  source: string,
  fold: Fold,
  held: () => SizeAndChecksum,
): SizeAndChecksum {
  let { size, checksum } = fold.isFresh ? NOTHING : held();
  for (const [id, attributes] of fold.objects) {
    const before = fold.isFresh ? undefined : reader.get('objects', [source, id]);
    if (before !== undefined) {
      size--;
      checksum = subtractChecksums(checksum, checksumOf(id, before));
    }
    if (attributes !== null) {
      size++;
      checksum = addChecksums(checksum, checksumOf(id, attributes));
    }
  }
  return { size, checksum };
}

function checksumOf(id: string, attributes: Attributes): number {
  return objectChecksum(
    id,
    Object.entries(attributes).map(([name, value]) => [name, canonicalJson(value)] as const),
  );
}

function without(attributes: Attributes, names: readonly string[]): Attributes {
  const gone = new Set(names);
  return frozen(Object.fromEntries(Object.entries(attributes).filter(([name]) => !gone.has(name))));
}
