import type { Attributes, TidemarkClient } from '@tidemark/backend';
import { readNamed, readPage, type StoredPage } from './hidden-source.ts';
import { IdFilter } from './id-filter.ts';

/** The owner that was last stored for a row. For members `owner` is the user and `extra` the group. */
export interface Assignment {
  /** Null: the row has no owner. */
  readonly owner: string | null;
  /** The object id of the parent, the group of a member, or `made` for a user whom the connector has created. */
  readonly extra: string | null;
  /** True: Tidemark does not have the object, because it refused it or there is no such user. */
  readonly isMissing?: boolean;
}

/** Bounds the memory of one table; about 130 bytes each. */
const CACHED_MAX = 200_000;

/**
 * The owners of the rows of one table. A change says whose the row is, but with the default replica identity not whose it was,
 * and a row with a parent says neither. It is stored in Tidemark, so that it is as durable as the data, and the same for all servers.
 */
export class Assignments {
  readonly #client: TidemarkClient;
  readonly #partition: { readonly source: string; readonly group: string };
  readonly #cache = new Map<string, Assignment | null>();
  /** Those that the cache had no room for; null: there are none. */
  #dropped: IdFilter | null = null;
  readonly #cachedMax: number;
  /** Whether what is neither in the cache nor among those dropped does not exist; null: not known yet. */
  #isComplete: boolean | null = null;

  constructor(client: TidemarkClient, source: string, label: string, cachedMax = CACHED_MAX) {
    this.#client = client;
    this.#partition = { source, group: label };
    this.#cachedMax = cachedMax;
  }

  async read(ids: Iterable<string>): Promise<ReadonlyMap<string, Assignment>> {
    this.#isComplete ??= await this.#isEmpty();
    const found = new Map<string, Assignment>();
    const unknown: string[] = [];
    for (const id of ids) {
      const cached = this.#cache.has(id) || this.#mayBeStored(id) ? this.#cache.get(id) : null;
      if (cached === undefined) unknown.push(id);
      else if (cached !== null) found.set(id, cached);
    }
    const stored = await readNamed(this.#client, this.#partition, unknown);
    for (const id of unknown) {
      const attributes = stored.get(id);
      const assignment = attributes === undefined ? null : readAssignment(attributes);
      this.#remember(id, assignment);
      if (assignment !== null) found.set(id, assignment);
    }
    return found;
  }

  /** Null deletes an assignment. */
  async write(changes: ReadonlyMap<string, Assignment | null>): Promise<void> {
    if (changes.size === 0) return;
    const objects = new Map<string, Attributes>();
    const deletes: string[] = [];
    for (const [id, assignment] of changes) {
      if (assignment === null) deletes.push(id);
      else objects.set(id, attributesOf(assignment));
    }
    const { source, group } = this.#partition;
    await this.#client.push.objects(source, objects, { group, deletes, whole: true });
    this.#isComplete ??= false;
    for (const [id, assignment] of changes) this.#remember(id, assignment);
  }

  /** One page of all rows that have an assignment. */
  page(after: number): Promise<StoredPage> {
    return readPage(this.#client, this.#partition, after);
  }

  /** Whether an id that is not in the cache may have an assignment. */
  #mayBeStored(id: string): boolean {
    return this.#isComplete !== true || this.#dropped?.mayHave(id) === true;
  }

  #remember(id: string, assignment: Assignment | null): void {
    this.#cache.delete(id);
    this.#cache.set(id, assignment);
    if (this.#cache.size <= this.#cachedMax) return;
    const [oldest] = this.#cache;
    if (oldest === undefined) return;
    this.#cache.delete(oldest[0]);
    if (oldest[1] === null) return;
    this.#dropped ??= new IdFilter();
    this.#dropped.add(oldest[0]);
  }

  async #isEmpty(): Promise<boolean> {
    const { objects } = await this.#client.documents.objects(this.#partition, { limit: 1 });
    return objects.length === 0;
  }
}

function attributesOf({ owner, extra, isMissing = false }: Assignment): Attributes {
  return { owner, extra, ...(isMissing ? { missing: true } : {}) };
}

function readAssignment({ owner, extra, missing }: Attributes): Assignment {
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return { owner: text(owner), extra: text(extra), ...(missing === true ? { isMissing: true } : {}) };
}
