import type { GroupPages } from '@tidemark/protocol';
import { ClientError } from '../client-error.ts';
import type { Platform } from '../ports/platform.ts';
import { dropIncluded, type PageAsked, type PageEffect, tokenOf } from '../pull/apply-page.ts';
import { type FollowOptions, followedGroups, followGroups, groupsToDrop } from '../pull/followed-groups.ts';
import { dropGroup, rebuildUnion, updateUnion } from '../pull/group-union.ts';
import { requireProgress } from '../pull/require-progress.ts';
import { SetTokens } from '../pull/set-tokens.ts';
import type { Replica } from '../replica/replica.ts';
import type { RowPlace } from '../state/group-rows.ts';
import type { Transaction } from '../state/local-state.ts';
import type { SourceRow } from '../state/rows.ts';
import { isPage } from '../transport/read-answer.ts';
import type { PageApplier } from './page-applier.ts';
import type { WorkScope } from './work-scope.ts';

interface GroupPullerParts {
  readonly platform: Platform;
  readonly replica: Replica;
  readonly applier: PageApplier;
  /** Called when a catch-up of a group has brought something and is stored. */
  readonly onCaughtUp: (place: RowPlace, token: string) => void;
}

/** What became of a page of a group. */
interface GroupEffect {
  readonly group: string;
  readonly effect: PageEffect;
}

/** What became of the answer to a pull of a source of groups. */
export interface GroupsApplied {
  readonly effects: readonly GroupEffect[];
  /**
   * `whole`: the device has everything. `more`: another pull goes on. `stuck`: the server says that there is more, and another
   * pull at once would ask the same again.
   */
  readonly end: 'whole' | 'more' | 'stuck';
}

/** A group whose first page is being applied. */
const NEVER_PULLED = { seen: null, token: null, staging: null, syncedAtMs: null, heals: 0 };

/** Marks a source whose objects are not those of all its groups yet. */
const UNION_IS_BEHIND = { token: '', pages: 0 };

/** Timers of platforms count milliseconds in 31 bits. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** The part of a pull that concerns sources whose data belongs to groups. */
export class GroupPuller {
  readonly #platform: Platform;
  readonly #replica: Replica;
  readonly #applier: PageApplier;
  readonly #onCaughtUp: GroupPullerParts['onCaughtUp'];
  readonly #sets = new SetTokens();

  constructor({ platform, replica, applier, onCaughtUp }: GroupPullerParts) {
    this.#platform = platform;
    this.#replica = replica;
    this.#applier = applier;
    this.#onCaughtUp = onCaughtUp;
  }

  /** Limits the groups that the device keeps of a source. */
  async follow(source: string, options: FollowOptions): Promise<void> {
    await this.#replica.transact((tx) => {
      const sources = [...tx.entries('sources', '')];
      const row = sources.find(([name]) => name === source)?.[1];
      if (row === undefined && sources.length > 0) {
        throw new ClientError('source_not_found', `the server has no source ${JSON.stringify(source)}`);
      }
      if (row !== undefined && row.description.partition_type !== 'group') {
        throw new ClientError('invalid_request', `the data of ${JSON.stringify(source)} does not belong to groups`);
      }
      followGroups(tx, source, options, this.#platform.nowMs());
    });
    this.#sets.forget(source);
    await this.dropUnfollowed(source);
    const { keepForMs = 0 } = options;
    if (keepForMs > 0) this.#platform.after(Math.min(keepForMs, TIMER_MS_MAX), () => void this.dropUnfollowed(source));
  }

  /** Removes groups that are no longer followed and whose time is over. */
  async dropUnfollowed(source: string): Promise<void> {
    const { reader } = this.#replica;
    if (groupsToDrop(reader, source, this.#platform.nowMs()).length === 0) return;
    const groups = await this.#replica.transact((tx) => {
      const dropped = groupsToDrop(tx, source, this.#platform.nowMs());
      updateUnion(tx, source, new Map(dropped.map((group) => [group, dropGroup(tx, source, group)])));
      return dropped;
    });
    this.#sets.forget(source);
    for (const group of groups) this.#applier.forget({ source, group });
  }

  /** The tokens of the groups of a source, and where outcomes may wait. */
  presented(source: string): object {
    const { reader } = this.#replica;
    const followed = followedGroups(reader, source);
    const waiting = [...reader.entries('uploads', '')].flatMap(([, upload]) =>
      upload.source === source && upload.state === 'queued' ? (upload.group ?? []) : [],
    );
    return {
      ...this.#sets.presented(reader, source),
      ...(followed === undefined ? {} : { only: followed.groups }),
      ...(waiting.length === 0 ? {} : { uploads: [...new Set(waiting)] }),
    };
  }

  /**
   * Applies the pages of each group, and shows them together once all groups are complete, or the server has nothing but
   * errors for the others. So an object that moves from one group to another is never missing.
   */
  apply(tx: Transaction, ask: PageAsked, answer: GroupPages): GroupsApplied {
    const { source, settledBefore } = ask;
    const { groups, gone = [] } = answer;
    const row = tx.get('sources', ['', source]);
    if (row === undefined) return { effects: [], end: 'whole' };
    const isLeft = gone.some((group) => tx.get('sources', [source, group]) !== undefined);
    const changed = new Map<string, readonly string[]>(gone.map((group) => [group, dropGroup(tx, source, group)]));
    const effects: GroupEffect[] = [];
    for (const [group, page] of Object.entries(groups)) {
      if (!isPage(page)) continue;
      const token = groupToken(tx, row, group);
      requireProgress({ source, group, token, settledBefore }, page);
      const effect = this.#applier.apply(tx, { source, group, token, settledBefore }, page);
      effects.push({ group, effect });
      if (effect.kind === 'complete') changed.set(group, effect.changed);
    }
    const end = isLeft || this.#sets.hasNews(source, answer) ? endOf(answer, effects) : endWithoutNews(answer, effects);
    if (end !== 'more') this.#showUnion(tx, ask, row, changed);
    else if (row.staging === null && effects.length + gone.length > 0)
      tx.put('sources', ['', source], { ...row, staging: UNION_IS_BEHIND });
    return { effects, end };
  }

  /** To be called with what became of an answer, once it is stored. */
  record(source: string, answer: GroupPages, { effects, end }: GroupsApplied, scope: WorkScope): void {
    const { groups, gone = [] } = answer;
    this.#sets.take(source, answer);
    for (const group of gone) this.#applier.forget({ source, group });
    for (const { group, effect } of effects) {
      const page = groups[group];
      if (page === undefined || !isPage(page)) continue;
      if (end === 'more') this.#applier.countProgress({ source, group }, page, effect);
      this.#applier.record({ source, group }, page, effect, scope);
      if (effect.kind === 'complete' && effect.isNews) this.#onCaughtUp({ source, group }, page.token);
    }
    if (end === 'more') this.#applier.tellProgress();
  }

  forget(source: string): void {
    this.#sets.forget(source);
  }

  clear(): void {
    this.#sets.clear();
  }

  #showUnion(
    tx: Transaction,
    { source, settledBefore }: PageAsked,
    row: SourceRow,
    changed: ReadonlyMap<string, readonly string[]>,
  ): void {
    if (row.staging === null) updateUnion(tx, source, changed);
    else rebuildUnion(tx, source);
    dropIncluded(tx, source, settledBefore);
    const isNews = row.staging !== null || row.syncedAtMs === null || changed.size > 0;
    if (isNews) tx.put('sources', ['', source], { ...row, staging: null, syncedAtMs: this.#platform.nowMs() });
  }
}

function endOf({ more }: GroupPages, effects: readonly GroupEffect[]): GroupsApplied['end'] {
  return !more && effects.every(({ effect }) => effect.kind === 'complete') ? 'whole' : 'more';
}

/** What an answer comes to that brings nothing except its pages. */
function endWithoutNews(answer: GroupPages, effects: readonly GroupEffect[]): GroupsApplied['end'] {
  const isNews = effects.some(({ effect }) => effect.kind !== 'complete' || effect.isNews);
  return answer.more && !isNews ? 'stuck' : endOf(answer, effects);
}

/** The token of a group. A group that is new to the device gets its row. */
function groupToken(tx: Transaction, row: SourceRow, group: string): string | null {
  const { name } = row.description;
  const known = tx.get('sources', [name, group]);
  if (known === undefined) tx.put('sources', [name, group], { ...row, ...NEVER_PULLED });
  return known === undefined ? null : tokenOf(known);
}
