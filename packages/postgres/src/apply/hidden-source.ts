import { createHash } from 'node:crypto';
import { type Attributes, type SourceChanges, type TidemarkClient, TidemarkError } from '@tidemark/backend';
import { nameProblem } from '@tidemark/protocol';

/** The ids are part of an address, which may have 8,192 bytes with everything else in it. */
const IDS_BYTES_MAX = 7_000;
/** A comma, as addresses write it. */
const COMMA_BYTES = 3;
const PAGE_OBJECTS = 1_000;

export interface StoredPage {
  readonly objects: readonly { readonly id: string; readonly attributes: Attributes }[];
  /** Where the next page begins; null: this is the last one. */
  readonly next: number | null;
}

/** Whose objects are read. */
export type Partition =
  | { readonly source: string; readonly shared: true }
  | { readonly source: string; readonly user: string }
  | { readonly source: string; readonly group: string };

/** Reads the named objects of a partition, as many in each call as an address can hold. */
export async function readNamed(
  client: TidemarkClient,
  partition: Partition,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, Attributes>> {
  const found = new Map<string, Attributes>();
  // One after the other: a token may have two filtered lists under way.
  for (const some of portionsOf(ids)) {
    const filter = { '@id': { in: some } };
    const { objects } = await client.documents.objects(partition, { filter, limit: PAGE_OBJECTS });
    for (const { id, attributes } of objects) found.set(id, attributes as Attributes);
  }
  return found;
}

/** One page of all objects of a partition, in the order of their last change. */
export async function readPage(
  client: TidemarkClient,
  partition: Partition,
  after: number,
  limit = PAGE_OBJECTS,
): Promise<StoredPage> {
  const page = await client.documents.objects(partition, { after, limit });
  const objects = page.objects.map(({ id, attributes }) => ({ id, attributes: attributes as Attributes }));
  return { objects, next: page.next === null ? null : Number(page.next) };
}

function* portionsOf(ids: Iterable<string>): Generator<readonly string[]> {
  let portion: string[] = [];
  let bytes = 0;
  for (const id of ids) {
    // As it stands in the address, where quotes and most characters of other scripts take several bytes.
    const idBytes = encodeURIComponent(JSON.stringify(id)).length + COMMA_BYTES;
    if (portion.length === PAGE_OBJECTS || (portion.length > 0 && bytes + idBytes > IDS_BYTES_MAX)) {
      yield portion;
      [portion, bytes] = [[], 0];
    }
    portion.push(id);
    bytes += idBytes;
  }
  if (portion.length > 0) yield portion;
}

/**
 * The source in which a connector keeps what it must know of each row. Its data belongs to groups that have no members, so that
 * no device reads it.
 */
export function hiddenSource(name: string): string {
  return `tidemark.postgres.${name}`;
}

/** The id of an object there. A text that is too long for one, or has characters that no id may have, becomes its hash. */
export function hiddenId(text: string): string {
  return nameProblem('object', text) === null ? text : createHash('sha256').update(text).digest('hex');
}

/** What a connector decides about a source, besides its type. */
export type SourceSettings = Pick<
  SourceChanges,
  'read_only' | 'adapter' | 'poll_interval' | 'references' | 'conflicts'
>;

/** What a device changed here would never reach the database. */
export const READ_ONLY: SourceSettings = { read_only: true, adapter: 'none' };

/** What a connector says of a source that it feeds. */
export interface FedSource {
  readonly partitionType: 'app' | 'user' | 'group';
  /** Devices get nothing of a new one before it is complete. */
  readonly filling: boolean;
  /** Absent: devices can change nothing. */
  readonly settings?: SourceSettings;
}

/** Declares a source, or sets what differs. */
export async function declareSource(
  client: TidemarkClient,
  name: string,
  { partitionType, filling, settings = READ_ONLY }: FedSource,
): Promise<{ readonly isNew: boolean; readonly isFilling: boolean; readonly objects: number | null }> {
  const existing = await client.sources.get(name).catch((error: unknown) => {
    if (error instanceof TidemarkError && error.code === 'source_not_found') return null;
    throw error;
  });
  if (existing === null) {
    await client.sources.declare({ name, partition_type: partitionType, ...settings, filling });
    return { isNew: true, isFilling: filling, objects: 0 };
  }
  if (existing.partition_type !== partitionType) {
    throw new Error(
      `the source "${name}" has the partition type ${existing.partition_type}, and the mapping needs ${partitionType}: choose another source, or delete this one`,
    );
  }
  const now = existing as unknown as Readonly<Record<string, unknown>>;
  const isSame = Object.entries(settings).every(([key, value]) => JSON.stringify(now[key]) === JSON.stringify(value));
  if (!isSame) await client.sources.update(name, settings);
  return { isNew: false, isFilling: existing.filling, objects: existing.counts.objects };
}
