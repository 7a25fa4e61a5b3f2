import { WINDOW_SPARE_OBJECTS } from '../limits.ts';
import { countOf } from '../queries/count-of.ts';
import { orderOf } from '../queries/order.ts';
import type { QueryOptions } from '../queries/query-options.ts';
import { type CompiledWhere, compileWhere } from '../queries/where.ts';
import type { Remade } from '../state/disk-work.ts';
import type { Attributes } from '../state/rows.ts';
import type { SyncedObject } from '../view/source-view.ts';
import type { StoredChange } from './changes.ts';
import type { DiskView } from './disk-view.ts';
import { countMatching, type Question, select } from './selection.ts';
import { StoredWindow } from './stored-window.ts';

interface IndexesOf {
  indexesOf(source: string): Promise<ReadonlySet<string>>;
}

/** The rows of a query of a source on the disk: how they are read, and what has changed since. */
export class DiskWindow {
  readonly view: DiskView;
  /** True: what is in memory is not enough to say what the rows are. */
  mustRead = true;
  readonly #parts: IndexesOf;
  readonly #where: CompiledWhere;
  readonly #order: ReturnType<typeof orderOf>;
  readonly #from: number;
  readonly #to: number;
  #window: StoredWindow | null = null;
  /** How many objects match on the disk; null: they have not been counted. */
  #total: number | null = null;
  #wantsTotal = false;

  constructor(view: DiskView, { where, orderBy, offset = 0, limit }: QueryOptions, parts: IndexesOf) {
    this.view = view;
    this.#parts = parts;
    this.#where = compileWhere(where);
    this.#order = orderOf(orderBy);
    this.#from = countOf('offset', offset);
    this.#to = this.#from + countOf('limit', limit ?? Number.POSITIVE_INFINITY);
  }

  /** True: it has been read at least once. */
  get isRead(): boolean {
    return this.#window !== null;
  }

  has(id: string): boolean {
    return this.#window?.has(id) === true;
  }

  /** How many objects match with the changes made here; null: that is not known. */
  get total(): number | null {
    const stored = this.#window?.total ?? this.#total;
    return stored === null ? null : stored + (this.#window?.difference(this.view.changedHere()) ?? 0);
  }

  /** The same, and counts them with the next reading. */
  wantTotal(): number | null {
    this.#wantsTotal = true;
    const { total } = this;
    if (total === null) this.mustRead = true;
    return total;
  }

  apply(changes: readonly StoredChange[]): void {
    const window = this.#window;
    window?.apply(changes);
    if (window?.isShifted === true) this.mustRead = true;
    if (this.#total !== null) {
      for (const { before, after } of changes)
        this.#total += Number(this.#isMatch(after)) - Number(this.#isMatch(before));
    }
    if (window === null) return;
    // A window that reaches the end would hold everything that comes. How many there are is still known.
    const { total } = window;
    const isShorter = window.shorten(this.#to, this.view.changedHere().length + WINDOW_SPARE_OBJECTS);
    if (isShorter && !this.mustRead) this.#total ??= total;
  }

  remake(how: Remade): void {
    this.#total = null;
    if (how === 'emptied') this.clear();
    else this.mustRead = true;
  }

  clear(): void {
    this.#window = this.#newWindow(0, [], true);
    this.#total = null;
    this.mustRead = false;
  }

  /** The objects of the window as far as they are in memory. */
  objects(): readonly SyncedObject[] {
    const rows = this.#window?.rows(this.view.changedHere(), this.#from, this.#to);
    if (rows?.isShort === true) this.mustRead = true;
    return (rows?.entries ?? []).map(({ object }) => object);
  }

  /** Reads the window. `mustRead` is still true afterwards if objects have changed meanwhile. */
  async read(): Promise<void> {
    const { view } = this;
    const question: Question = {
      source: view.source,
      where: this.#where,
      order: this.#order,
      indexes: view.usable(await this.#parts.indexesOf(view.source)),
    };
    if (view.isHidden) {
      this.clear();
      return;
    }
    const reading = await view.beginReading();
    try {
      const changedHere = view.changedHere().length;
      const skip = Math.max(0, this.#from - changedHere);
      const take = this.#to - skip + changedHere + WINDOW_SPARE_OBJECTS;
      const { matches, isEnd } = await select(view.disk, question, { skip, take });
      const isBehind = matches.length === 0 && skip > 0;
      const mustCount = isBehind || (this.#wantsTotal && this.#total === null && !isEnd);
      const total = mustCount ? await countMatching(view.disk, question) : null;
      const read = matches.map(({ id, attributes }) => [id, attributes] as const);
      const objects = await view.admit(reading, read);
      if (objects === null || view.isHidden) return;
      const entries = matches.map(({ id, key }, index) => ({ id, key, object: objects[index] as SyncedObject }));
      this.#window = this.#newWindow(isBehind ? Math.min(skip, total ?? 0) : skip, entries, isEnd);
      if (total !== null) this.#total = total;
      // Who asks for the total while the disk is read gets it from the next reading.
      this.mustRead = this.#wantsTotal && this.total === null;
    } finally {
      reading.end();
    }
  }

  #newWindow(...args: WindowContent): StoredWindow {
    return new StoredWindow({ order: this.#order, matches: this.#where.matches }, ...args);
  }

  #isMatch(attributes: Attributes | undefined): boolean {
    return attributes !== undefined && this.#where.matches(attributes);
  }
}

type WindowContent = ConstructorParameters<typeof StoredWindow> extends [unknown, ...infer Rest] ? Rest : never;
