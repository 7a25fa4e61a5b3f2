import { LINKS_PER_SOURCE_MAX } from '../limits.ts';
import type { AppVersions } from '../state/app-versions.ts';
import type { Reader, Transaction } from '../state/local-state.ts';
import type { Attributes, SourceRow } from '../state/rows.ts';

/** Returns the current id of an object: apps and uploads may still use the temporary one. */
export function realId(reader: Reader, source: string, id: string): string {
  return reader.get('links', [source, id]) ?? id;
}

/** The attributes that a source declares as references, and the sources that they refer to. */
export type References = Readonly<Record<string, string>>;

const NO_REFERENCES: References = {};

/** The references by the names that the app has for the attributes, or a change of another version. */
export function referencesOf(
  row: SourceRow | undefined,
  versions: AppVersions | null = null,
  version?: number,
): References {
  const references = row?.description.references ?? NO_REFERENCES;
  return versions === null ? references : versions.named(row, references, version);
}

/** Replaces temporary ids in attributes that are references. Returns the same attributes if there are none. */
export function withRealReferences(reader: Reader, references: References, attributes: Attributes): Attributes {
  const renamed = Object.entries(references).flatMap(([name, target]) => {
    const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    const real = typeof value === 'string' ? realId(reader, target, value) : value;
    return real === undefined || real === value ? [] : [[name, real] as const];
  });
  return renamed.length === 0 ? attributes : Object.freeze({ ...attributes, ...Object.fromEntries(renamed) });
}

/**
 * Stores the final id of an object, and replaces the temporary one in everything that waits to be sent. The objects
 * themselves stay as the server sent them; views resolve links.
 */
export function addLink(tx: Transaction, source: string, from: string, to: string): void {
  const links = [...tx.entries('links', source)];
  for (const [id, target] of links) if (target === from) tx.put('links', [source, id], to);
  tx.put('links', [source, from], to);
  const [oldest] = links;
  if (links.length >= LINKS_PER_SOURCE_MAX && oldest !== undefined) tx.delete('links', [source, oldest[0]]);
  const link = { source, from, to };
  for (const [opId, row] of [...tx.entries('uploads', '')]) {
    tx.put('uploads', ['', opId], renamed(tx, row, link));
  }
  for (const [opId, row] of [...tx.entries('problems', '')]) {
    tx.put('problems', ['', opId], renamed(tx, row, link));
  }
}

interface Link {
  readonly source: string;
  readonly from: string;
  readonly to: string;
}

interface Renamable {
  readonly source: string;
  readonly id: string;
  readonly attributes: Attributes | null;
  readonly version?: number;
}

/** Does the same for the attributes of a change. */
export function withReferencesOf(
  reader: Reader,
  { source, version }: Pick<Renamable, 'source' | 'version'>,
  attributes: Attributes,
): Attributes {
  const references = referencesOf(reader.get('sources', ['', source]), reader.versions, version);
  return withRealReferences(reader, references, attributes);
}

/** Returns the same row if the link does not concern it. */
function renamed<R extends Renamable>(tx: Transaction, row: R, { source, from, to }: Link): R {
  const id = row.source === source && row.id === from ? to : row.id;
  const attributes = row.attributes && withReferencesOf(tx, row, row.attributes);
  return id === row.id && attributes === row.attributes ? row : { ...row, id, attributes };
}
