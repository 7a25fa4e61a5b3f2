import { type Outcome, type PartialError, PULL_SOURCES_MAX, Refusal } from '@tidemark/protocol';
import { requireCount } from '../admission/require-count.ts';
import type { OwnDevice } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import type { DeviceCaller } from '../devices/device-sessions.ts';
import type { BuiltPage } from '../pages/built-page.ts';
import { emptyPage, type PageBounds, type PullPosition, positionAt, pull } from '../pages/pull.ts';
import type { PartitionKey, PartitionState, Store } from '../ports/store.ts';
import type { UserPartition } from '../sources/memberships.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/sources.ts';
import type { Acknowledged, Uploads } from '../uploads/uploads.ts';
import { freshen } from './freshen.ts';
import { pageBounds } from './page-bounds.ts';
import { PageBudget } from './page-budget.ts';
import type { PageReaderParts } from './page-reader-parts.ts';
import { partialErrorOf } from './partial-error.ts';
import { type NoPage, type RenderedPage, rendered } from './rendered-page.ts';

/** What pulls need of the rest. */
export interface PullsParts extends PageReaderParts {
  readonly uploads: Pick<Uploads, 'acknowledge' | 'waiting'>;
}

export interface DevicePull {
  readonly pages: readonly { readonly source: string; readonly page: RenderedPage | NoPage }[];
  readonly outcomes: readonly Outcome[];
  /** Resolves when what the device presented is noted. It is a hint for trimming: nobody has to wait for it. */
  readonly noted: Promise<void>;
}

export interface DevicePullCall {
  /** Source → the token the device holds; null: none. */
  readonly sources: ReadonlyMap<string, string | null>;
  readonly objectsMax?: number;
  readonly acknowledged?: Acknowledged;
}

/** What is read of a source, perhaps before it is known to be as it was. */
interface Reads {
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
  readonly place: UserPartition | null;
  /** Also of a source that is not given in pages: what is uploaded to it has outcomes like any other. */
  readonly waiting: readonly Outcome[];
  /** Null: there is nothing to give, for the reason in `error`. */
  readonly state: PartitionState | null;
  readonly error: PartialError | null;
}

/** The same with what the device's token means there. */
type Looked =
  | { readonly source: string; readonly seen: null; readonly error: PartialError }
  /** With `error`, the backend could not be asked: what is there is given all the same. */
  | { readonly source: string; readonly seen: PullPosition; readonly error: PartialError | null };

/** What there is to send of a source that could be looked at. */
interface Built {
  readonly seen: PullPosition;
  readonly page: BuiltPage;
}

/** What devices are missing. */
export class Pulls {
  readonly #parts: PullsParts;
  readonly #store: Store;

  constructor(parts: PullsParts) {
    this.#parts = parts;
    this.#store = parts.store;
  }

  /** What the device is missing, of all sources in one answer. A source that cannot be pulled does not spoil the others. */
  async pull(device: DeviceCaller, call: DevicePullCall): Promise<DevicePull> {
    requireCount(call.sources.size, PULL_SOURCES_MAX, 'sources');
    const bounds = pageBounds(this.#parts.limits, call);
    const whose = this.#parts.sessions.open(device);
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
    const built = await this.#build(looked, bounds);
    const outcomes = found.flatMap(({ waiting }) => waiting);
    // Refreshes and reads took their time. A page without news tells nothing beyond the token that was presented.
    const isDelivering = outcomes.length > 0 || looked.some(({ seen }) => seen?.hasNews === true);
    if (isDelivering) await this.#parts.sessions.verify(device, own);
    const pages = looked.map((one, index) => ({ source: one.source, page: pageOf(one, built[index] ?? null) }));
    const given = built.flatMap((one) => (one === null ? [] : [{ partition: one.seen.partition, page: one.page }]));
    const noted = this.#parts.visits.note(device, own, given);
    return { pages, outcomes, noted };
  }

  async #find(device: DeviceId, name: string, token: string | null): Promise<Found> {
    const guess = this.#guess(device, name);
    try {
      const source = await this.#parts.sources.view(name);
      const place = await this.#parts.sources.memberships.placeOf(source, device.user);
      const guessed = guess !== null && isRight(guess, source, place) ? guess : null;
      const isPaged = source.sync_type !== 'bulk_only';
      const error = isPaged
        ? await freshen(this.#parts.refresher, place.partition, source, token)
        : partialErrorOf(snapshotRequired(name));
      const reads = guessed ?? this.#read(device, name, place);
      const [waiting, state] = await Promise.all([reads.waiting, isPaged ? reads.state : null]);
      return { source: name, token, place, waiting, state, error };
    } catch (error) {
      return { source: name, token, place: null, waiting: [], state: null, error: partialErrorOf(error) };
    }
  }

  /**
   * Begins to read outcomes and state in one round trip. Outcomes come first, so that the state, and the page that is read
   * later, hold what they tell of.
   */
  #read({ client }: DeviceId, source: string, place: UserPartition): Reads {
    const waiting = this.#parts.uploads.waiting({ source, client, ...place });
    const state = this.#store.partition(place.partition);
    // Whoever does not need one of them does not wait for it.
    for (const read of [waiting, state]) read.catch(() => undefined);
    return { partition: place.partition, waiting, state };
  }

  /**
   * Begins to read what is wanted if the source is still what it was, without waiting to hear that it is: on a store that
   * is a server of its own, a pull is then one round trip. Null: there is nothing to guess by, or a backend must be asked
   * first.
   */
  #guess(device: DeviceId, source: string): Reads | null {
    const known = this.#parts.sources.lastSeen(source);
    if (known === null || known.adapter !== NO_ADAPTER) return null;
    const partition: PartitionKey = { source, user: known.partition_type === 'app' ? null : device.user };
    return this.#read(device, source, { partition, earlier: [] });
  }

  /** Null where a source could not be looked at. */
  async #build(looked: readonly Looked[], bounds: PageBounds): Promise<readonly (Built | null)[]> {
    const share = new PageBudget(bounds, looked.filter(({ seen }) => seen?.hasNews === true).length);
    const built: (Built | null)[] = [];
    for (const { seen } of looked) {
      if (seen === null) built.push(null);
      else if (!seen.hasNews) built.push({ seen, page: emptyPage(seen) });
      else {
        const page = await pull(this.#store, seen, share.next(), this.#parts.cache);
        share.used({ entries: page.entries, units: page.body.units });
        built.push({ seen, page });
      }
    }
    return built;
  }
}

function isRight({ partition }: Reads, source: SourceView, place: UserPartition): boolean {
  return source.adapter === NO_ADAPTER && partition.user === place.partition.user;
}

function lookedAt({ source, token, place, state, error }: Found, own: OwnDevice): Looked {
  if (place === null || state === null) return { source, seen: null, error: error as PartialError };
  const restarts = own.restarts.get(source) ?? 0;
  return { source, error, seen: positionAt(state, { partition: place.partition, token, restarts }) };
}

function pageOf({ error }: Looked, built: Built | null): RenderedPage | NoPage {
  return built === null ? { error: error as PartialError } : rendered(built.seen, built.page, error);
}

function snapshotRequired(name: string): Refusal {
  const path = `/sync/v1/sources/${encodeURIComponent(name)}/snapshot`;
  return new Refusal('snapshot_required', `${JSON.stringify(name)} is not given in pages: fetch ${path}`);
}
