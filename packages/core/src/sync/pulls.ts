import { type Outcome, type PartialError, PULL_SOURCES_MAX, Refusal } from '@tidemark/protocol';
import { requireCount } from '../admission/require-count.ts';
import type { OwnDevice } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import type { DeviceCaller } from '../devices/device-sessions.ts';
import { type BuiltPage, emptyPage } from '../pages/build-page.ts';
import { type PullPosition, positionAt } from '../pages/pull-position.ts';
import type { PageBounds } from '../pages/read-from-store.ts';
import { pageBounds, type RenderedPage, readPage, rendered } from '../pages/read-page.ts';
import { sentPosition } from '../pages/record-tidemark.ts';
import { groupPartition, isSameOwner, sharedPartition, userPartition } from '../ports/owner.ts';
import type { PartitionKey, PartitionState } from '../ports/store.ts';
import type { UserPartition } from '../sources/memberships.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/sources.ts';
import type { Acknowledged, Uploads } from '../uploads/uploads.ts';
import {
  type FoundGroups,
  findGroups,
  type GroupedPages,
  type GroupTokens,
  groupedPages,
  haveMoved,
  type NoPage,
  withoutRevoked,
} from './group-pull.ts';
import { ensureFresh, type PageReaderParts } from './page-reader.ts';
import {
  isUnchanged,
  type QuietGroups,
  type QuietPull,
  type QuietSource,
  type UnchangedPullParts,
} from './unchanged-pull.ts';

export interface PullsParts extends PageReaderParts, Pick<UnchangedPullParts, 'clock' | 'clients'> {
  readonly uploads: Pick<Uploads, 'acknowledge' | 'waiting' | 'waitingInGroup'>;
}

export interface DevicePullCall {
  /** Source → the token the device holds; null: none. Of a source of groups, the tokens of its groups. */
  readonly sources: ReadonlyMap<string, string | null | GroupTokens>;
  readonly objectsMax?: number;
  readonly acknowledged?: Acknowledged;
}

export interface DevicePull {
  readonly pages: readonly { readonly source: string; readonly page: RenderedPage | NoPage }[];
  /** The sources whose data belongs to groups. */
  readonly grouped: readonly { readonly source: string; readonly pages: GroupedPages }[];
  readonly outcomes: readonly Outcome[];
  /** Resolves when what the device presented is recorded. Trimming uses it as a hint, so no caller has to wait. */
  readonly noted: Promise<void>;
  /**
   * Resolves to true as long as the same call of the same device would be answered in the same way. It does not check the
   * token that the device calls with. Absent: there was news, or a backend may have to be asked.
   */
  readonly isUnchanged?: () => Promise<boolean>;
}

/** One source of a call, and the device that asks for it. */
interface SourceRequest {
  readonly device: DeviceId;
  /** Resolves when the device is known to be the user's own. */
  readonly opened: Promise<OwnDevice>;
  readonly name: string;
  readonly presented: string | null | GroupTokens;
}

/** The same for a source that has one page. */
type PageRequest = Omit<SourceRequest, 'presented'> & { readonly token: string | null };

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
  | { readonly kind: 'refused'; readonly error: PartialError }
  /** With an error, the backend could not be asked, and the page has what is stored. */
  | {
      readonly kind: 'page';
      readonly position: PullPosition;
      readonly error: PartialError | null;
      readonly view: SourceView;
    }
  | ({ readonly kind: 'groups' } & FoundGroups)
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
    const requests = Array.from(call.sources, ([name, presented]) => ({ device, opened, name, presented }));
    const [own, ...found] = await Promise.all([opened, ...requests.map((request) => this.#find(request))]);
    const pages = await this.#readPages(found, bounds);
    const isDelivering = found.some(hasNews);
    // Refreshes and reads took their time. A page without news says nothing beyond the token that was presented.
    if (isDelivering) await sessions.verify(device, own);
    const sources = isDelivering ? await Promise.all(found.map((one) => this.#recheck(device, one))) : found;
    const quiet = isDelivering || call.acknowledged?.size ? null : quietSources(sources);
    const noted = Promise.all([
      lastSeen.record(device, own, presentedIn(sources, pages)),
      lastSeen.recordGone(device, sources.flatMap(goneIn)),
    ]).then(() => undefined);
    return {
      pages: sources.flatMap((one) => (one.kind === 'groups' ? [] : { source: one.name, page: pageFor(one, pages) })),
      grouped: await this.#grouped(sources, pages),
      outcomes: sources.flatMap(({ waiting }) => waiting),
      noted,
      ...(quiet === null ? {} : { isUnchanged: () => isUnchanged(this.#parts, { device, own, ...quiet }) }),
    };
  }

  /** Finds out where the device stands in a source, after a refresh if one is due. */
  async #find({ device, opened, name, presented }: SourceRequest): Promise<FoundSource> {
    const { sources } = this.#parts;
    const ahead = isTokens(presented) ? null : this.#readAhead(device, name);
    try {
      const source = await sources.view(name);
      if (source.partition_type === 'group') {
        const tokens = requireTokens(name, presented);
        const found = await findGroups(this.#parts, { device, own: await opened, source, tokens });
        return { kind: 'groups', name, ...found };
      }
      return await this.#findPage(
        { device, opened, name, token: isTokens(presented) ? null : presented },
        source,
        ahead,
      );
    } catch (error) {
      return { kind: 'refused', name, waiting: [], error: partialErrorOf(error) };
    }
  }

  async #findPage(
    { device, opened, name, token }: PageRequest,
    source: SourceView,
    ahead: PartitionReads | null,
  ): Promise<FoundSource> {
    const { sources, refresher } = this.#parts;
    const userPartition = await sources.memberships.partitionOf(source, device.user);
    const isPaged = source.sync_type !== 'bulk_only';
    const error = isPaged ? await ensureFresh(refresher, userPartition.partition, source, token) : null;
    const isAheadValid =
      source.adapter === NO_ADAPTER &&
      ahead !== null &&
      isSameOwner(ahead.partition.owner, userPartition.partition.owner);
    const reads = ahead !== null && isAheadValid ? ahead : this.#startReads(device, name, userPartition);
    if (!isPaged) return { kind: 'refused', name, waiting: await reads.waiting, error: snapshotRequired(name) };
    const [waiting, state, own] = await Promise.all([reads.waiting, reads.state, opened]);
    const restarts = own.restarts.get(name) ?? 0;
    const position = positionAt(state, { partition: userPartition.partition, token, restarts });
    return { kind: 'page', name, waiting, position, error, view: source };
  }

  /** Looks up memberships again after the pages were read, so that a user who was removed meanwhile gets nothing. */
  async #recheck({ user }: DeviceId, found: FoundSource): Promise<FoundSource> {
    if (found.kind !== 'groups' || !hasNews(found)) return found;
    return { ...found, ...(await withoutRevoked(this.#parts, user, found)) };
  }

  #grouped(sources: readonly FoundSource[], pages: Pages): Promise<DevicePull['grouped']> {
    const grouped = sources.flatMap((found) => (found.kind === 'groups' ? found : []));
    return Promise.all(
      grouped.map(async (found) => {
        const isComplete = hasNews(found) && found.changed.length === 0;
        const hasMoved = isComplete && (await haveMoved(this.#parts.store, found, pages));
        return { source: found.name, pages: groupedPages(found, pages, hasMoved) };
      }),
    );
  }

  /**
   * Reads from the partition in which the data was when the source was last looked at here, before it is known whether the
   * source has changed since: on a store that is a server of its own, a pull is then one round trip. Null: the source is
   * not known here, or its backend must be asked first.
   */
  #readAhead(device: DeviceId, name: string): PartitionReads | null {
    const known = this.#parts.sources.lastSeen(name);
    if (known === null || known.adapter !== NO_ADAPTER || known.partition_type === 'group') return null;
    const partition = known.partition_type === 'app' ? sharedPartition(name) : userPartition(name, device.user);
    return this.#startReads(device, name, { partition, earlier: [] });
  }

  /** Outcomes are read before the state, so that the state, and the page read later, include what the outcomes tell. */
  #startReads({ client }: DeviceId, source: string, userPartition: UserPartition): PartitionReads {
    const waiting = this.#parts.uploads.waiting({ source, group: null, client, ...userPartition });
    const state = this.#parts.store.partition(userPartition.partition);
    // Reads whose result turns out not to be needed must not be unhandled rejections.
    for (const read of [waiting, state]) read.catch(() => undefined);
    return { partition: userPartition.partition, waiting, state };
  }

  async #readPages(sources: readonly FoundSource[], bounds: PageBounds): Promise<Pages> {
    const { store, cache } = this.#parts;
    const positions = sources.flatMap(toldPositions);
    const budget = new PageBudget(bounds, positions.filter((position) => position.hasNews).length);
    const pages = new Map<PullPosition, BuiltPage>();
    for (const position of positions) {
      if (!position.hasNews) pages.set(position, emptyPage(position));
      else {
        const page = await readPage(store, position, budget.next(), cache);
        budget.spend(page);
        pages.set(position, page);
      }
    }
    return pages;
  }
}

type Pages = ReadonlyMap<PullPosition, BuiltPage>;

/** The positions of a source that get a page in this answer. */
function toldPositions(found: FoundSource): readonly PullPosition[] {
  if (found.kind === 'groups') return found.told.map(({ position }) => position);
  return found.kind === 'page' ? [found.position] : [];
}

/** Whether the answer says anything that the device does not know. */
function hasNews(found: FoundSource): boolean {
  if (found.waiting.length > 0 || toldPositions(found).some((position) => position.hasNews)) return true;
  return found.kind === 'groups' && (found.told.length > 0 || found.gone.length > 0 || found.changed.length > 0);
}

/** What the device has presented, also of a group that gets no page: because it has no news, or because others come first. */
function presentedIn(sources: readonly FoundSource[], pages: Pages): readonly BuiltPage[] {
  const positions = sources.flatMap((found) =>
    found.kind === 'groups' ? found.all.map(({ position }) => position) : toldPositions(found),
  );
  return positions.flatMap((position) => {
    const page = pages.get(position);
    if (page !== undefined) return sentPosition(page);
    return position.start.kind === 'reset' ? [] : emptyPage(position);
  });
}

/** The partitions of groups that the device is told to remove. */
function goneIn(found: FoundSource): readonly PartitionKey[] {
  return found.kind === 'groups' ? found.gone.map((group) => groupPartition(found.name, group)) : [];
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

function pageFor(found: Exclude<FoundSource, { kind: 'groups' }>, pages: Pages): RenderedPage | NoPage {
  if (found.kind === 'refused') return { error: found.error };
  const page = pages.get(found.position);
  if (page === undefined) throw new Error('a source with a position has a page');
  return rendered(found.position, page, found.error);
}

/** Null unless all sources could be pulled without asking a backend. */
function quietSources(sources: readonly FoundSource[]): Pick<QuietPull, 'sources' | 'groups'> | null {
  const quiet: QuietSource[] = [];
  const groups: QuietGroups[] = [];
  for (const found of sources) {
    if (found.kind === 'refused' || found.view.adapter !== NO_ADAPTER) return null;
    if (found.kind === 'page') quiet.push({ view: found.view, position: found.position });
    else if (found.tokens.uploads?.length || found.set === 'unknown') return null;
    else {
      const { view, version, set, covered } = found;
      groups.push({ view, version, set, covered, positions: found.all.map(({ position }) => position) });
    }
  }
  return { sources: quiet, groups };
}

function isTokens(presented: string | null | GroupTokens): presented is GroupTokens {
  return typeof presented === 'object' && presented !== null;
}

/** A device that does not know of groups must not take their pages for pages of the source. */
function requireTokens(name: string, presented: string | null | GroupTokens): GroupTokens {
  if (isTokens(presented)) return presented;
  throw new Refusal('group_required', `the data of ${JSON.stringify(name)} belongs to groups: send a token for each`);
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
