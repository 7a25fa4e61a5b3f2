import { addChecksums, attributesChecksum, type Page, subtractChecksums } from '@tidemark/protocol';
import { VERIFY_STEP_OBJECTS } from '../limits.ts';
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

/** A fold without pages. */
export function newFold(): Fold {
  return { isFresh: false, objects: new Map() };
}

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

export const NOTHING: SizeAndChecksum = { size: 0, checksum: 0 };

/**
 * Measures the stored objects in steps, so that the thread is free between them. Null: they changed meanwhile, as `isSame`
 * says.
 */
export async function measureAll(
  reader: Reader,
  rows: string,
  pause: () => Promise<void>,
  isSame: () => boolean = () => true,
): Promise<SizeAndChecksum | null> {
  let { size, checksum } = NOTHING;
  for (const [id, attributes] of [...reader.entries('objects', rows)]) {
    checksum = addChecksums(checksum, attributesChecksum(id, attributes));
    if (++size % VERIFY_STEP_OBJECTS > 0) continue;
    await pause();
    if (!isSame()) return null;
  }
  return { size, checksum };
}

/** Measures the objects as they will be when the fold is applied; `held` is the measure of the stored ones, null if unknown. */
export function measureFolded(
  reader: Reader,
  source: string,
  fold: Fold,
  held: SizeAndChecksum | null,
): SizeAndChecksum | null {
  const before = fold.isFresh ? NOTHING : held;
  if (before === null) return null;
  let { size, checksum } = before;
  for (const [id, attributes] of fold.objects) {
    const known = fold.isFresh ? undefined : reader.get('objects', [source, id]);
    if (known !== undefined) {
      size--;
      checksum = subtractChecksums(checksum, attributesChecksum(id, known));
    }
    if (attributes !== null) {
      size++;
      checksum = addChecksums(checksum, attributesChecksum(id, attributes));
    }
  }
  return { size, checksum };
}

function without(attributes: Attributes, names: readonly string[]): Attributes {
  const gone = new Set(names);
  return frozen(Object.fromEntries(Object.entries(attributes).filter(([name]) => !gone.has(name))));
}
