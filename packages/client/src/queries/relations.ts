import { type ParsedPath, parsePath, valueAt } from '@tidemark/protocol';
import type { SyncedObject, ViewChange } from '../view/source-view.ts';
import type { IndexedSource } from './indexed-source.ts';
import type { Include, Relation } from './query-options.ts';
import { isSameRow, type Related } from './same-row.ts';

/** One relation of a query, resolved from both of its sides. */
interface ResolvedRelation {
  readonly target: IndexedSource;
  related(object: SyncedObject): Related;
  /** The objects of the query's source whose relation a change of the target concerns. */
  concerned(change: ViewChange): readonly SyncedObject[];
}

type NamedRelation = readonly [name: string, relation: Relation];

/** The relations of a query, which find and update what its objects include. */
export class Relations {
  readonly #own: IndexedSource;
  readonly #named: readonly NamedRelation[];
  readonly #resolved = new Map<string, ResolvedRelation>();

  constructor(own: IndexedSource, include: Include | undefined) {
    this.#own = own;
    this.#named = Object.entries(include ?? {});
  }

  get isNone(): boolean {
    return this.#named.length === 0;
  }

  /**
   * Finds the sources of relations that were not known yet: the server declares references with the source. Returns true
   * if it found any.
   */
  resolve(): boolean {
    const before = this.#resolved.size;
    if (before === this.#named.length) return false;
    for (const [name, relation] of this.#named) {
      const resolved = this.#resolved.get(name) ?? resolve(this.#own, relation);
      if (resolved !== undefined) this.#resolved.set(name, resolved);
    }
    return this.#resolved.size > before;
  }

  /** The sources that relations lead to, as far as they are known. */
  targets(): ReadonlySet<IndexedSource> {
    return new Set([...this.#resolved.values()].map(({ target }) => target));
  }

  /** Returns the object with what it includes; the previous one if nothing differs. */
  rowOf(object: SyncedObject, previous: SyncedObject | undefined): SyncedObject {
    if (this.isNone) return object;
    const included = Object.freeze(
      Object.fromEntries(this.#named.map(([name]) => [name, this.#resolved.get(name)?.related(object)])),
    );
    const row = Object.freeze({ ...object, included });
    return previous !== undefined && isSameRow(row, previous as typeof row) ? previous : row;
  }

  /** The objects whose row a change of this source concerns. */
  concerned(target: IndexedSource, change: ViewChange): readonly SyncedObject[] {
    const relations = [...this.#resolved.values()].filter((relation) => relation.target === target);
    return relations.flatMap((relation) => relation.concerned(change));
  }
}

function resolve(own: IndexedSource, relation: Relation): ResolvedRelation | undefined {
  if (typeof relation !== 'string') {
    const target = own.sibling(typeof relation.source === 'string' ? relation.source : relation.source.name);
    return 'by' in relation ? toMany(own, target, relation.by) : toOne(own, target, relation.via);
  }
  const target = own.referenceTarget(relation);
  return target === undefined ? undefined : toOne(own, target, relation);
}

function toOne(own: IndexedSource, target: IndexedSource, via: string): ResolvedRelation {
  const path = parsePath(via);
  return {
    target,
    related: (object) => find(target, object, path),
    concerned: ({ id }) => own.index(via).withValue(id),
  };
}

function toMany(own: IndexedSource, target: IndexedSource, by: string): ResolvedRelation {
  const path = parsePath(by);
  // Made now, so that it grows as objects arrive in a first sync.
  target.index(by);
  return {
    target,
    related: ({ id }) => Object.freeze(target.index(by).withValue(id)),
    concerned: ({ before, after }) =>
      [before, after].flatMap((other) => (other === undefined ? [] : (find(own, other, path) ?? []))),
  };
}

/** The object that a value of another one names by its id. */
function find(source: IndexedSource, other: SyncedObject, path: ParsedPath): SyncedObject | undefined {
  const id = valueAt(other.attributes, path);
  return typeof id === 'string' ? source.view.get(id) : undefined;
}
