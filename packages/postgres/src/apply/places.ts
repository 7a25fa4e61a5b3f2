import type { Attributes, TidemarkClient } from '@tidemark/backend';
import { readNamed, readPage, type StoredPage } from './hidden-source.ts';

/** What is kept of a row: whose it is. For members `owner` is the user and `extra` the group. */
export interface Place {
  /** Null: nobody's. */
  readonly owner: string | null;
  /** The object id of the parent, the group of a member, or `made` for a user whom the connector has created. */
  readonly extra: string | null;
  /** True: Tidemark does not have the object, because it refused it or there is no such user. */
  readonly isMissing?: boolean;
}

/** Bounds the memory of one table; about 100 bytes each. */
const CACHED_MAX = 200_000;

/**
 * Where the rows of one table are. A change says whose the row is, but with the default replica identity not whose it was,
 * and a row with a parent says neither. Kept in Tidemark, so that it is as durable as the data, and the same for all servers.
 */
export class Places {
  readonly #client: TidemarkClient;
  readonly #partition: { readonly source: string; readonly group: string };
  readonly #cache = new Map<string, Place | null>();
  /** Whether what is not in the cache does not exist; null: not known yet. */
  #isComplete: boolean | null = null;

  constructor(client: TidemarkClient, source: string, label: string) {
    this.#client = client;
    this.#partition = { source, group: label };
  }

  async read(ids: Iterable<string>): Promise<ReadonlyMap<string, Place>> {
    this.#isComplete ??= await this.#isEmpty();
    const found = new Map<string, Place>();
    const unknown: string[] = [];
    for (const id of ids) {
      const cached = this.#cache.has(id) || !this.#isComplete ? this.#cache.get(id) : null;
      if (cached === undefined) unknown.push(id);
      else if (cached !== null) found.set(id, cached);
    }
    const stored = await readNamed(this.#client, this.#partition, unknown);
    for (const id of unknown) {
      const attributes = stored.get(id);
      const place = attributes === undefined ? null : placeIn(attributes);
      this.#remember(id, place);
      if (place !== null) found.set(id, place);
    }
    return found;
  }

  /** Null deletes a place. */
  async write(changes: ReadonlyMap<string, Place | null>): Promise<void> {
    if (changes.size === 0) return;
    const objects = new Map<string, Attributes>();
    const deletes: string[] = [];
    for (const [id, place] of changes) {
      if (place === null) deletes.push(id);
      else objects.set(id, attributesOf(place));
    }
    const { source, group } = this.#partition;
    await this.#client.push.objects(source, objects, { group, deletes, whole: true });
    this.#isComplete ??= false;
    for (const [id, place] of changes) this.#remember(id, place);
  }

  /** One page of all rows that have a place. */
  page(after: number): Promise<StoredPage> {
    return readPage(this.#client, this.#partition, after);
  }

  #remember(id: string, place: Place | null): void {
    this.#cache.delete(id);
    this.#cache.set(id, place);
    if (this.#cache.size <= CACHED_MAX) return;
    const [oldest] = this.#cache.keys();
    if (oldest !== undefined) this.#cache.delete(oldest);
    this.#isComplete = false;
  }

  async #isEmpty(): Promise<boolean> {
    const { objects } = await this.#client.documents.objects(this.#partition, { limit: 1 });
    return objects.length === 0;
  }
}

function attributesOf({ owner, extra, isMissing = false }: Place): Attributes {
  return { owner, extra, ...(isMissing ? { missing: true } : {}) };
}

function placeIn({ owner, extra, missing }: Attributes): Place {
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return { owner: text(owner), extra: text(extra), ...(missing === true ? { isMissing: true } : {}) };
}
