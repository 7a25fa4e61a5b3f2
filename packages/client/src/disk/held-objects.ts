import { HELD_OBJECTS } from '../limits.ts';
import type { Attributes } from '../state/rows.ts';
import type { SyncedObject } from '../view/source-view.ts';

/** An object of a source on the disk that is in memory. */
export interface HeldObject {
  /** As it is stored; undefined: it is not there. */
  readonly stored: Attributes | undefined;
  /** The groups that have it; undefined: none, or the data of the source does not belong to groups. */
  readonly groups: readonly string[] | undefined;
  /** As the app sees it; undefined: the app sees none. */
  readonly object: SyncedObject | undefined;
  readonly isChangedHere: boolean;
}

const NONE: ReadonlySet<string> = new Set();

/** The objects of a source on the disk that are in memory: those that are needed, and some that were read lately. */
export class HeldObjects {
  readonly #isNeeded: (id: string) => boolean;
  /** The one that was read last at the end. */
  readonly #objects = new Map<string, HeldObject>();
  /** How many there may be before some are dropped that nothing needs. */
  #max = HELD_OBJECTS;
  /** How many there may be while objects are read that somebody waits for. */
  #reserved = 0;

  constructor(isNeeded: (id: string) => boolean) {
    this.#isNeeded = isNeeded;
  }

  has(id: string): boolean {
    return this.#objects.has(id);
  }

  get(id: string): HeldObject | undefined {
    return this.#objects.get(id);
  }

  ids(): readonly string[] {
    return [...this.#objects.keys()];
  }

  /** Makes room for as many more, which are kept until the next ones are read. Those that are wanted with them are kept, too. */
  reserve(count: number, wanted: ReadonlySet<string> = NONE): void {
    if (this.#objects.size > this.#max) this.#drop(wanted);
    this.#reserved = this.#objects.size + count;
  }

  set(id: string, object: HeldObject): HeldObject {
    this.#objects.delete(id);
    this.#objects.set(id, object);
    if (this.#objects.size > Math.max(this.#max, this.#reserved)) this.#drop(new Set([id]));
    return object;
  }

  /** Drops the older half of what nothing needs. */
  #drop(wanted: ReadonlySet<string>): void {
    const idle = this.ids().filter((id) => !wanted.has(id) && !this.#isNeeded(id));
    for (const id of idle.slice(0, Math.max(0, idle.length - HELD_OBJECTS / 2))) this.#objects.delete(id);
    this.#max = Math.max(HELD_OBJECTS, this.#objects.size + HELD_OBJECTS / 2);
  }
}
