import { ClientError } from '../client-error.ts';
import { WINDOW_RESTARTS_MAX } from '../limits.ts';
import type { LiveQuery } from '../queries/indexed-source.ts';
import type { MemoryQuery } from '../queries/memory-query.ts';
import type { Query } from '../queries/query.ts';
import { QueryListeners, type Shown } from '../queries/query-listeners.ts';
import type { QueryOptions } from '../queries/query-options.ts';
import type { Observable } from '../view/observable.ts';
import type { SyncedObject } from '../view/source-view.ts';
import type { StoredChange } from './changes.ts';
import type { DiskFollower, DiskView } from './disk-view.ts';
import { DiskWindow } from './disk-window.ts';
import { Inclusion, type Target, type Targets } from './inclusion.ts';

export interface DiskQueryParts extends Targets {
  /** Does work when no commit is under way. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when the indexes of the source are made. */
  indexesOf(source: string): Promise<ReadonlySet<string>>;
}

/**
 * A query of a source on the disk, or with relations to one. It holds what it shows and a little more; changes made here show at once,
 * and those of others with the commit that brings them. The disk is read for the first result, and where a change leaves a gap.
 */
export class DiskQuery implements Query, DiskFollower, LiveQuery {
  readonly #parts: DiskQueryParts;
  readonly #source: string;
  readonly #options: QueryOptions;
  readonly #inclusion: Inclusion;
  readonly #listeners = new QueryListeners(
    () => this.#attach(),
    () => undefined,
  );
  /** Where the rows come from; null: nobody has asked yet. */
  #rowsFrom: DiskWindow | MemoryQuery | null = null;
  #unfollow: () => void = () => undefined;
  #rows: readonly SyncedObject[] = Object.freeze([]);
  #isLoading = true;
  /** The reading under way. */
  #reading: Promise<void> | null = null;
  #mustRead = false;

  constructor(source: string, options: QueryOptions, parts: DiskQueryParts) {
    this.#parts = parts;
    this.#source = source;
    this.#options = options;
    this.#inclusion = new Inclusion(source, options.include, parts);
    this.#listeners.noteRead(this.#shown());
    // Refuses what is malformed at once.
    const target = parts.target(source);
    if ('view' in target) new DiskWindow(target.view, options, parts);
    else target.queries.query(withoutRelations(options));
  }

  readonly getSnapshot = (): readonly SyncedObject[] => {
    this.#attach();
    return this.#rows;
  };

  readonly list = this.getSnapshot;

  readonly subscribe = this.#listeners.addToRows;

  readonly count = (): number => {
    this.#attach();
    const rows = this.#rowsFrom;
    if (!(rows instanceof DiskWindow)) return rows?.count() ?? 0;
    const total = rows.wantTotal();
    if (total === null) this.#readSoon();
    return total ?? this.#rows.length;
  };

  readonly total: Observable<number> = {
    getSnapshot: this.count,
    subscribe: (listener) => {
      const unsubscribe = this.#listeners.addToTotal(listener);
      this.count();
      return unsubscribe;
    },
  };

  get isLoading(): boolean {
    this.#attach();
    return this.#isLoading;
  }

  get isLive(): boolean {
    return !this.#listeners.areNone;
  }

  async fetch(): Promise<readonly SyncedObject[]> {
    this.#attach();
    if (!(this.#rowsFrom instanceof DiskWindow)) await this.#rowsFrom?.fetch();
    this.refresh();
    while (this.#reading !== null) await this.#reading;
    return this.#rows;
  }

  /** Follows nothing any more, until somebody asks again. */
  detach(): void {
    if (this.isLive) return;
    this.#unfollow();
    this.#inclusion.detach();
    this.#rowsFrom = null;
    this.#isLoading = true;
    // They are not followed any more: the user who may see them may leave.
    this.#rows = Object.freeze([]);
  }

  // Following sources on the disk

  changeStored(view: DiskView, changes: readonly StoredChange[]): void {
    const rows = this.#rowsFrom;
    if (rows instanceof DiskWindow && rows.view === view) rows.apply(changes);
    this.#inclusion.changeStored(view, changes);
  }

  remake(view: DiskView, how: 'emptied' | 'replaced'): void {
    const rows = this.#rowsFrom;
    if (rows instanceof DiskWindow && rows.view === view) rows.remake(how);
    this.#inclusion.remake(view, how);
  }

  uses(view: DiskView, id: string): boolean {
    const rows = this.#rowsFrom;
    return (rows instanceof DiskWindow && rows.view === view && rows.has(id)) || this.#inclusion.uses(view, id);
  }

  refresh(): void {
    const rows = this.#rowsFrom;
    if (rows === null) return;
    const isRead = !(rows instanceof DiskWindow) || rows.isRead;
    if (isRead) {
      const objects = rows instanceof DiskWindow ? rows.objects() : rows.getSnapshot();
      this.#show(this.#inclusion.rows(objects, new Map(this.#rows.map((row) => [row.id, row]))));
      const isHidden = rows instanceof DiskWindow && rows.view.isHidden;
      const isReady = this.#inclusion.isLoaded(objects) && !(rows instanceof DiskWindow && rows.mustRead);
      this.#noteLoading(isHidden || (this.#isLoading && !isReady));
      if (!this.#inclusion.isLoaded(objects)) this.#readSoon();
    }
    if (rows instanceof DiskWindow && rows.mustRead) this.#readSoon();
  }

  tell(): void {
    this.#listeners.notify(this.#shown());
  }

  // Following sources in memory

  change(): void {
    this.refresh();
  }

  changeRelated(): void {
    this.refresh();
  }

  prepare(): void {
    // What arrives is shown when it is revealed.
  }

  reveal(): void {
    this.refresh();
  }

  notify(): void {
    this.refresh();
    this.tell();
  }

  #attach(): void {
    if (this.#rowsFrom !== null) return;
    const target = this.#parts.target(this.#source);
    this.#inclusion.attach(this);
    this.#rowsFrom = this.#begin(target);
    this.refresh();
  }

  #begin(target: Target): DiskWindow | MemoryQuery {
    if ('view' in target) {
      this.#unfollow = target.view.follow(this);
      return new DiskWindow(target.view, this.#options, this.#parts);
    }
    const query = target.queries.query(withoutRelations(this.#options));
    this.#unfollow = query.subscribe(() => this.notify());
    return query;
  }

  #show(rows: readonly SyncedObject[]): void {
    if (rows.length !== this.#rows.length || rows.some((row, index) => row !== this.#rows[index])) {
      this.#rows = Object.freeze([...rows]);
    }
  }

  /** The first result is another list than the one before it, even if it has the same objects, so that everybody looks again. */
  #noteLoading(isLoading: boolean): void {
    const isFirst = this.#isLoading && !isLoading;
    this.#isLoading = isLoading;
    if (isFirst) this.#rows = Object.freeze([...this.#rows]);
  }

  #shown(): Shown {
    const from = this.#rowsFrom;
    const total = from instanceof DiskWindow ? from.total : from?.count();
    return { rows: this.#rows, total: total ?? this.#rows.length };
  }

  #readSoon(): void {
    this.#mustRead = true;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = null;
      // Somebody may have asked after it looked the last time.
      if (this.#mustRead) this.#readSoon();
    });
    // Who waits for the result is told. The next change tries again.
    this.#reading.catch(() => undefined);
  }

  async #readAll(): Promise<void> {
    while (this.#mustRead) {
      this.#mustRead = false;
      const rows = this.#rowsFrom;
      if (rows === null) return;
      if (rows instanceof DiskWindow) await this.#readWindow(rows);
      const objects = rows instanceof DiskWindow ? rows.objects() : rows.getSnapshot();
      if (!this.#inclusion.isLoaded(objects)) await this.#inclusion.load(objects);
      if (rows !== this.#rowsFrom) return;
      this.refresh();
      this.tell();
    }
  }

  async #readWindow(rows: DiskWindow): Promise<void> {
    for (let attempt = 0; rows.mustRead; attempt++) {
      if (attempt > WINDOW_RESTARTS_MAX + 1)
        throw new ClientError('store_failed', 'the objects change while nothing is committed');
      // A source that never rests is read between two commits at last.
      if (attempt < WINDOW_RESTARTS_MAX) await rows.read();
      else await this.#parts.inTurn(() => rows.read());
    }
  }
}

function withoutRelations({ include: _, ...options }: QueryOptions): QueryOptions {
  return options;
}
