import { type Limits, type Outcome, PULL_SOURCES_MAX, Refusal, type Trouble } from '@tidemark/protocol';
import { callFor } from '../admission/admit-write.ts';
import type { BuiltPage } from '../pages/built-page.ts';
import { isNews, markOf, noteTidemark } from '../pages/note-tidemark.ts';
import type { PageCache } from '../pages/page-cache.ts';
import { PageMemory } from '../pages/page-memory.ts';
import { type Glance, glance, glanceAt, type PageBounds, pull, type TakeMemory, withoutNews } from '../pages/pull.ts';
import { readToken } from '../pages/token.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { DeviceTidemark, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import type { Refresher } from '../refresh/refresher.ts';
import { type Clients, LAST_SYNC_EVERY_MS, type OwnDevice } from '../registry/clients.ts';
import type { DeviceId } from '../registry/device-id.ts';
import type { Place } from '../registry/memberships.ts';
import { NO_ADAPTER } from '../registry/source-record.ts';
import type { Sources, SourceView } from '../registry/sources.ts';
import type { Acknowledged, DeviceUploads } from './device-uploads.ts';
import { NotedTidemarks } from './noted-tidemarks.ts';
import { pageBounds } from './page-bounds.ts';
import { type NoPage, type RenderedPage, rendered } from './rendered-page.ts';
import { requireCount } from './require-count.ts';
import { ShareOut } from './share-out.ts';
import { troubleOf } from './trouble-of.ts';

/** What pulls need of the rest. */
export interface PullsParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Limits;
  readonly clients: Clients;
  readonly sources: Sources;
  readonly cache: PageCache;
  readonly refresher: Pick<Refresher, 'ensureFresh'>;
  readonly uploads: Pick<DeviceUploads, 'acknowledge' | 'waiting'>;
}

export interface DevicePull {
  readonly pages: readonly { readonly source: string; readonly page: RenderedPage | NoPage }[];
  readonly outcomes: readonly Outcome[];
  /** Resolves when what the device presented is noted. It is a hint for trimming: nobody has to wait for it. */
  readonly noted: Promise<void>;
  readonly release: Release;
}

/**
 * To be called when the pages have been sent and nobody looks at their bytes any more: what they lie in is used again.
 * Nobody has to. Null: there is nothing to be used again.
 */
export type Release = (() => void) | null;

/** A page by itself. */
export interface DevicePage extends RenderedPage {
  readonly release: Release;
}

export interface DevicePullCall {
  /** Source → the token the device holds; null: none. */
  readonly sources: ReadonlyMap<string, string | null>;
  readonly objectsMax?: number;
  readonly acknowledged?: Acknowledged;
}

export interface DevicePageCall {
  readonly source: string;
  readonly token: string | null;
  readonly objectsMax?: number;
  readonly unitsMax?: number;
}

/** What is read of a source before it is known to be as it was. */
interface Guess {
  readonly partition: PartitionKey;
  readonly waiting: Promise<readonly Outcome[]>;
  readonly state: Promise<PartitionState>;
}

/** One source of a pull, as it was found. */
interface Found {
  readonly source: string;
  /** What the device presented. */
  readonly token: string | null;
  /** Null: there is no such source, or nobody can tell where the user's data is. */
  readonly place: Place | null;
  /** Null: not asked for yet. */
  readonly waiting: Promise<readonly Outcome[]> | null;
  /** Null: there is nothing to give, for the reason in `error`. */
  readonly state: PartitionState | null;
  readonly error: Trouble | null;
}

/** The same with what the device's token means there. */
type Looked =
  | { readonly source: string; readonly seen: null; readonly error: Trouble }
  /** With `error`, the backend could not be asked: what is there is given all the same. */
  | { readonly source: string; readonly seen: Glance; readonly error: Trouble | null };

/** What there is to send of a source that could be looked at. */
interface Built {
  readonly seen: Glance;
  readonly page: BuiltPage;
}

/** What devices are missing. */
export class Pulls {
  readonly #parts: PullsParts;
  readonly #store: Store;
  readonly #memory = new PageMemory();
  readonly #tidemarks = new NotedTidemarks();

  constructor(parts: PullsParts) {
    this.#parts = parts;
    this.#store = parts.store;
  }

  /** What the device is missing, of all sources in one answer. A source that cannot be pulled does not spoil the others. */
  async pull(device: DeviceId, call: DevicePullCall): Promise<DevicePull> {
    requireCount(call.sources.size, PULL_SOURCES_MAX, 'sources');
    const bounds = pageBounds(this.#parts.limits, call);
    const whose = this.#parts.clients.own(device.user, device.client);
    if (call.acknowledged !== undefined && call.acknowledged.size > 0) {
      await whose;
      await this.#parts.uploads.acknowledge(device, call.acknowledged);
    }
    // Backends are asked all at once: none has to wait for another. The same for a store that is a server of its own.
    const [own, ...found] = await Promise.all([
      whose,
      ...[...call.sources].map(([source, token]) => this.#find(device, source, token)),
    ]);
    const looked = found.map((one) => lookedAt(one, own));
    const built = await this.#build(device, looked, bounds);
    const outcomes = await this.#waiting(device, found);
    const pages = looked.map((one, index) => ({ source: one.source, page: pageOf(one, built[index] ?? null) }));
    return { pages, outcomes, noted: this.#noteAll(device, own, built), release: this.#releaseOf(device, built) };
  }

  /** One page of one source, whatever its sync type: a line of its snapshot. */
  async page(device: DeviceId, call: DevicePageCall): Promise<DevicePage> {
    const { lineObjectsMax, pageUnitsMax } = this.#parts.limits;
    const bounds = pageBounds({ pageObjectsMax: lineObjectsMax, pageUnitsMax }, call);
    const own = await this.#parts.clients.own(device.user, device.client);
    const source = await this.#parts.sources.view(call.source);
    const { partition } = await this.#parts.sources.memberships.placeOf(source, device.user);
    const trouble = await this.#freshen(partition, source, call.token);
    const seen = await this.#glance(partition, own, call.token);
    const page = await pull(this.#store, seen, bounds, this.#parts.cache, this.#memoryOf(device));
    void this.#noteAll(device, own, [{ seen, page }]);
    return { ...rendered(seen, page, trouble), release: this.#releaseOf(device, [{ seen, page }]) };
  }

  #memoryOf({ user }: DeviceId): TakeMemory {
    return () => this.#memory.take(user);
  }

  #releaseOf({ user }: DeviceId, built: readonly (Built | null)[]): Release {
    const used = built.flatMap((one) => one?.page.memory ?? []);
    if (used.length === 0) return null;
    return () => {
      for (const memory of used.splice(0)) this.#memory.giveBack(user, memory);
    };
  }

  async #find(device: DeviceId, name: string, token: string | null): Promise<Found> {
    const guess = this.#guess(device, name);
    try {
      const source = await this.#parts.sources.view(name);
      const place = await this.#parts.sources.memberships.placeOf(source, device.user);
      const guessed = guess !== null && isRight(guess, source, place) ? guess : null;
      const waiting = guessed?.waiting ?? null;
      if (source.sync_type === 'bulk_only') {
        return { source: name, token, place, waiting, state: null, error: troubleOf(snapshotRequired(name)) };
      }
      const error = await this.#freshen(place.partition, source, token);
      const state = await (guessed?.state ?? this.#store.partition(place.partition));
      return { source: name, token, place, waiting, state, error };
    } catch (error) {
      return { source: name, token, place: null, waiting: null, state: null, error: troubleOf(error) };
    }
  }

  /**
   * Begins to read what is wanted if the source is still what it was, without waiting to hear that it is: on a store that
   * is a server of its own, a pull is then one round trip. Outcomes are read before the state, which so holds what they
   * tell of. Null: there is nothing to guess by, or a backend must be asked first.
   */
  #guess({ user, client }: DeviceId, source: string): Guess | null {
    const known = this.#parts.sources.lastSeen(source);
    if (known === null || known.adapter !== NO_ADAPTER) return null;
    const partition: PartitionKey = { source, user: known.partition_type === 'app' ? null : user };
    const waiting = this.#parts.uploads.waiting({ source, client, partition, earlier: [] });
    const state = this.#store.partition(partition);
    // A guess that was wrong is nobody's business, and one that was right is waited for.
    for (const read of [waiting, state]) read.catch(() => undefined);
    return { partition, waiting, state };
  }

  /** A device that is only half-way through its pages goes on with what there was when it began. */
  #freshen(partition: PartitionKey, { adapter }: SourceView, token: string | null): Promise<Trouble | null> {
    if (adapter === NO_ADAPTER || (token !== null && isHalfWay(token))) return Promise.resolve(null);
    return this.#parts.refresher.ensureFresh(callFor(partition));
  }

  #glance(partition: PartitionKey, own: OwnDevice, token: string | null): Promise<Glance> {
    const restarts = own.restarts.get(partition.source) ?? 0;
    return glance(this.#store, { partition, token, restarts });
  }

  /** Null where a source could not be looked at. */
  async #build(device: DeviceId, looked: readonly Looked[], bounds: PageBounds): Promise<readonly (Built | null)[]> {
    const share = new ShareOut(bounds, looked.filter(({ seen }) => seen?.hasNews === true).length);
    const built: (Built | null)[] = [];
    for (const { seen } of looked) {
      if (seen === null) built.push(null);
      else if (!seen.hasNews) built.push({ seen, page: withoutNews(seen) });
      else {
        const page = await pull(this.#store, seen, share.next(), this.#parts.cache, this.#memoryOf(device));
        share.used({ entries: page.entries, units: page.body.units });
        built.push({ seen, page });
      }
    }
    return built;
  }

  async #waiting(device: DeviceId, found: readonly Found[]): Promise<readonly Outcome[]> {
    // All at once: on a store that is a server of its own, that is one round trip instead of one for each source.
    const waiting = found.map(({ source, place, waiting: guessed }) => {
      // Also of a source that is not given in pages: what is uploaded to it has outcomes like any other.
      return place === null
        ? []
        : (guessed ?? this.#parts.uploads.waiting({ source, client: device.client, ...place }));
    });
    return (await Promise.all(waiting)).flat();
  }

  /** Remembers that the device was here, and what it presented, unless that is known well enough. */
  async #noteAll(device: DeviceId, own: OwnDevice, built: readonly (Built | null)[]): Promise<void> {
    const nowMs = this.#parts.clock.nowMs();
    const notes: Promise<void>[] = [];
    for (const one of built) {
      if (one === null) continue;
      const { partition } = one.seen;
      const mark = markOf({ client: device.client, start: one.page.start, given: one.page.token, nowMs });
      const known = this.#tidemarks.of(partition, device.client);
      if (known === undefined || isNews(known, mark)) notes.push(this.#note(partition, mark));
    }
    if (own.lastSyncMs === null || nowMs - own.lastSyncMs >= LAST_SYNC_EVERY_MS) {
      notes.push(this.#parts.clients.noteSync(device.client, nowMs).catch(this.#onNoteFailed));
    }
    if (notes.length > 0) await Promise.all(notes);
  }

  async #note(partition: PartitionKey, mark: DeviceTidemark): Promise<void> {
    try {
      this.#tidemarks.remember(partition, await noteTidemark(this.#store, partition, mark));
    } catch (error) {
      this.#onNoteFailed(error);
    }
  }

  readonly #onNoteFailed = (error: unknown): void => {
    this.#parts.log.warn('tidemark_not_noted', { reason: error instanceof Error ? error.message : String(error) });
  };
}

function isRight({ partition }: Guess, source: SourceView, place: Place): boolean {
  return source.adapter === NO_ADAPTER && partition.user === place.partition.user;
}

function lookedAt({ source, token, place, state, error }: Found, own: OwnDevice): Looked {
  if (place === null || state === null) return { source, seen: null, error: error as Trouble };
  const restarts = own.restarts.get(source) ?? 0;
  return { source, error, seen: glanceAt(state, { partition: place.partition, token, restarts }) };
}

function pageOf({ error }: Looked, built: Built | null): RenderedPage | NoPage {
  return built === null ? { error: error as Trouble } : rendered(built.seen, built.page, error);
}

function isHalfWay(text: string): boolean {
  const token = readToken(text);
  return token !== null && (token.foothold.kind === 'start' || token.foothold.seq !== token.seq);
}

function snapshotRequired(name: string): Refusal {
  const path = `/sync/v1/sources/${encodeURIComponent(name)}/snapshot`;
  return new Refusal('snapshot_required', `${JSON.stringify(name)} is not given in pages: fetch ${path}`);
}
