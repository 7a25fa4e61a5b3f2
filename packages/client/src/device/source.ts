import type { Untyped } from '@tidemark/protocol';
import type { DeviceHost } from '../engine/device-host.ts';
import type { FollowOptions } from '../pull/followed-groups.ts';
import { Pages } from '../queries/pages.ts';
import type { Query } from '../queries/query.ts';
import type { Include, PagesOptions, QueriedObject, QueryOptions, Relatives } from '../queries/query-options.ts';
import type { DeviceQueries } from '../queries/source-queries.ts';
import type { CreateOptions, Draft } from '../replica/draft.ts';
import type { Attributes } from '../state/rows.ts';
import type { Observable } from '../view/observable.ts';
import type { SyncedObject } from '../view/source-view.ts';

/** The objects of one source as the app sees them: the state of the server with the local changes applied. */
export class Source<A extends object = Attributes, R extends Relatives = Untyped>
  implements Observable<readonly SyncedObject<A>[]>
{
  readonly name: string;
  readonly #host: DeviceHost;
  readonly #queries: DeviceQueries;
  readonly #write: <T>(change: (draft: Draft) => T) => Promise<T>;

  constructor(
    host: DeviceHost,
    { name, queries }: { readonly name: string; readonly queries: DeviceQueries },
    write: <T>(change: (draft: Draft) => T) => Promise<T>,
  ) {
    this.#host = host;
    this.#queries = queries;
    this.name = name;
    this.#write = write;
  }

  /**
   * Returns the objects that match, in an order and with their relations, as a list that follows every change. The same
   * options give the same query.
   */
  query<const I extends Include<R> = Record<never, never>>(
    options: QueryOptions<A, I> = {},
  ): Query<QueriedObject<A, I, R>> {
    return this.#queries.query(this.name, options as unknown as QueryOptions) as Query<unknown> as Query<
      QueriedObject<A, I, R>
    >;
  }

  /**
   * Returns the objects that match as a list that grows page by page, for lists that are too long to show at once. Every call
   * returns a new list.
   */
  pages<const I extends Include<R> = Record<never, never>>({
    size,
    ...options
  }: PagesOptions<A, I>): Pages<QueriedObject<A, I, R>> {
    const given = options as unknown as Omit<QueryOptions<A, I>, 'limit' | 'offset'>;
    return new Pages(size, (limit) => this.query<I>({ ...given, limit } as QueryOptions<A, I>));
  }

  /**
   * Returns all objects, sorted by id; the same list until one of them changes. Throws `not_in_memory` if the source is kept on the
   * disk.
   */
  readonly list = (): readonly SyncedObject<A>[] => {
    this.#queries.noteListed(this.name);
    return this.#host.replica.view(this.name).list() as readonly unknown[] as readonly SyncedObject<A>[];
  };

  readonly getSnapshot = this.list;

  /**
   * Returns the same value until the object changes. An object created here is found by its first id until the app is
   * restarted. Of a source on the disk only objects are found that are loaded: see `fetch`.
   */
  readonly get = (id: string): SyncedObject<A> | undefined => {
    return this.#host.replica.view(this.name).get(id) as SyncedObject | undefined as SyncedObject<A> | undefined;
  };

  /** Returns the object wherever it is kept, and loads it for `get`. */
  async fetch(id: string): Promise<SyncedObject<A> | undefined> {
    const { replica } = this.#host;
    await replica.loaded;
    await replica.view(this.name).load([id]);
    return this.get(id);
  }

  /**
   * Limits the groups whose objects this device keeps, from now on and after restarts, until the user signs out. Objects of
   * the other groups are removed, after `keepForMs` if that is given; meanwhile they are shown as they are. Resolves when it
   * is stored.
   */
  async follow(options: FollowOptions): Promise<void> {
    await this.#host.run('follow', this.name, options);
  }

  /** Calls the listener after every change of any object. Returns the unsubscribe function. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#queries.noteListed(this.name);
    return this.#host.replica.view(this.name).subscribe(listener);
  };

  /**
   * The object is visible before this call returns. Resolves when it is stored; it is uploaded when there is a
   * network.
   */
  async create(attributes: A, options: CreateOptions = {}): Promise<SyncedObject<A>> {
    const id = await this.#write((draft) => draft.create(this.name, attributes, options));
    return this.#found(id);
  }

  /** An attribute with the value undefined is removed. */
  async update(id: string, changes: { readonly [K in keyof A]?: A[K] | undefined }): Promise<SyncedObject<A>> {
    await this.#write((draft) => draft.update(this.name, id, changes));
    return this.#found(id);
  }

  async delete(id: string): Promise<void> {
    await this.#write((draft) => draft.delete(this.name, id));
  }

  #found(id: string): SyncedObject<A> {
    const object = this.get(id);
    if (object === undefined) throw new Error(`${this.name} no longer has ${JSON.stringify(id)} after the write`);
    return object;
  }
}
