import { type Outcome, type PartialError, PULL_SOURCES_MAX, Refusal } from '@tidemark/protocol';
import { requireCount } from '../admission/require-count.ts';
import type { OwnDevice } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import type { DeviceCaller } from '../devices/device-sessions.ts';
import { type BuiltPage, emptyPage } from '../pages/build-page.ts';
import { type PullPosition, positionAt } from '../pages/pull-position.ts';
import { type PageBounds, pageBounds, type RenderedPage, readPage, rendered } from '../pages/read-page.ts';
import type { PartitionKey, PartitionState } from '../ports/store.ts';
import type { UserPartition } from '../sources/memberships.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/sources.ts';
import type { Acknowledged, Uploads } from '../uploads/uploads.ts';
import { ensureFresh, type PageReaderParts } from './page-reader.ts';
import { isUnchanged, type QuietSource, type UnchangedPullParts } from './unchanged-pull.ts';

export interface PullsParts extends PageReaderParts, Pick<UnchangedPullParts, 'clock' | 'clients'> {
  readonly uploads: Pick<Uploads, 'acknowledge' | 'waiting'>;
}

export interface DevicePullCall {
  /** Source → the token the device holds; null: none. */
  readonly sources: ReadonlyMap<string, string | null>;
  readonly objectsMax?: number;
  readonly acknowledged?: Acknowledged;
}

export interface DevicePull {
  readonly pages: readonly { readonly source: string; readonly page: RenderedPage | NoPage }[];
  readonly outcomes: readonly Outcome[];
  /** Resolves when what the device presented is recorded. Trimming uses it as a hint, so no caller has to wait. */
  readonly noted: Promise<void>;
  /**
   * Resolves to true as long as the same call of the same device would be answered in the same way. It does not check the
   * token that the device calls with. Absent: there was news, or a backend may have to be asked.
   */
  readonly isUnchanged?: () => Promise<boolean>;
}

/** Why there is no page of a source. */
export interface NoPage {
  readonly error: PartialError;
}

/** One source of a call, and the device that asks for it. */
interface SourceRequest {
  readonly device: DeviceId;
  /** Resolves when the device is known to be the user's own. */
  readonly opened: Promise<OwnDevice>;
  readonly name: string;
  readonly token: string | null;
}

/** Reads of one partition that have begun. */
interface PartitionReads {
  readonly partition: PartitionKey;
  readonly waiting: Promise<readonly Outcome[]>;
  readonly state: Promise<PartitionState>;
}

/** What a pull finds out about one source before it reads any page. */
type FoundSource = {
  readonly name: string;
  /** Outcomes that wait for the device; a source that is not delivered in pages has them, too. */
  readonly waiting: readonly Outcome[];
} & (
  | { readonly position: null; readonly error: PartialError }
  /** With an error, the backend could not be asked, and the page has what is stored. */
  | { readonly position: PullPosition; readonly error: PartialError | null; readonly view: SourceView }
);

/** Delivers to devices what they are missing. */
export class Pulls {
  readonly #parts: PullsParts;

  constructor(parts: PullsParts) {
    this.#parts = parts;
  }

  /** Delivers all sources of the call in one answer. A source that cannot be pulled does not spoil the others. */
  async pull(device: DeviceCaller, call: DevicePullCall): Promise<DevicePull> {
    const { limits, sessions, uploads, lastSeen } = this.#parts;
    requireCount(call.sources.size, PULL_SOURCES_MAX, 'sources');
    const bounds = pageBounds(limits, call);
    const opened = sessions.open(device);
    if (call.acknowledged !== undefined && call.acknowledged.size > 0) {
      await opened;
      await uploads.acknowledge(device, call.acknowledged);
    }
    // All sources are looked up at once, so that no backend and no round trip to the store waits for another.
    const requests = Array.from(call.sources, ([name, token]) => ({ device, opened, name, token }));
    const [own, ...sources] = await Promise.all([opened, ...requests.map((request) => this.#find(request))]);
    const pages = await this.#readPages(sources, bounds);
    const outcomes = sources.flatMap(({ waiting }) => waiting);
    // Refreshes and reads took their time. A page without news says nothing beyond the token that was presented.
    const isDelivering = outcomes.length > 0 || sources.some(({ position }) => position?.hasNews === true);
    if (isDelivering) await sessions.verify(device, own);
    const quiet = isDelivering || call.acknowledged?.size ? null : quietSources(sources);
    const noted = lastSeen.record(
      device,
      own,
      pages.flatMap((page) => page ?? []),
    );
    return {
      pages: sources.map((found, index) => ({ source: found.name, page: pageFor(found, pages[index] ?? null) })),
      outcomes,
      noted,
      ...(quiet === null ? {} : { isUnchanged: () => isUnchanged(this.#parts, { device, own, sources: quiet }) }),
    };
  }

  /** Finds out where the device stands in a source, after a refresh if one is due. */
  async #find(request: SourceRequest): Promise<FoundSource> {
    const { device, opened, name, token } = request;
    const { sources, refresher } = this.#parts;
    const ahead = this.#readAhead(device, name);
    try {
      const source = await sources.view(name);
      const userPartition = await sources.memberships.partitionOf(source, device.user);
      const isPaged = source.sync_type !== 'bulk_only';
      const error = isPaged ? await ensureFresh(refresher, userPartition.partition, source, token) : null;
      const isAheadValid = source.adapter === NO_ADAPTER && ahead?.partition.user === userPartition.partition.user;
      const reads = ahead !== null && isAheadValid ? ahead : this.#startReads(device, name, userPartition);
      if (!isPaged) return { name, waiting: await reads.waiting, position: null, error: snapshotRequired(name) };
      const [waiting, state, own] = await Promise.all([reads.waiting, reads.state, opened]);
      const restarts = own.restarts.get(name) ?? 0;
      const position = positionAt(state, { partition: userPartition.partition, token, restarts });
      return { name, waiting, position, error, view: source };
    } catch (error) {
      return { name, waiting: [], position: null, error: partialErrorOf(error) };
    }
  }

  /**
   * Reads from the partition in which the data was when the source was last looked at here, before it is known whether the
   * source has changed since: on a store that is a server of its own, a pull is then one round trip. Null: the source is
   * not known here, or its backend must be asked first.
   */
  #readAhead(device: DeviceId, name: string): PartitionReads | null {
    const known = this.#parts.sources.lastSeen(name);
    if (known === null || known.adapter !== NO_ADAPTER) return null;
    const partition: PartitionKey = { source: name, user: known.partition_type === 'app' ? null : device.user };
    return this.#startReads(device, name, { partition, earlier: [] });
  }

  /** Outcomes are read before the state, so that the state, and the page read later, include what the outcomes tell. */
  #startReads({ client }: DeviceId, source: string, userPartition: UserPartition): PartitionReads {
    const waiting = this.#parts.uploads.waiting({ source, client, ...userPartition });
    const state = this.#parts.store.partition(userPartition.partition);
    // Reads whose result turns out not to be needed must not be unhandled rejections.
    for (const read of [waiting, state]) read.catch(() => undefined);
    return { partition: userPartition.partition, waiting, state };
  }

  /** Null for a source that has no page. */
  async #readPages(sources: readonly FoundSource[], bounds: PageBounds): Promise<readonly (BuiltPage | null)[]> {
    const { store, cache } = this.#parts;
    const budget = new PageBudget(bounds, sources.filter(({ position }) => position?.hasNews === true).length);
    const pages: (BuiltPage | null)[] = [];
    for (const { position } of sources) {
      if (position === null) pages.push(null);
      else if (!position.hasNews) pages.push(emptyPage(position));
      else {
        const page = await readPage(store, position, budget.next(), cache);
        budget.spend(page);
        pages.push(page);
      }
    }
    return pages;
  }
}

/**
 * Divides what one answer may hold among the sources that have news. Each gets an equal share of what is left, and what it
 * does not use goes to the next ones. Every source gets at least one object, so that each makes progress.
 */
class PageBudget {
  #entriesLeft: number;
  #unitsLeft: number;
  #sourcesLeft: number;

  constructor({ entriesMax, unitsMax }: PageBounds, sources: number) {
    this.#entriesLeft = entriesMax;
    this.#unitsLeft = unitsMax;
    this.#sourcesLeft = sources;
  }

  /** The bounds of the next source's page. */
  next(): PageBounds {
    const sources = Math.max(1, this.#sourcesLeft);
    return {
      entriesMax: Math.max(1, Math.floor(this.#entriesLeft / sources)),
      unitsMax: Math.max(1, Math.floor(this.#unitsLeft / sources)),
    };
  }

  spend({ entries, body }: BuiltPage): void {
    this.#entriesLeft = Math.max(0, this.#entriesLeft - entries);
    this.#unitsLeft = Math.max(0, this.#unitsLeft - body.units);
    this.#sourcesLeft -= 1;
  }
}

function pageFor(found: FoundSource, page: BuiltPage | null): RenderedPage | NoPage {
  if (found.position === null) return { error: found.error };
  if (page === null) throw new Error('a source with a position has a page');
  return rendered(found.position, page, found.error);
}

/** Null unless all sources could be pulled without asking a backend. */
function quietSources(sources: readonly FoundSource[]): readonly QuietSource[] | null {
  const quiet: QuietSource[] = [];
  for (const found of sources) {
    if (found.position === null || found.view.adapter !== NO_ADAPTER) return null;
    quiet.push({ view: found.view, position: found.position });
  }
  return quiet;
}

function snapshotRequired(name: string): PartialError {
  const path = `/sync/v1/sources/${encodeURIComponent(name)}/snapshot`;
  return { code: 'snapshot_required', detail: `${JSON.stringify(name)} is not given in pages: fetch ${path}` };
}

/** Errors that are no refusals are faults of the server and end the whole call. */
function partialErrorOf(error: unknown): PartialError {
  if (!(error instanceof Refusal)) throw error;
  return { code: error.code, detail: error.message };
}
