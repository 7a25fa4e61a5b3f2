import { ObjectRecord } from '../journal/record.ts';
import type { Change, StoredObject } from '../ports/store.ts';
import { liveRecord } from './effect.ts';

/** An object before and after a write: attribute → its JSON text; null: there was, or is, no such object. */
export interface ChangedObject {
  readonly id: string;
  readonly before: ReadonlyMap<string, string> | null;
  readonly after: ReadonlyMap<string, string> | null;
}

/** Is told of the first objects that a write has changed, after the commit. */
export interface ChangeObserver {
  /** Of how many objects at most. */
  readonly objectsMax: number;
  observe(changed: readonly ChangedObject[]): void;
}

/** Collects the changes of one attempt to write. Does nothing if nobody observes. */
export class ObservedChanges {
  readonly #observer: ChangeObserver | null;
  readonly #pending: { readonly stored: StoredObject | undefined; readonly change: Change }[] = [];

  constructor(observer: ChangeObserver | null) {
    this.#observer = observer;
  }

  /** Adds a change with the object as it was read. A change of null is none. */
  add(stored: StoredObject | undefined, change: Change | null): void {
    if (this.#observer === null || change === null || this.#pending.length >= this.#observer.objectsMax) return;
    this.#pending.push({ stored, change });
  }

  /** Tells the observer, if the attempt was committed. Returns its outcome. */
  tell<T extends { readonly seq: number }>(outcome: T | null): T | null {
    if (outcome === null || this.#pending.length === 0) return outcome;
    this.#observer?.observe(
      this.#pending.map(({ stored, change: { id, record } }) => ({
        id,
        before: attributesOf(liveRecord(stored)),
        after: attributesOf(record === null ? null : new ObjectRecord(record, outcome.seq)),
      })),
    );
    return outcome;
  }
}

function attributesOf(record: ObjectRecord | null): ReadonlyMap<string, string> | null {
  return record === null ? null : new Map(record.attributes);
}
