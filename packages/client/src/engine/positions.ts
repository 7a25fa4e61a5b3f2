import { ClientError } from '../client-error.ts';
import { dropIncluded, type PageAsked, type PageEffect, tokenOf } from '../pull/apply-page.ts';
import { type FollowOptions, followedGroups, followGroups, groupsToDrop } from '../pull/followed-groups.ts';
import { type ChangedByGroup, dropGroup, readForUnion, rebuildUnion, updateUnion } from '../pull/group-union.ts';
import { requireProgress } from '../pull/require-progress.ts';
import { SetTokens } from '../pull/set-tokens.ts';
import type { ReadBefore } from '../replica/replica.ts';
import type { RowsRead } from '../state/disk-work.ts';
import { isGrouped, type RowScope, rowKey } from '../state/group-rows.ts';
import type { Reader, Transaction } from '../state/local-state.ts';
import { withMixedForm, withPresentForm } from '../state/object-form.ts';
import type { SourceRow } from '../state/rows.ts';
import type { AnsweredPage, AnsweredSource } from './answered-sources.ts';
import type { DeviceData } from './device-data.ts';
import type { PageApplier } from './page-applier.ts';
import type { WorkScope } from './work-scope.ts';

/** Where the device stood in a source when it asked: the token of the source itself, or of each of its groups. */
export interface Asked {
  readonly source: string;
  /** The group is empty for the source itself. */
  readonly tokens: ReadonlyMap<string, string | null>;
  /** Outcomes received before the request: their changes are included in the answer. */
  readonly settledBefore: number;
}

/** What became of the page of a position. */
interface PositionEffect extends AnsweredPage {
  readonly effect: PageEffect;
}

/** What became of the answer to a pull of a source. */
export interface Applied {
  readonly answered: AnsweredSource;
  readonly effects: readonly PositionEffect[];
  /**
   * `whole`: the device has everything. `more`: another pull goes on. `stuck`: the server says that there is more, and another
   * pull at once would ask the same again.
   */
  readonly end: 'whole' | 'more' | 'stuck';
}

/** An answer that is ready to be applied in a transaction. */
export interface Prepared {
  readonly apply: (tx: Transaction) => Applied;
  readonly readBefore: ReadBefore;
  /** The last page of a first sync makes all of them durable. */
  readonly isRepeatable: boolean;
}

interface PositionsParts {
  readonly data: DeviceData;
  readonly applier: PageApplier;
  /** Called when a catch-up of a position has brought something and is stored. */
  readonly onCaughtUp: (place: RowScope, token: string) => void;
}

/** A group whose first page is being applied. */
const NEVER_PULLED = { seen: null, token: null, staging: null, syncedAtMs: null, heals: 0 };

/** Marks a source whose objects are not those of all its groups yet. */
const UNION_IS_BEHIND = { token: '', pages: 0 };

/** Timers of platforms count milliseconds in 31 bits. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Where the device stands: one position in each source, or in each group of a source whose data belongs to groups. */
export class Positions {
  readonly #parts: PositionsParts;
  readonly #sets = new SetTokens();

  constructor(parts: PositionsParts) {
    this.#parts = parts;
  }

  /** Limits the groups that the device keeps of a source. */
  async follow(source: string, options: FollowOptions): Promise<void> {
    const { platform, replica } = this.#parts.data;
    await replica.transact((tx) => {
      const sources = new Map(tx.entries('sources', ''));
      const row = sources.get(source);
      if (row === undefined && sources.size > 0) {
        throw new ClientError('source_not_found', `the server has no source ${JSON.stringify(source)}`);
      }
      if (row !== undefined && !isGrouped(row)) {
        throw new ClientError('invalid_request', `the data of ${JSON.stringify(source)} does not belong to groups`);
      }
      followGroups(tx, source, options, platform.nowMs());
    });
    this.#sets.forget(source);
    await this.dropUnfollowed(source);
    const { keepForMs = 0 } = options;
    if (keepForMs > 0) platform.after(Math.min(keepForMs, TIMER_MS_MAX), () => void this.dropUnfollowed(source));
  }

  /** Removes groups that are no longer followed and whose time is over. */
  async dropUnfollowed(source: string): Promise<void> {
    const { platform, replica } = this.#parts.data;
    if (groupsToDrop(replica.reader, source, platform.nowMs()).length === 0) return;
    const groups = await replica.transact((tx) => {
      const dropped = groupsToDrop(tx, source, platform.nowMs());
      updateUnion(tx, source, new Map(dropped.map((group) => [group, dropGroup(tx, source, group)])));
      return dropped;
    });
    this.#sets.forget(source);
    for (const group of groups) this.#parts.applier.forget({ source, group });
  }

  /** Where the device stands now. */
  asked(source: string): Asked {
    const { replica, writes } = this.#parts.data;
    const row = replica.reader.get('sources', ['', source]);
    const rows = isGrouped(row) ? replica.reader.entries('sources', source) : [['', row] as const];
    const tokens = new Map<string, string | null>();
    for (const [group, own] of rows) tokens.set(group, own === undefined ? null : tokenOf(own));
    return { source, tokens, settledBefore: writes.settledNext };
  }

  /** What a pull says about a source. It tells once, with the pull that starts over, that the objects did not match. */
  presented({ source, tokens }: Asked): object {
    const { data, applier } = this.#parts;
    const { reader } = data.replica;
    if (isGrouped(reader.get('sources', ['', source]))) {
      const followed = followedGroups(reader, source);
      const waiting = groupsWaiting(reader, source);
      return {
        ...this.#sets.presented(reader, source),
        ...(followed === undefined ? {} : { only: followed.groups }),
        ...(waiting.size === 0 ? {} : { uploads: [...waiting] }),
      };
    }
    const token = tokens.get('') ?? null;
    if (token !== null) return { token };
    return applier.takeMismatch(source) ? { mismatch: true } : {};
  }

  /** Stores all parts of a page of a first sync but the last one. What is left is applied with the rest of the answer. */
  async prepare(asked: Asked, answered: AnsweredSource, scope: WorkScope, bytes?: number): Promise<Prepared> {
    for (const { group, page } of answered.pages) requireProgress(askedFor(asked, group), page);
    const { applier, data } = this.#parts;
    const { reader } = data.replica;
    const [only] = answered.pages;
    if (answered.set !== null || only === undefined) {
      for (const { group, page } of answered.pages) {
        const place = placeOf(asked.source, group);
        const isBegun = reader.get('sources', rowKey(place))?.staging?.firstSync !== undefined;
        if (isBegun) await applier.measureHeld(place, page);
      }
      const readBefore: ReadBefore = (rows) => this.#readForGroups(rows, answered);
      return { apply: (tx) => this.#applyGroups(tx, asked, answered), readBefore, isRepeatable: false };
    }
    const ask = askedFor(asked, undefined);
    const last = await applier.storeAllButLast(ask, only.page, scope, bytes);
    const apply = (tx: Transaction): Applied => {
      const effects = [{ ...only, effect: applier.apply(tx, ask, last) }];
      return { answered, effects, end: endOf(answered, effects) };
    };
    const readBefore: ReadBefore = async (rows) => void (await applier.readBefore(rows, ask, last));
    return { apply, readBefore, isRepeatable: 'ids' in last && last.more };
  }

  async #readForGroups(rows: RowsRead, { source, pages }: AnsweredSource): Promise<void> {
    const { applier, data } = this.#parts;
    if (!data.replica.reader.isOnDisk(source)) return;
    const read = new Map<string, readonly string[]>();
    for (const { group = '', page } of pages) read.set(group, await applier.readBefore(rows, { source, group }, page));
    await readForUnion(rows, source, read);
  }

  /**
   * Applies the pages of groups. They are shown together once all groups are complete, or the server has nothing but errors for
   * the others. So an object that moves from one group to another is never missing.
   */
  #applyGroups(tx: Transaction, asked: Asked, answered: AnsweredSource): Applied {
    const { source, pages, gone, set } = answered;
    const row = tx.get('sources', ['', source]);
    if (row === undefined) return { answered, effects: [], end: 'whole' };
    const isLeft = gone.some((group) => tx.get('sources', [source, group]) !== undefined);
    const changed = new Map<string, readonly string[] | null>();
    for (const group of gone) changed.set(group, dropGroup(tx, source, group));
    const followed = followedGroups(tx, source);
    const effects = pages.map(({ group = '', page }): PositionEffect => {
      const isNew = tx.get('sources', [source, group]) === undefined;
      // The app has chosen other groups since the request, and nothing would remove what came of this one.
      if (isNew && followed?.groups.includes(group) === false) return { group, page, effect: { kind: 'ignored' } };
      if (isNew) tx.put('sources', [source, group], { ...row, ...NEVER_PULLED });
      const effect = this.#parts.applier.apply(tx, askedFor(asked, group), page);
      if (effect.kind === 'complete') changed.set(group, effect.changed);
      return { group, page, effect };
    });
    const isNews = isLeft || (set !== null && this.#sets.hasNews(source, set));
    const end = isNews ? endOf(answered, effects) : endWithoutNews(answered, effects);
    const formed = answered.errors.length === 0 ? withPresentForm(row) : withMixedForm(row);
    if (end !== 'more') this.#showUnion(tx, asked, { row, formed }, changed);
    else if (row.staging === null && effects.length + gone.length > 0)
      tx.put('sources', ['', source], { ...row, staging: UNION_IS_BEHIND });
    return { answered, effects, end };
  }

  /** To be called with what became of an answer, once it is stored. */
  record({ answered, effects, end }: Applied, scope: WorkScope): void {
    const { source, gone, set } = answered;
    const { applier, onCaughtUp } = this.#parts;
    if (set !== null) this.#sets.take(source, set);
    for (const group of gone) applier.forget({ source, group });
    for (const { group, page, effect } of effects) {
      const place = placeOf(source, group);
      if (group !== undefined && end === 'more') applier.countProgress(place, page, effect);
      applier.record(place, page, effect, scope);
      if (effect.kind === 'complete' && effect.isNews) onCaughtUp(place, page.token);
    }
    if (set !== null && end === 'more') applier.tellProgress();
  }

  forget(source: string): void {
    this.#sets.forget(source);
  }

  clear(): void {
    this.#sets.clear();
  }

  #showUnion(
    tx: Transaction,
    { source, settledBefore }: Asked,
    { row, formed }: { readonly row: SourceRow; readonly formed: SourceRow },
    changed: ChangedByGroup,
  ): void {
    if (row.staging === null) updateUnion(tx, source, changed);
    else rebuildUnion(tx, source);
    dropIncluded(tx, source, settledBefore);
    const isNews = row.staging !== null || row.syncedAtMs === null || changed.size > 0 || formed !== row;
    if (!isNews) return;
    tx.put('sources', ['', source], { ...formed, staging: null, syncedAtMs: this.#parts.data.platform.nowMs() });
  }
}

/** What was asked for one position. */
function askedFor({ source, tokens, settledBefore }: Asked, group: string | undefined): PageAsked {
  return { ...placeOf(source, group), token: tokens.get(group ?? '') ?? null, settledBefore };
}

function placeOf(source: string, group: string | undefined): RowScope {
  return group === undefined ? { source } : { source, group };
}

/** The groups in which outcomes of uploads may wait. */
function groupsWaiting(reader: Reader, source: string): ReadonlySet<string> {
  const waiting = new Set<string>();
  for (const [, upload] of reader.entries('uploads', '')) {
    if (upload.source === source && upload.state === 'queued' && upload.group !== undefined) waiting.add(upload.group);
  }
  return waiting;
}

function endOf({ more }: AnsweredSource, effects: readonly PositionEffect[]): Applied['end'] {
  return !more && effects.every(({ effect }) => effect.kind === 'complete') ? 'whole' : 'more';
}

/** What an answer comes to that brings nothing except its pages. */
function endWithoutNews(answer: AnsweredSource, effects: readonly PositionEffect[]): Applied['end'] {
  const isNews = effects.some(({ effect }) => effect.kind !== 'complete' || effect.isNews);
  return answer.more && !isNews ? 'stuck' : endOf(answer, effects);
}
