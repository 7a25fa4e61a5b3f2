import type { SourceView, SyncedObject, ViewChange } from '../view/source-view.ts';
import type { SourceIndex } from './source-index.ts';
import type { CompiledWhere } from './where.ts';

/** A query that follows the changes of its source. */
export interface LiveQuery {
  /** Takes over the changes of its source. */
  change(changes: readonly ViewChange[]): void;
  /** Takes over the changes of a source that a relation leads to. */
  changeRelated(target: IndexedSource, changes: readonly ViewChange[]): void;
  /** Prepares the result for objects of its source that arrive in a first sync, which the app does not see yet. */
  prepare(changes: readonly ViewChange[]): void;
  /** Shows the prepared result, because its source shows what has arrived; or what its objects include of another source that does. */
  reveal(source: IndexedSource): void;
  /** Tells subscribers what has changed since they were told last. */
  notify(): void;
  /** False when it has no subscribers any more. */
  readonly isLive: boolean;
  getSnapshot(): readonly unknown[];
}

/** What a query needs of a source. */
export interface IndexedSource {
  readonly name: string;
  readonly view: SourceView;
  /** Resolves when all objects are in memory; null: they are. */
  readonly loaded: Promise<void> | null;
  /** Increases with every change of an object. */
  readonly version: number;
  /** Returns the index on a path, which is made if there is none. */
  index(path: string): SourceIndex;
  /** The objects that may match: those of the smallest range of an index, all where none helps. */
  candidates(conditions: CompiledWhere['ranges']): Iterable<SyncedObject>;
  /** Passes changes of this source and of the targets on to the query. */
  attach(query: LiveQuery, targets: Iterable<IndexedSource>): void;
  detach(query: LiveQuery, targets: Iterable<IndexedSource>): void;
  /** Passes changes on to a query of a source whose relation leads here. */
  addDependent(query: LiveQuery): void;
  removeDependent(query: LiveQuery): void;
  /** Another source of the device. */
  sibling(source: string): IndexedSource;
  /** The source that an attribute refers to, if the server has declared that. */
  referenceTarget(attribute: string): IndexedSource | undefined;
}
