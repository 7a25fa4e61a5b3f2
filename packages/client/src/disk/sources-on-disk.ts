import { clientError } from '../client-error.ts';
import type { DiskPart, LocalRow, LocalStore } from '../ports/local-store.ts';
import { startOver } from '../pull/start-over.ts';
import { KeptQueries } from '../queries/kept-queries.ts';
import type { Query } from '../queries/query.ts';
import type { Include, QueryOptions } from '../queries/query-options.ts';
import type { DeviceQueries, QueriesOnDisk } from '../queries/source-queries.ts';
import type { Replica } from '../replica/replica.ts';
import { sourceOf } from '../state/group-rows.ts';
import { inSteps, type Pause } from '../state/in-steps.ts';
import { DiskQuery, type DiskQueryParts } from './disk-query.ts';
import { DiskView } from './disk-view.ts';
import type { Target } from './inclusion.ts';
import { NamesOnDisk, ON_DISK } from './names-on-disk.ts';

/** Loads the store except for the objects of sources on the disk. */
export function loadWithoutThem(disk: DiskPart): LocalStore['load'] {
  return (onFirst) =>
    disk.load((others) => {
      onFirst?.(others);
      return namesIn(others);
    });
}

function namesIn(rows: readonly LocalRow[]): readonly string[] {
  const fact = rows.find(({ table, key }) => table === 'facts' && key[1] === ON_DISK[1]);
  return (fact?.value ?? []) as readonly string[];
}

/** The sources of a device that are kept on the disk, and their queries. */
export class SourcesOnDisk implements QueriesOnDisk, DiskQueryParts {
  readonly #replica: Replica;
  readonly #pause: Pause;
  readonly #names: NamesOnDisk;
  readonly #views = new Map<string, DiskView>();
  readonly #queries = new Map<string, KeptQueries<DiskQuery>>();
  /** The indexes of each source, by path, when they are made. */
  readonly #indexes = new Map<string, Map<string, Promise<void>>>();
  #memory: DeviceQueries | null = null;

  /** Makes the views of the sources that were on the disk when the device was closed. */
  static async open(replica: Replica, pause: Pause): Promise<SourcesOnDisk> {
    const sources = new SourcesOnDisk(replica, pause);
    const names = (replica.reader.get('facts', ON_DISK) ?? []) as readonly string[];
    for (const name of names) await sources.#add(name);
    return sources;
  }

  constructor(replica: Replica, pause: Pause) {
    this.#replica = replica;
    this.#pause = pause;
    this.#names = new NamesOnDisk(() => this.#disk);
    replica.reader.onDisk = this.#names;
  }

  /** Tells it where sources in memory are queried. */
  connect(memory: DeviceQueries): void {
    this.#memory = memory;
    memory.disk = this;
  }

  has(source: string): boolean {
    return this.#views.has(source);
  }

  /** Keeps the objects of a source on the disk from now on, or in memory. */
  keep(source: string, where: 'disk' | 'memory'): void {
    if (this.has(source) === (where === 'disk')) return;
    const isRead = (this.#queries.get(source)?.size ?? 0) > 0 || this.#views.get(source)?.isFollowed === true;
    const isUsed = this.#memory?.isUsed(source) === true || isRead;
    if (isUsed) {
      throw clientError(
        'invalid_request',
        `${source} is used already: say where it is kept before it is read the first time`,
      );
    }
    // A store that fails is reported by the next transaction. Then the next start makes the same move.
    (where === 'disk' ? this.#moveToDisk(source) : this.#moveToMemory(source)).catch(() => undefined);
  }

  // Queries

  isConcerned(source: string, { include = {} }: QueryOptions): boolean {
    // Where a reference leads that the server has not declared yet may be kept on the disk by then.
    const isOnDisk = (target: string | undefined) => target === undefined || this.has(target);
    return isOnDisk(source) || this.#targetsOf(source, include).some(isOnDisk);
  }

  query(source: string, options: QueryOptions): Query {
    const kept = this.#queries.get(source) ?? new KeptQueries<DiskQuery>((query) => query.detach());
    this.#queries.set(source, kept);
    return kept.of(options, () => new DiskQuery(source, options, this));
  }

  target(source: string): Target {
    const view = this.#views.get(source);
    return view === undefined ? { queries: this.#inMemory.of(source) } : { view };
  }

  targetOf(source: string, attribute: string): string | undefined {
    return this.#inMemory.targetOf(source, attribute);
  }

  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#replica.inTurn(work);
  }

  // Indexes

  addIndex(source: string, path: string): Promise<void> {
    const indexes = this.#indexes.get(source) ?? new Map<string, Promise<void>>();
    this.#indexes.set(source, indexes);
    const known = indexes.get(path);
    if (known !== undefined) return known;
    const made = this.#disk.addIndex(source, path);
    indexes.set(path, made);
    // The next query makes it again, and is told.
    made.catch(() => indexes.delete(path));
    return made;
  }

  async indexesOf(source: string): Promise<ReadonlySet<string>> {
    const indexes = this.#indexes.get(source) ?? new Map<string, Promise<void>>();
    await Promise.all(indexes.values());
    return new Set(indexes.keys());
  }

  // Moving

  async #add(source: string): Promise<void> {
    this.#names.add(source);
    // Of a store that fails here the status tells, and so does whatever reads the objects again.
    await this.#show(source)
      .loadChangedHere()
      .catch(() => undefined);
  }

  #show(source: string): DiskView {
    const state = this.#replica.reader;
    this.#replica.views.putOnDisk(source, (_, pending) => {
      const view = new DiskView({ state, pending, source, disk: () => this.#disk });
      this.#views.set(source, view);
      return view;
    });
    return this.#views.get(source) as DiskView;
  }

  async #moveToDisk(source: string): Promise<void> {
    const replica = this.#replica;
    const shown = this.#show(source).loadChangedHere();
    const moved = replica.transact((tx) => {
      this.#names.add(source);
      for (const first of replica.reader.firsts('objects'))
        if (sourceOf(first) === source) replica.reader.forget(first);
      tx.put('facts', ON_DISK, this.#names.names);
    });
    await Promise.all([moved, shown]);
  }

  async #moveToMemory(source: string): Promise<void> {
    const replica = this.#replica;
    this.#views.delete(source);
    replica.views.takeFromDisk(source);
    await replica.loadInTurn(async (isAwaited) => {
      const others = this.#names.names.filter((name) => name !== source);
      const rows = (await this.#disk.load(() => others)).filter((row) => isObjectOf(row, source));
      this.#names.remove(source);
      await inSteps(rows.length, this.#pause, (from, to) => replica.addLoaded(rows.slice(from, to)), isAwaited);
      await this.#startOverIfAside(source);
    });
    await replica.transact((tx) => tx.put('facts', ON_DISK, this.#names.names));
  }

  /** What has come so far of a source that starts over is aside, where it takes the place of the other objects on the disk only. */
  async #startOverIfAside(source: string): Promise<void> {
    const replica = this.#replica;
    const tx = replica.reader.begin();
    const row = tx.get('sources', ['', source]);
    if (row?.staging?.firstSync !== 'aside') return;
    startOver(tx, { source }, row);
    replica.show(await replica.commit(tx, []), tx);
  }

  /** The sources that a query leads to; undefined: the server has not said yet. */
  #targetsOf(source: string, include: Include): readonly (string | undefined)[] {
    return Object.values(include).map((relation) => {
      if (typeof relation === 'string') return this.targetOf(source, relation);
      return typeof relation.source === 'string' ? relation.source : relation.source.name;
    });
  }

  get #disk(): DiskPart {
    const { disk } = this.#replica.keeper;
    if (disk === undefined) throw clientError('store_failed', 'the store has no sources on the disk any more');
    return disk;
  }

  get #inMemory(): DeviceQueries {
    if (this.#memory === null) throw new Error('queries are made when the device is open');
    return this.#memory;
  }
}

function isObjectOf({ table, key }: LocalRow, source: string): boolean {
  return table === 'objects' && sourceOf(key[0]) === source;
}
