import { ClientError } from '../client-error.ts';
import { QUERIES_KEPT_MAX } from '../limits.ts';
import type { Replica } from '../replica/replica.ts';
import type { SourceView, SyncedObject, ViewChange } from '../view/source-view.ts';
import type { IndexedSource, LiveQuery } from './indexed-source.ts';
import { Query } from './query.ts';
import type { QueryOptions } from './query-options.ts';
import type { ResultRecorder } from './result-recorder.ts';
import { type IndexRange, SourceIndex } from './source-index.ts';
import type { CompiledWhere } from './where.ts';

/** The queries of all sources of a device. */
export class DeviceQueries {
  readonly #replica: Replica;
  readonly #sources = new Map<string, SourceQueries>();
  /** Records the results of live queries, if the app wants to start with them. */
  readonly recorder: ResultRecorder | null;

  constructor(replica: Replica, recorder: ResultRecorder | null) {
    this.#replica = replica;
    this.recorder = recorder;
  }

  of(source: string): SourceQueries {
    const known = this.#sources.get(source);
    if (known !== undefined) return known;
    const queries = new SourceQueries(this, source, this.#replica.view(source));
    this.#sources.set(source, queries);
    return queries;
  }

  /** The source that an attribute refers to, if the server has declared that. */
  referenceTarget(source: string, attribute: string): SourceQueries | undefined {
    const references = this.#replica.reader.get('sources', ['', source])?.description.references ?? {};
    const target = Object.hasOwn(references, attribute) ? references[attribute] : undefined;
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
  /** Queries by their options, the one used last at the end. */
  readonly #kept = new Map<string, Query>();
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

  get version(): number {
    return this.#version;
  }

  /** Returns the same query for the same options while it is live or was used lately. */
  query(options: QueryOptions): Query {
    const key = keyOf(options);
    const query = this.#kept.get(key) ?? new Query(this, options);
    this.#kept.delete(key);
    this.#kept.set(key, query);
    if (this.#kept.size > QUERIES_KEPT_MAX) this.#dropOldest();
    return query;
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

  #dropOldest(): void {
    for (const [key, query] of this.#kept) {
      if (query.isLive) continue;
      this.#kept.delete(key);
      return;
    }
  }
}

function keyOf({ where, orderBy, limit, offset, include = {} }: QueryOptions): string {
  const relations = Object.entries(include).map(([name, relation]) =>
    typeof relation === 'string' || typeof relation.source === 'string'
      ? [name, relation]
      : [name, { ...relation, source: relation.source.name }],
  );
  const members = [where ?? {}, orderBy ?? [], limit ?? null, offset ?? 0, relations];
  return JSON.stringify(members, function (this: Readonly<Record<string, unknown>>, name, value: unknown) {
    return value === this[name] && isJson(value) ? value : refuse(name);
  });
}

function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'string' || typeof value === 'boolean' || typeof value === 'object';
}

function refuse(name: string): never {
  throw new ClientError('invalid_request', `"${name}" of a query: expected JSON; dates must be texts or numbers`);
}
