import { LIVE_OBJECTS_MAX, LIVE_UNITS_MAX } from '@tidemark/protocol';
import type { CommitRange } from '../journal/committed.ts';
import type { PageCache } from '../pages/page-cache.ts';
import { positionAt } from '../pages/pull-position.ts';
import { type RenderedPage, readPage, rendered } from '../pages/read-page.ts';
import { tokenText } from '../pages/token.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import { refusesOldApps } from '../sources/app-versions.ts';
import type { Sources } from '../sources/sources.ts';

export interface LivePagesParts {
  readonly store: Store;
  readonly sources: Sources;
  readonly cache: PageCache;
}

/** A page that is sent without being asked for. */
export interface LivePage {
  /** The token that a device must hold to apply the page. */
  readonly from: string;
  readonly page: RenderedPage;
  /** The seqs that the page covers. */
  readonly range: CommitRange;
  /** The present version of the schema of the source; null: it has none. The objects are not newer. */
  readonly version: number | null;
}

/** Reads pages for devices that hold everything up to a commit, so that they need not ask for it. */
export class LivePages {
  readonly #parts: LivePagesParts;

  constructor(parts: LivePagesParts) {
    this.#parts = parts;
  }

  /**
   * The page brings a device from the state before the commits to the present one. Null: devices have to pull, because
   * the page is large, they must start over, or only a pull can tell where the user's data is.
   */
  async read(partition: PartitionKey, { epoch, after, upTo }: CommitRange): Promise<LivePage | null> {
    const { store, cache } = this.#parts;
    if (upTo - after > LIVE_OBJECTS_MAX || !(await this.#isDeliveredFrom(partition))) return null;
    const from = tokenText({ epoch, seq: after, baseline: { kind: 'base', seq: after } }, 0);
    const position = positionAt(await store.partition(partition), { partition, token: from, restarts: 0 });
    if (position.start.kind === 'reset' || !position.hasNews) return null;
    const page = await readPage(store, position, { entriesMax: LIVE_OBJECTS_MAX, unitsMax: LIVE_UNITS_MAX }, cache);
    if (page.start.kind === 'reset' || page.more || page.body.units > LIVE_UNITS_MAX) return null;
    const { epoch: reached, seq } = page.token;
    const version = (await this.#parts.sources.find(partition.source))?.schema?.version ?? null;
    return { from, page: rendered(position, page, null), range: { epoch: reached, after, upTo: seq }, version };
  }

  /** Whether pulls deliver pages of the source from this partition. */
  async #isDeliveredFrom({ source: name, owner }: PartitionKey): Promise<boolean> {
    const source = await this.#parts.sources.find(name);
    if (source === null || source.sync_type === 'bulk_only' || source.filling) return false;
    // Only a pull knows the version of the app.
    if (refusesOldApps(source)) return false;
    if (source.partition_type === 'app') return owner.kind === 'shared';
    // Only a pull checks whether the user is still a member of the group.
    if (source.partition_type === 'group') return false;
    return owner.kind === 'user' && !this.#parts.sources.memberships.areDecidedByAdapter(source);
  }
}
