import { type Outcome, PULL_SOURCES_MAX } from '@tidemark/protocol';
import { requireCount } from '../admission/require-count.ts';
import type { OwnDevice } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import type { DeviceCaller } from '../devices/device-sessions.ts';
import { type BuiltPage, emptyPage } from '../pages/build-page.ts';
import type { PullPosition } from '../pages/pull-position.ts';
import type { PageBounds } from '../pages/read-from-store.ts';
import { pageBounds, readPage } from '../pages/read-page.ts';
import { sentPosition } from '../pages/record-tidemark.ts';
import { SOURCE_FILLING } from '../refresh/pull-wait.ts';
import { refusesOldApps, requireServed } from '../sources/app-versions.ts';
import { groupPartitionsNamed } from '../sources/memberships.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/source-view.ts';
import type { Acknowledged } from '../uploads/outcome-acknowledgements.ts';
import type { Uploads } from '../uploads/uploads.ts';
import { type FindSourceParts, type FoundSource, findSource, partialErrorOf, withoutRevoked } from './find-source.ts';
import { PageBudget } from './page-budget.ts';
import type { Presented } from './presented.ts';
import {
  type GroupNews,
  type Pages,
  pagesOf,
  type RefusedSource,
  readGroupNews,
  type SourcePage,
} from './pull-answer.ts';
import { isUnchanged, type UnchangedPullParts, type UnchangedSource, unchangedSource } from './unchanged-pull.ts';

export interface PullsParts extends FindSourceParts, Pick<UnchangedPullParts, 'clients'> {
  readonly uploads: Pick<Uploads, 'acknowledge' | 'waiting'>;
}

export interface DevicePullCall {
  readonly sources: ReadonlyMap<string, Presented>;
  readonly objectsMax?: number;
  /** The most text units of the answer. Absent: what the limits allow. */
  readonly unitsMax?: number;
  readonly acknowledged?: Acknowledged;
}

export interface DevicePull {
  readonly pages: readonly SourcePage[];
  /** What else there is to tell about each source of groups. */
  readonly grouped: readonly GroupNews[];
  readonly outcomes: readonly Outcome[];
  /** The present version of the schema of each source that has one and news. The objects are not newer. */
  readonly versions: ReadonlyMap<string, number>;
  /** Resolves when what the device presented is recorded. Trimming uses it as a hint, so no caller has to wait. */
  readonly noted: Promise<void>;
  /**
   * Resolves to true as long as the same call of the same device would be answered in the same way. It does not check the
   * token that the device calls with. Absent: there was news, or a backend may have to be asked.
   */
  readonly isUnchanged?: () => Promise<boolean>;
}

type SourceResult = FoundSource | RefusedSource;

/** Delivers to devices what they are missing. */
export class Pulls {
  readonly #parts: PullsParts;

  constructor(parts: PullsParts) {
    this.#parts = parts;
  }

  /** Delivers all sources of the call in one answer. A source that cannot be pulled does not spoil the others. */
  async pull(device: DeviceCaller, call: DevicePullCall): Promise<DevicePull> {
    const { limits, sessions, uploads } = this.#parts;
    requireCount(call.sources.size, PULL_SOURCES_MAX, 'sources');
    const bounds = pageBounds(limits, call);
    const opened = sessions.open(device);
    if (call.acknowledged !== undefined && call.acknowledged.size > 0) {
      await opened;
      await uploads.acknowledge(device, call.acknowledged);
    }
    // All sources are looked up at once, so that no backend and no round trip to the store waits for another.
    const requests = Array.from(call.sources, ([name, presented]) => this.#find(device, opened, name, presented));
    const [own, ...results] = await Promise.all([opened, ...requests]);
    const pages = await this.#readPages(foundIn(results), bounds);
    const isDelivering = results.some((result) => result.waiting.length > 0 || ('view' in result && result.hasNews));
    const kept = isDelivering ? await this.#withRights(device, own, results) : results;
    const found = foundIn(kept);
    const unchanged = isDelivering || call.acknowledged?.size ? null : unchangedSources(kept);
    return {
      pages: kept.flatMap((result) => pagesOf(result, pages)),
      grouped: await readGroupNews(this.#parts.store, found, pages),
      outcomes: kept.flatMap(({ waiting }) => waiting),
      versions: await this.#versionsOf(found),
      noted: this.#record(device, own, found, pages),
      ...(unchanged === null
        ? {}
        : { isUnchanged: () => isUnchanged(this.#parts, { device, own, sources: unchanged }) }),
    };
  }

  /**
   * Finds out where the device stands in a source, after a refresh if one is due. It begins with the source as it was last
   * read here, and begins again if the source has changed since: on a store that is a server of its own, a pull is then one
   * round trip. A source with a backend is read first, because a backend is not asked in vain.
   */
  async #find(device: DeviceId, opened: Promise<OwnDevice>, name: string, presented: Presented): Promise<SourceResult> {
    const { sources } = this.#parts;
    const find = (view: SourceView) => findSource(this.#parts, { device, opened, view, presented });
    const known = sources.lastSeen(name);
    const isReadEarly = known !== null && known.adapter === NO_ADAPTER && !known.filling;
    const early = isReadEarly ? find(known) : null;
    // If it turns out not to be needed, its failure must not be an unhandled rejection.
    early?.catch(() => undefined);
    try {
      const view = await sources.view(name);
      if (view.filling) return { name, waiting: [], error: SOURCE_FILLING };
      if (refusesOldApps(view)) requireServed(view, (await opened).schemaVersions);
      return await (early !== null && view === known ? early : find(view));
    } catch (error) {
      return { name, waiting: [], error: partialErrorOf(error) };
    }
  }

  /** Reads the pages of all sources one after the other, within the bounds of the whole answer. */
  async #readPages(sources: readonly FoundSource[], bounds: PageBounds): Promise<Pages> {
    const { store, cache } = this.#parts;
    const positions = sources.flatMap(({ paged }) => paged.map(({ position }) => position));
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

  /** They are read after the pages, because a page that was read after a new version was set may have objects of it. */
  async #versionsOf(found: readonly FoundSource[]): Promise<ReadonlyMap<string, number>> {
    const names = found.flatMap(({ view, hasNews }) => (hasNews && view.schema !== null ? view.name : []));
    if (names.length === 0) return NO_VERSIONS;
    const views = await Promise.all(names.map((name) => this.#parts.sources.find(name)));
    return new Map(views.flatMap((view) => (view?.schema == null ? [] : [[view.name, view.schema.version] as const])));
  }

  /**
   * Refreshes and reads took their time: checks that the device may still have what was read. An answer without news says
   * nothing beyond the tokens that were presented.
   */
  async #withRights(
    device: DeviceCaller,
    own: OwnDevice,
    results: readonly SourceResult[],
  ): Promise<readonly SourceResult[]> {
    await this.#parts.sessions.verify(device, own);
    return Promise.all(
      results.map((result) =>
        'view' in result && result.hasNews ? withoutRevoked(this.#parts, device, result) : result,
      ),
    );
  }

  async #record(device: DeviceId, own: OwnDevice, found: readonly FoundSource[], pages: Pages): Promise<void> {
    const { lastSeen } = this.#parts;
    const gone = found.flatMap(({ view, gone: named }) => groupPartitionsNamed(view.name, named));
    await Promise.all([
      lastSeen.record(device, own, presentedIn(found, pages)),
      gone.length === 0 ? undefined : lastSeen.recordGone(device, gone),
    ]);
  }
}

const NO_VERSIONS: ReadonlyMap<string, number> = new Map();

function foundIn(results: readonly SourceResult[]): readonly FoundSource[] {
  return results.flatMap((result) => ('view' in result ? result : []));
}

/** What the device has presented, also to a group that gets no page: because it has no news, or because others come first. */
function presentedIn(sources: readonly FoundSource[], pages: Pages): readonly BuiltPage[] {
  return sources.flatMap(({ positions }) =>
    positions.flatMap(({ position }) => {
      const page = pages.get(position);
      if (page !== undefined) return sentPosition(page);
      return position.start.kind === 'reset' ? [] : emptyPage(position);
    }),
  );
}

/** Null unless all sources could be pulled without asking a backend. */
function unchangedSources(results: readonly SourceResult[]): readonly UnchangedSource[] | null {
  const unchanged = results.map((result) => ('view' in result ? unchangedSource(result) : null));
  return unchanged.every((one) => one !== null) ? unchanged : null;
}
