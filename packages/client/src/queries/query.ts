import type { Observable } from '../view/observable.ts';
import type { SyncedObject } from '../view/source-view.ts';

/** A query and its result, which follows every change by itself while it has subscribers. */
export interface Query<T = SyncedObject> extends Observable<readonly T[]> {
  /** The same as `getSnapshot`: the result; the same list until it changes. Of a source on the disk it is empty until `isLoading` is false. */
  readonly list: () => readonly T[];
  /** How many objects match, whatever `limit` and `offset` leave out. Of a source on the disk it grows until `isLoading` is false. */
  readonly count: () => number;
  /** The number of objects that match, to subscribe to. */
  readonly total: Observable<number>;
  /** True until the first result is there. Subscribers are told when it is. */
  readonly isLoading: boolean;
  /** True while it has subscribers. */
  readonly isLive: boolean;
  /** Resolves with the result when it is there, and shows every change made or received before the call. */
  fetch(): Promise<readonly T[]>;
}
