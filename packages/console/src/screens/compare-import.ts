import { type ObjectListOptions, TidemarkError } from '@tidemark/backend';
import type { ObjectList } from '@tidemark/protocol';
import { type Attributes, type Change, differenceOf } from './object-difference.ts';

type Objects = ReadonlyMap<string, Attributes>;
type ReadPage = (options: ObjectListOptions) => Promise<ObjectList>;

/** What an import would change. */
export interface Comparison {
  readonly added: readonly string[];
  readonly changed: ReadonlyMap<string, readonly Change[]>;
  readonly unchanged: number;
  /** Objects of the file that were not compared. */
  readonly unknown: readonly string[];
  /** How many objects there were before. */
  readonly stored: number;
}

const PAGE_OBJECTS = 1_000;
/** All objects of an owner are read if there are no more than this. */
const STORED_MAX = 20_000;
/** A list that grows meanwhile is read no further than this. */
const PAGES_MAX = (2 * STORED_MAX) / PAGE_OBJECTS;
/** Otherwise so many objects of the file are looked up one by one. */
const LOOKUPS_MAX = 200;
const LOOKUPS_AT_ONCE = 5;

/** Compares the objects of a file with those that are stored. Attributes that the file does not have are left out. */
export async function compareImport(objects: Objects, read: ReadPage): Promise<Comparison> {
  const { size } = await read({ limit: 1 });
  const found = size <= STORED_MAX ? await readAll(objects, read) : await lookUp(objects, read);
  const added: string[] = [];
  const unknown: string[] = [];
  const changed = new Map<string, readonly Change[]>();
  let unchanged = 0;
  for (const [id, next] of objects) {
    const old = found.get(id);
    const changes = old === undefined || old === null ? [] : changesOf(old, next);
    if (old === undefined) unknown.push(id);
    else if (old === null) added.push(id);
    else if (changes.length > 0) changed.set(id, changes);
    else unchanged++;
  }
  return { added, changed, unchanged, unknown, stored: size };
}

/** Returns the objects of the file that an import has to send: all but those that are the same already. */
export function objectsToSend(objects: Objects, { added, changed, unknown }: Comparison): Objects {
  const ids = new Set([...added, ...changed.keys(), ...unknown]);
  return new Map([...objects].filter(([id]) => ids.has(id)));
}

function changesOf(old: Attributes, next: Attributes): readonly Change[] {
  return differenceOf(old, next).filter(({ after }) => after !== undefined);
}

/** Stored objects by id. Null: there is none. Absent: it was not looked for. */
type Found = ReadonlyMap<string, Attributes | null>;

async function readAll(objects: Objects, read: ReadPage): Promise<Found> {
  const found = new Map<string, Attributes | null>();
  let after: ObjectList['next'] = 0;
  for (let pages = 0; after !== null && pages < PAGES_MAX; pages++) {
    const page: ObjectList = await read({ after, limit: PAGE_OBJECTS });
    for (const { id, attributes } of page.objects) if (objects.has(id)) found.set(id, attributes as Attributes);
    after = page.next;
  }
  if (after === null) for (const id of objects.keys()) if (!found.has(id)) found.set(id, null);
  return found;
}

async function lookUp(objects: Objects, read: ReadPage): Promise<Found> {
  const ids = [...objects.keys()].slice(0, LOOKUPS_MAX);
  const found = new Map<string, Attributes | null>();
  for (let first = 0; first < ids.length; first += LOOKUPS_AT_ONCE) {
    const batch = ids.slice(first, first + LOOKUPS_AT_ONCE);
    const stored = await Promise.all(batch.map((id) => readObject(id, read)));
    for (const [index, id] of batch.entries()) found.set(id, stored[index] ?? null);
  }
  return found;
}

/** Returns an object as it is now; null: there is none. */
export async function readObject(id: string, read: ReadPage): Promise<Attributes | null> {
  try {
    const { objects } = await read({ from: id, limit: 1 });
    return (objects[0]?.attributes ?? null) as Attributes | null;
  } catch (error) {
    if (error instanceof TidemarkError && error.code === 'object_not_found') return null;
    throw error;
  }
}
