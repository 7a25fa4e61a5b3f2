import type { Replica } from '../replica/replica.ts';
import { referencesOf } from '../uploads/links.ts';
import type { SourceView, SyncedObject, ViewChange } from '../view/source-view.ts';
import type { IndexedSource, LiveQuery } from './indexed-source.ts';
import { KeptQueries } from './kept-queries.ts';
import { MemoryQuery } from './memory-query.ts';
import type { Query } from './query.ts';
import type { QueryOptions } from './query-options.ts';
import type { ResultRecorder } from './result-recorder.ts';
import { type IndexRange, SourceIndex } from './source-index.ts';
import type { CompiledWhere } from './where.ts';

/** What answers the queries of sources on the disk, and of those that include objects of such sources. */
export interface QueriesOnDisk {
  has(source: string): boolean;
  isConcerned(source: string, options: QueryOptions): boolean;
  query(source: string, options: QueryOptions): Query;
  addIndex(source: string, path: string): void;
}

/** The queries of all sources of a device. */
export class DeviceQueries {
  readonly #replica: Replica;
  readonly #sources = new Map<string, SourceQueries>();
  /** Sources that the app has read as lists. */
  readonly #listed = new Set<string>();
  /** Records the results of live queries, if the app wants to start with them. */
  readonly recorder: ResultRecorder | null;
  /** Null: all objects are in memory. */
  disk: QueriesOnDisk | null = null;

  constructor(replica: Replica, recorder: ResultRecorder | null) {
    this.#replica = replica;
    this.recorder = recorder;
  }

  get loaded(): Promise<void> | null {
    return this.#replica.loaded;
  }

  query(source: string, options: QueryOptions): Query {
    if (this.disk?.isConcerned(source, options) === true) return this.disk.query(source, options);
    return this.of(source).query(options);
  }

  addIndex(source: string, path: string): void {
    if (this.disk?.has(source) === true) this.disk.addIndex(source, path);
    else this.of(source).index(path);
  }

  /** Queries of a source in memory. */
  of(source: string): SourceQueries {
    const known = this.#sources.get(source);
    if (known !== undefined) return known;
    const queries = new SourceQueries(this, source, this.#replica.views.of(source));
    this.#sources.set(source, queries);
    return queries;
  }

  noteListed(source: string): void {
    this.#listed.add(source);
  }

  /** True if the app has read the source from memory. */
  isUsed(source: string): boolean {
    return this.#sources.has(source) || this.#listed.has(source);
  }

  /** The source that an attribute refers to, if the server has declared that. */
  targetOf(source: string, attribute: string): string | undefined {
    const { reader } = this.#replica;
    const references = referencesOf(reader.get('sources', ['', source]), reader.versions);
    return Object.hasOwn(references, attribute) ? references[attribute] : undefined;
  }

  /** The same, as a source in memory. */
  referenceTarget(source: string, attribute: string): SourceQueries | undefined {
    const target = this.targetOf(source, attribute);
    return target === undefined ? undefined : this.of(target);
  }
}

/** The indexes and queries of one source. */
export class SourceQueries implements IndexedSource {
  readonly name: string;
  readonly view: SourceView;
  readonly #device: DeviceQueries;
  readonly #indexes = new Map<string, SourceIndex>();
  /** The indexes on the objects that arrive in a first sync, which replace the others when it is complete. */
  readonly #arriving = new Map<string, SourceIndex>();
  readonly #live = new Set<LiveQuery>();
  /** Live queries of this and other sources with relations that lead here. */
  readonly #dependents = new Set<LiveQuery>();
  readonly #kept = new KeptQueries<MemoryQuery>();
  #version = 0;

  constructor(device: DeviceQueries, name: string, view: SourceView) {
    this.#device = device;
    this.name = name;
    this.view = view;
    view.follow({
      change: (changes) => this.#change(changes),
      prepare: (changes) => this.#prepare(changes),
      reveal: () => this.#reveal(),
    });
    view.subscribe(() => this.#notify());
  }

  get loaded(): Promise<void> | null {
    return this.#device.loaded;
  }

  get version(): number {
    return this.#version;
  }

  /** Returns the same query for the same options while it is live or was used lately. */
  query(options: QueryOptions): MemoryQuery {
    return this.#kept.of(options, () => new MemoryQuery(this, options));
  }

  index(path: string): SourceIndex {
    const known = this.#indexes.get(path);
    if (known !== undefined) return known;
    const index = new SourceIndex(path, this.view.objects());
    this.#indexes.set(path, index);
    return index;
  }

  sibling(source: string): SourceQueries {
    return this.#device.of(source);
  }

  referenceTarget(attribute: string): SourceQueries | undefined {
    return this.#device.referenceTarget(this.name, attribute);
  }

  candidates(conditions: CompiledWhere['ranges']): Iterable<SyncedObject> {
    let best: { readonly index: SourceIndex; readonly ranges: readonly IndexRange[]; readonly count: number } | null =
      null;
    for (const { path, ranges } of conditions) {
      const index = this.#indexes.get(path);
      if (index === undefined) continue;
      const count = ranges.reduce((sum, range) => sum + index.count(range), 0);
      if (best === null || count < best.count) best = { index, ranges, count };
    }
    if (best === null) return this.view.objects();
    const { index, ranges } = best;
    return ranges.flatMap((range) => index.objects(range));
  }

  attach(query: LiveQuery, targets: Iterable<IndexedSource>): void {
    this.#live.add(query);
    this.#device.recorder?.add(query, [this, ...targets]);
    for (const target of targets) target.addDependent(query);
  }

  detach(query: LiveQuery, targets: Iterable<IndexedSource>): void {
    this.#live.delete(query);
    for (const target of targets) target.removeDependent(query);
  }

  addDependent(query: LiveQuery): void {
    this.#dependents.add(query);
  }

  removeDependent(query: LiveQuery): void {
    this.#dependents.delete(query);
  }

  #change(changes: readonly ViewChange[]): void {
    this.#version++;
    for (const index of this.#indexes.values()) {
      for (const { before, after } of changes) index.change(before, after);
    }
    for (const query of this.#live) query.change(changes);
    for (const query of this.#dependents) query.changeRelated(this, changes);
  }

  #prepare(changes: readonly ViewChange[]): void {
    for (const path of this.#indexes.keys()) {
      const index = this.#arriving.get(path);
      if (index === undefined) this.#arriving.set(path, new SourceIndex(path, this.view.arriving()));
      else for (const { before, after } of changes) index.change(before, after);
    }
    for (const query of this.#live) query.prepare(changes);
  }

  #reveal(): void {
    this.#version++;
    for (const path of this.#indexes.keys()) {
      this.#indexes.set(path, this.#arriving.get(path) ?? new SourceIndex(path, this.view.objects()));
    }
    this.#arriving.clear();
    for (const query of new Set([...this.#live, ...this.#dependents])) query.reveal(this);
  }

  #notify(): void {
    this.#device.recorder?.recordSoon();
    for (const query of new Set([...this.#live, ...this.#dependents])) query.notify();
  }
}
