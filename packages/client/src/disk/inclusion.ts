import { type ParsedPath, parsePath, valueAt } from '@tidemark/protocol';
import type { LiveQuery } from '../queries/indexed-source.ts';
import { orderOf } from '../queries/order.ts';
import type { Include, Relation } from '../queries/query-options.ts';
import { isSameRow, type Related } from '../queries/same-row.ts';
import type { SourceQueries } from '../queries/source-queries.ts';
import { compileWhere } from '../queries/where.ts';
import type { Remade } from '../state/disk-work.ts';
import type { SyncedObject } from '../view/source-view.ts';
import type { ChangedHere, StoredChange } from './changes.ts';
import type { DiskFollower, DiskView } from './disk-view.ts';
import { select } from './selection.ts';
import { StoredWindow } from './stored-window.ts';

/** A source that a relation leads to. */
export type Target = { readonly view: DiskView } | { readonly queries: SourceQueries };

/** Finds the sources of relations. */
export interface Targets {
  target(source: string): Target;
  /** The source that an attribute refers to, if the server has declared that. */
  targetOf(source: string, attribute: string): string | undefined;
  addIndex(source: string, path: string): Promise<void>;
}

/** One relation of a query. */
interface ResolvedRelation {
  readonly target: Target;
  /** To be called before `related`, with all rows. */
  begin(): void;
  related(object: SyncedObject): Related;
  /** Reads what rows include that is not in memory. */
  load(objects: readonly SyncedObject[]): Promise<void>;
  isLoaded(object: SyncedObject): boolean;
  apply(changes: readonly StoredChange[]): void;
  remake(how: Remade): void;
  uses(id: string): boolean;
}

type Query = DiskFollower & LiveQuery;

/** What the objects of a query include, where the query or one of its relations is about a source on the disk. */
export class Inclusion {
  readonly #source: string;
  readonly #named: readonly (readonly [name: string, relation: Relation])[];
  readonly #targets: Targets;
  readonly #resolved = new Map<string, ResolvedRelation>();
  #unfollow: readonly (() => void)[] = [];
  #follower: Query | null = null;

  constructor(source: string, include: Include | undefined, targets: Targets) {
    this.#source = source;
    this.#named = Object.entries(include ?? {});
    this.#targets = targets;
  }

  get isNone(): boolean {
    return this.#named.length === 0;
  }

  /** Makes the query follow the sources that relations lead to. */
  attach(query: Query): void {
    this.#follower = query;
    this.#resolve();
  }

  detach(): void {
    this.#follower = null;
    for (const unfollow of this.#unfollow) unfollow();
    this.#unfollow = [];
    this.#resolved.clear();
  }

  isLoaded(objects: readonly SyncedObject[]): boolean {
    this.#resolve();
    return [...this.#resolved.values()].every((relation) => objects.every((object) => relation.isLoaded(object)));
  }

  async load(objects: readonly SyncedObject[]): Promise<void> {
    for (const relation of this.#resolved.values()) await relation.load(objects);
  }

  /** Returns the objects with what they include; previous rows where nothing differs. */
  rows(objects: readonly SyncedObject[], previous: ReadonlyMap<string, SyncedObject>): readonly SyncedObject[] {
    if (this.isNone) return objects;
    for (const relation of this.#resolved.values()) relation.begin();
    return objects.map((object) => this.#rowOf(object, previous.get(object.id)));
  }

  changeStored(view: DiskView, changes: readonly StoredChange[]): void {
    for (const relation of this.#leadingTo(view)) relation.apply(changes);
  }

  remake(view: DiskView, how: Remade): void {
    for (const relation of this.#leadingTo(view)) relation.remake(how);
  }

  uses(view: DiskView, id: string): boolean {
    return this.#leadingTo(view).some((relation) => relation.uses(id));
  }

  #leadingTo(view: DiskView): readonly ResolvedRelation[] {
    return [...this.#resolved.values()].filter(({ target }) => 'view' in target && target.view === view);
  }

  /** The server declares references with the source, which may not be known yet. */
  #resolve(): void {
    for (const [name, relation] of this.#named) {
      const resolved = this.#resolved.has(name) ? undefined : resolve(this.#source, relation, this.#targets);
      if (resolved === undefined) continue;
      this.#resolved.set(name, resolved);
      this.#follow(resolved.target);
    }
  }

  #follow(target: Target): void {
    const query = this.#follower;
    if (query === null) return;
    if ('view' in target) this.#unfollow = [...this.#unfollow, target.view.follow(query)];
    else {
      target.queries.addDependent(query);
      this.#unfollow = [...this.#unfollow, () => target.queries.removeDependent(query)];
    }
  }

  #rowOf(object: SyncedObject, previous: SyncedObject | undefined): SyncedObject {
    const included = Object.freeze(
      Object.fromEntries(this.#named.map(([name]) => [name, this.#resolved.get(name)?.related(object)])),
    );
    const row = Object.freeze({ ...object, included });
    return previous !== undefined && isSameRow(row, previous as typeof row) ? previous : row;
  }
}

function resolve(own: string, relation: Relation, targets: Targets): ResolvedRelation | undefined {
  if (typeof relation === 'string') {
    const target = targets.targetOf(own, relation);
    return target === undefined ? undefined : toOne(targets.target(target), parsePath(relation));
  }
  const name = typeof relation.source === 'string' ? relation.source : relation.source.name;
  const target = targets.target(name);
  if ('via' in relation) return toOne(target, parsePath(relation.via));
  if ('view' in target) return toManyOnDisk(target.view, relation.by, targets);
  target.queries.index(relation.by);
  return inMemory(target, ({ id }) => Object.freeze(target.queries.index(relation.by).withValue(id)));
}

function toOne(target: Target, path: ParsedPath): ResolvedRelation {
  const idIn = ({ attributes }: SyncedObject) => {
    const id = valueAt(attributes, path);
    return typeof id === 'string' ? id : undefined;
  };
  if ('queries' in target) {
    return inMemory(target, (object) => {
      const id = idIn(object);
      return id === undefined ? undefined : target.queries.view.get(id);
    });
  }
  const { view } = target;
  let used = new Set<string>();
  return {
    target,
    begin: () => {
      used = new Set();
    },
    related: (object) => {
      const id = idIn(object);
      if (id === undefined) return undefined;
      const related = view.get(id);
      used.add(related?.id ?? id);
      return related;
    },
    load: (objects) => view.load(objects.flatMap((object) => idIn(object) ?? [])),
    isLoaded: (object) => {
      const id = idIn(object);
      return id === undefined || view.isLoaded(id);
    },
    apply: () => undefined,
    remake: () => undefined,
    uses: (id) => used.has(id),
  };
}

/** The objects of a source on the disk that point to a row. */
function toManyOnDisk(view: DiskView, by: string, targets: Targets): ResolvedRelation {
  const order = orderOf(undefined);
  const windows = new Map<string, StoredWindow>();
  /** The rows whose windows are to be read again, and show meanwhile what they showed. */
  const outdated = new Set<string>();
  let changedHere: readonly ChangedHere[] = [];
  const read = async (id: string): Promise<StoredWindow | null> => {
    const where = compileWhere({ [by]: { eq: id } });
    const reading = await view.beginReading();
    try {
      const question = { source: view.source, where, order, indexes: view.usable(new Set([by])) };
      const { matches } = await select(view.disk, question, { skip: 0, take: Number.POSITIVE_INFINITY });
      const found = matches.map((match) => [match.id, match.attributes] as const);
      const objects = await view.admit(reading, found);
      if (objects === null) return null;
      const entries = matches.flatMap(({ id, key }, index) => {
        const object = objects[index];
        return object === undefined ? [] : [{ id, key, object }];
      });
      return new StoredWindow({ order, matches: where.matches }, 0, entries, true);
    } finally {
      reading.end();
    }
  };
  const isKnown = (id: string) => windows.has(id) && !outdated.has(id);
  return {
    target: { view },
    begin: () => {
      changedHere = view.changedHere();
    },
    related: ({ id }) => {
      const rows = windows.get(id)?.rows(changedHere, 0, Number.POSITIVE_INFINITY);
      return Object.freeze((rows?.entries ?? []).map(({ object }) => object));
    },
    load: async (objects) => {
      if (view.isInVersionOfApp) await targets.addIndex(view.source, by);
      const ids = new Set(objects.map(({ id }) => id));
      for (const id of [...windows.keys()].filter((id) => !ids.has(id))) {
        windows.delete(id);
        outdated.delete(id);
      }
      if (view.isHidden) return;
      for (const id of ids) {
        const window = isKnown(id) ? null : await read(id);
        if (window === null) continue;
        windows.set(id, window);
        outdated.delete(id);
      }
    },
    isLoaded: ({ id }) => view.isHidden || isKnown(id),
    apply: (changes) => {
      for (const window of windows.values()) window.apply(changes);
    },
    remake: (how) => {
      for (const [id, window] of windows) {
        if (how === 'emptied') window.clear();
        else outdated.add(id);
      }
    },
    uses: (id) => [...windows.values()].some((window) => window.has(id)),
  };
}

function inMemory(target: Target, related: (object: SyncedObject) => Related): ResolvedRelation {
  const nothing = () => undefined;
  return {
    ...{ target, related, begin: nothing, apply: nothing, remake: nothing },
    load: () => Promise.resolve(),
    isLoaded: () => true,
    uses: () => false,
  };
}
