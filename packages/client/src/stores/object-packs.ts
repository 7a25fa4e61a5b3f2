import { type JsonValue, parseJson } from '@tidemark/protocol';
import { PACK_OBJECTS_MAX, PACK_UNITS_MAX } from '../limits.ts';
import type { LocalRow, LocalWrite } from '../ports/local-store.ts';
import { answered, type IndexedDbTransaction } from './indexeddb.ts';

/** Object rows by the two parts of their keys. They are made pack by pack: all of them at once would hold the thread for long. */
type Objects = Map<string, Map<string, LocalRow>>;

/** What the database holds of objects, and how. */
export interface StoredObjects {
  readonly objects: Objects;
  /** Objects in packs, also those that are outdated. */
  readonly packed: number;
  /** Rows of the table `objects`, also those that say that an object is gone. */
  readonly rows: number;
}

export const PACKS = 'packs';

/**
 * Reads the objects: packs in the order in which they were written, then single rows, which are newer. Each pack arrives
 * in its own task, so that the thread is free between them.
 */
export async function readObjects(tx: IndexedDbTransaction): Promise<StoredObjects> {
  const [packs, table] = [tx.objectStore(PACKS), tx.objectStore('objects')];
  const numbers = await answered(packs.getAllKeys());
  const objects: Objects = new Map();
  let packed = 0;
  // Requests are answered in their order, so that a later pack counts instead of an earlier one.
  const takePack = async (number: number) => {
    const [first, entries] = parseJson((await answered(packs.get(number))) as string) as Pack;
    for (const [id, value] of entries) set(objects, [first, id], value);
    packed += entries.length;
  };
  const [keys, values] = await Promise.all([
    answered(table.getAllKeys()),
    answered(table.getAll()),
    ...numbers.map((number) => takePack(number as number)),
  ]);
  for (const [index, key] of keys.entries()) set(objects, key as [string, string], values[index] as JsonValue);
  return { objects, packed, rows: keys.length };
}

/** Replaces everything that the database holds of objects. */
export function replaceObjects(tx: IndexedDbTransaction, objects: Objects): void {
  tx.objectStore('objects').clear();
  tx.objectStore(PACKS).clear();
  writePacks(tx, objects);
}

/** Adds packs that hold these objects, each in its own task: to make all of them at once would hold the thread for long. */
export function writePacks(tx: IndexedDbTransaction, objects: Objects): void {
  const texts = packTexts(objects);
  const writeNext = () => {
    const { value: text, done } = texts.next();
    if (done !== true) tx.objectStore(PACKS).put(text).onsuccess = writeNext;
  };
  writeNext();
}

function* packTexts(objects: Objects): Generator<string> {
  for (const [first, entries] of objects) {
    let texts: string[] = [];
    let units = 0;
    const pack = () => `[${JSON.stringify(first)},[${texts.join(',')}]]`;
    for (const [id, { value }] of entries) {
      const text = JSON.stringify([id, value]);
      if (texts.length === PACK_OBJECTS_MAX || (units > 0 && units + text.length > PACK_UNITS_MAX)) {
        yield pack();
        texts = [];
        units = 0;
      }
      texts.push(text);
      units += text.length;
    }
    if (texts.length > 0) yield pack();
  }
}

/** Applies writes in memory. */
export function applyWrites(objects: Objects, writes: readonly LocalWrite[]): void {
  for (const { key, value } of writes) set(objects, key, value);
}

export function rowsOfObjects(objects: Objects): readonly LocalRow[] {
  return Array.from(objects.values(), (entries) => [...entries.values()]).flat();
}

type Pack = readonly [first: string, entries: readonly (readonly [string, JsonValue])[]];

function set(objects: Objects, key: readonly [string, string], value: JsonValue | undefined): void {
  const [first, id] = key;
  const entries = objects.get(first) ?? new Map<string, LocalRow>();
  objects.set(first, entries);
  if (value === undefined) entries.delete(id);
  else entries.set(id, { table: 'objects', key, value });
}
