import {
  type GroupPages,
  type LiveChange,
  type Page,
  type PartialError,
  PULL_SOURCES_MAX,
  type PullAnswer,
} from '@tidemark/protocol';
import { SNAPSHOT_FROM_OBJECTS } from '../limits.ts';
import { type PageAsked, type PageEffect, type Show, sourcesNotIncluding, tokenOf } from '../pull/apply-page.ts';
import type { PagePart } from '../pull/first-sync.ts';
import type { FollowOptions } from '../pull/followed-groups.ts';
import { requireProgress } from '../pull/require-progress.ts';
import { WantedSources } from '../pull/wanted-sources.ts';
import type { RowPlace } from '../state/group-rows.ts';
import type { Transaction } from '../state/local-state.ts';
import { isGroups, isPage, readPage, readPull } from '../transport/read-answer.ts';
import type { SessionCaller } from '../transport/session-caller.ts';
import { acknowledgedMember, acknowledgementsToSend, dropSent } from '../uploads/acknowledge.ts';
import { randomId } from '../uploads/random-id.ts';
import { type OutcomeEffects, settleOutcome } from '../uploads/settle-outcome.ts';
import { groupsIn, pagesOf } from './answered-pages.ts';
import type { DeviceData } from './device-data.ts';
import { GroupPuller, type GroupsApplied } from './group-puller.ts';
import { LivePages } from './live-pages.ts';
import { nextTask } from './next-task.ts';
import { PageApplier, type PageApplierHooks } from './page-applier.ts';
import type { SyncProgress } from './progress.ts';
import { PENDING, PullResults } from './pull-results.ts';
import { parsedLine, SnapshotReader } from './snapshot-reader.ts';
import { SourceList } from './source-list.ts';
import { transactIn, type WorkScope } from './work-scope.ts';

export interface PullerHooks extends PageApplierHooks {
  onOutcomes(outcomeEffects: readonly OutcomeEffects[]): void;
  /** True if a stream should stop for uploads. */
  shouldYield(): boolean;
  /** Called when a pull is about to present the tokens of these sources. */
  onPresenting(sources: readonly string[]): void;
  /** Called when a catch-up of a source, or of one of its groups, has brought something and is stored. */
  onCaughtUp(place: RowPlace, token: string): void;
  /** Called when a page of an event was applied. */
  onLiveApplied(source: string, token: string): void;
}

export interface PullerOptions {
  /** Null: all sources of the user. */
  readonly sources: readonly string[] | null;
  /** Null: the page size of the server. */
  readonly pageObjects: number | null;
  readonly usesSnapshots: boolean;
  readonly show: Show;
}

interface PullerParts {
  readonly data: DeviceData;
  readonly caller: SessionCaller;
  readonly hooks: PullerHooks;
  readonly options: PullerOptions;
}

/** Makes the device pull again after a pause, because the server has more and does not send it now. */
const NOTHING_YET: PartialError = { code: PENDING, detail: 'the server has more and sent nothing' };

/** The pull that brought a page. */
interface Pulled {
  readonly source: string;
  readonly request: number;
  readonly scope: WorkScope;
}

/** Catches up with the server, one request at a time, and keeps the remaining work between them. */
export class Puller {
  readonly wants = new WantedSources();
  readonly #data: DeviceData;
  readonly #caller: SessionCaller;
  readonly #hooks: PullerHooks;
  readonly #options: PullerOptions;
  readonly #applier: PageApplier;
  readonly #groups: GroupPuller;
  readonly #snapshots: SnapshotReader;
  readonly #results: PullResults;
  readonly #list: SourceList;
  readonly #live: LivePages;
  /** The sources of the request under way. */
  #pulled: readonly string[] = [];
  #wantsAll = false;

  constructor({ data, caller, hooks, options }: PullerParts) {
    const { platform, replica } = data;
    this.#data = data;
    this.#caller = caller;
    this.#hooks = hooks;
    this.#options = options;
    this.#applier = new PageApplier({ platform, replica, hooks, show: options.show });
    this.#groups = new GroupPuller({
      ...{ platform, replica, applier: this.#applier },
      onCaughtUp: (place, token) => hooks.onCaughtUp(place, token),
    });
    this.#snapshots = new SnapshotReader({ platform, replica, caller });
    this.#results = new PullResults(platform, (source) => hooks.onDue(source));
    this.#list = new SourceList({ platform, replica, caller, sources: options.sources });
    this.#live = new LivePages({
      tokenOf: (source) => this.#askFor(source).token,
      isPulled: (source) => this.#pulled.includes(source),
      apply: (change, scope) => this.#applyLive(change, scope),
      onApplied: ({ source, page }) => hooks.onLiveApplied(source, page.token),
      onMissed: (source) => hooks.onDue(source),
    });
  }

  /** Errors of sources that could not be pulled, or whose backend could not be reached. */
  get troubles(): ReadonlyMap<string, PartialError> {
    return this.#results.troubles;
  }

  /** How far sources are that start over; null: there are none. */
  get progress(): SyncProgress | null {
    return this.#applier.progress;
  }

  /** The number of the last request. */
  get tick(): number {
    return this.wants.tick;
  }

  wantAll(): void {
    this.#wantsAll = true;
    for (const source of this.selected()) this.wants.add(source);
  }

  /** Does the same, and reads the list of sources again. */
  wantEverything(): void {
    this.#list.markStale();
    this.wantAll();
  }

  want(source: string): void {
    if (this.#list.isSelected(source)) this.wants.add(source);
  }

  /** To be called when the server names a source. One that is not known may be new. */
  wantNamed(source: string): void {
    if (this.#list.isSelected(source) && !this.#list.has(source)) this.#list.markStale();
    this.want(source);
  }

  /** True if nothing is known to be missing. */
  get isUpToDate(): boolean {
    return this.#list.isKnown && !this.#wantsAll && this.wants.size === 0 && !this.#results.hasPending;
  }

  /** True if every source was complete at some time after this tick. */
  isCaughtUpSince(tick: number): boolean {
    if (!this.#list.isKnown || this.#list.isStale || this.#wantsAll) return false;
    return this.selected().every((source) => this.#results.isDoneSince(source, tick));
  }

  /** Takes the page of an event. It is applied if the device holds the token it begins with; else the source is pulled. */
  takeLive(change: LiveChange, scope: WorkScope): void {
    const { source } = change;
    if (!this.#list.isSelected(source)) return;
    // Only a pull tells whether the backend has answered.
    if (this.#results.isPending(source)) this.#hooks.onDue(source);
    else this.#live.take(change, scope);
  }

  /** Drops all knowledge about the server, because it may belong to another user. */
  forget(): void {
    this.wants.clear();
    this.#live.forget();
    for (const memory of [this.#groups, this.#snapshots, this.#results, this.#applier]) memory.clear();
    this.#list.forget();
  }

  /** Cancels the scheduled pulls of sources whose backend had not answered. */
  stopWaiting(): void {
    this.#results.stopWaiting();
  }

  /** Limits the groups that the device keeps of a source. */
  async follow(source: string, options: FollowOptions): Promise<void> {
    await this.#groups.follow(source, options);
  }

  /** The sources this device follows, as far as it knows them. */
  selected(): readonly string[] {
    return this.#list.selected();
  }

  /** Makes one request or reads one stream. Returns true if there is more to do. */
  async round(scope: WorkScope): Promise<boolean> {
    await this.#refreshSources(scope);
    for (const source of this.wants.names().filter((name) => this.#isGrouped(name))) {
      await this.#groups.dropUnfollowed(source);
    }
    const names = this.wants.names().filter((source) => this.#list.has(source));
    for (const source of this.wants.names()) if (!names.includes(source)) this.wants.remove(source);
    const paged = names.filter((source) => !this.#snapshots.reads(source)).slice(0, PULL_SOURCES_MAX);
    const streamed = names.find((source) => this.#snapshots.reads(source));
    this.#pulled = paged.length > 0 || streamed === undefined ? paged : [streamed];
    try {
      if (paged.length > 0) await this.#pullPages(paged, scope);
      else if (streamed !== undefined) await this.#readSnapshot(streamed, scope);
    } finally {
      const pulled = this.#pulled;
      this.#pulled = [];
      this.#live.resume(pulled, scope);
    }
    return this.wants.size > 0 || this.#list.isStale;
  }

  async #refreshSources(scope: WorkScope): Promise<void> {
    const known = this.selected();
    if (await this.#list.refresh(scope)) {
      for (const place of this.#applier.forgetRemoved()) {
        if (place.group !== undefined) continue;
        this.#groups.forget(place.source);
        this.#results.forget(place.source);
      }
      for (const source of this.#options.sources ?? []) this.#results.noteExists(source, this.#list.has(source));
    }
    for (const source of this.selected()) if (this.#wantsAll || !known.includes(source)) this.wants.add(source);
    this.#wantsAll = false;
  }

  async #pullPages(names: readonly string[], scope: WorkScope): Promise<void> {
    const request = this.wants.beginRequest();
    const { settledNext } = this.#data.writes;
    const asked = new Map(names.map((source) => [source, this.#askFor(source)]));
    const acks = acknowledgementsToSend(this.#data.replica.reader);
    this.#hooks.onPresenting(names);
    const { pageObjects } = this.#options;
    const body = {
      client_id: scope.clientId,
      sources: Object.fromEntries(Array.from(asked.values(), (ask) => [ask.source, this.#presented(ask)])),
      ...(pageObjects === null ? {} : { max_objects: pageObjects }),
      ...acknowledgedMember(acks),
    };
    const answer = await this.#caller.ask({
      method: 'POST',
      path: '/pull',
      body,
      read: readPull,
      signal: scope.signal,
    });
    const pages = await this.#storeParts(pagesOf(answer, asked), asked, scope);
    const grouped = groupsIn(answer, asked);
    const { outcomeEffects, effects, groupEffects } = await transactIn(this.#data.replica, scope, (tx) => {
      dropSent(tx, acks);
      const settled = this.#settleOutcomes(tx, answer);
      const applied = [...pages].map(([source, page]) => this.#applier.apply(tx, asked.get(source) as PageAsked, page));
      const ofGroups = grouped.map(({ ask, groups }) => this.#groups.apply(tx, ask, groups));
      return { outcomeEffects: settled, effects: applied, groupEffects: ofGroups };
    });
    this.#hooks.onOutcomes(outcomeEffects);
    for (const [index, [source, page]] of [...pages].entries())
      this.#conclude(page, effects[index], { source, request, scope });
    for (const [index, { ask, groups }] of grouped.entries()) {
      const applied = groupEffects[index];
      if (applied === undefined) continue;
      this.#groups.record(ask.source, groups, applied, scope);
      this.#concludeGroups(ask.source, groups, applied.end, request);
    }
    this.#recordTroubles(answer, asked, request);
    // Until then an upload hides what others have changed since.
    for (const source of sourcesNotIncluding(this.#data.replica.reader, settledNext)) this.want(source);
    this.#applier.requireHealed();
  }

  /** Tells once, with the pull that starts over, that the objects did not match. */
  #presented({ source, token }: PageAsked): object {
    if (this.#isGrouped(source)) return this.#groups.presented(source);
    if (token !== null) return { token };
    return this.#applier.takeMismatch(source) ? { mismatch: true } : {};
  }

  #isGrouped(source: string): boolean {
    return this.#data.replica.reader.get('sources', ['', source])?.description.partition_type === 'group';
  }

  #settleOutcomes(tx: Transaction, { outcomes }: PullAnswer): readonly OutcomeEffects[] {
    const nowMs = this.#data.platform.nowMs();
    const newOpId = () => randomId(this.#data.platform);
    return outcomes.flatMap((outcome) =>
      settleOutcome(tx, outcome, { nowMs, settled: this.#data.writes.takeSettled(), newOpId }),
    );
  }

  async #storeParts(
    pages: ReadonlyMap<string, Page>,
    asked: ReadonlyMap<string, PageAsked>,
    scope: WorkScope,
  ): Promise<ReadonlyMap<string, Page | PagePart>> {
    const last = new Map<string, Page | PagePart>();
    for (const [source, page] of pages) {
      last.set(source, await this.#applier.storeAllButLast(asked.get(source) as PageAsked, page, scope));
    }
    return last;
  }

  async #readSnapshot(source: string, scope: WorkScope): Promise<void> {
    const request = this.wants.beginRequest();
    const first = this.#askFor(source);
    // A line continues the one before. If the source has started over meanwhile, the device ignores it.
    let { token } = first;
    const isRead = await this.#snapshots.read(first, scope.signal, async (line) => {
      // Parsing a line takes long enough for a task of its own.
      await nextTask(this.#data.platform);
      const page = readPage(parsedLine(line));
      const isAtEnd = await this.#takeLine({ ...first, token }, page, line.length, { source, request, scope });
      token = page.token;
      return isAtEnd || this.#hooks.shouldYield();
    });
    if (isRead) this.#applier.requireHealed();
  }

  /** Returns true at the end of the stream. */
  async #takeLine(asked: PageAsked, page: Page, bytes: number, pulled: Pulled): Promise<boolean> {
    requireProgress(asked, page);
    const { scope } = pulled;
    const last = await this.#applier.storeAllButLast(asked, page, scope, bytes);
    // The last page of a first sync makes all of them durable.
    const isRepeatable = 'ids' in last && last.more;
    const decide = (tx: Transaction) => this.#applier.apply(tx, asked, last);
    const effect = await transactIn(this.#data.replica, scope, decide, { isRepeatable });
    this.#conclude(page, effect, pulled);
    return effect.kind !== 'staged' && effect.kind !== 'stored';
  }

  #askFor(source: string): PageAsked {
    const row = this.#data.replica.reader.get('sources', ['', source]);
    const token = row === undefined ? null : tokenOf(row);
    return { source, token, settledBefore: this.#data.writes.settledNext };
  }

  /** Not knowing when the page was made, it takes no upload as included in it: the pull after a push decides that. */
  async #applyLive({ source, from, page }: LiveChange, scope: WorkScope): Promise<PageEffect['kind']> {
    const asked: PageAsked = { source, token: from, settledBefore: 0 };
    const effect = await transactIn(this.#data.replica, scope, (tx) => this.#applier.apply(tx, asked, page));
    this.#applier.record({ source }, page, effect, scope);
    if (effect.kind === 'complete') this.#applier.recordComplete(source);
    return effect.kind;
  }

  #conclude(page: Page, effect: PageEffect | undefined, { source, request, scope }: Pulled): void {
    if (effect === undefined) return;
    this.#applier.record({ source }, page, effect, scope);
    if (effect.kind === 'staged') this.#goOn(source, page, effect.fold.isFresh ? effect.fold.objects.size : null);
    else if (effect.kind === 'stored') this.#goOn(source, page, effect.measured.size);
    else if (effect.kind === 'complete') {
      this.#applier.recordComplete(source);
      this.#snapshots.end(source);
      this.wants.fulfil(source, request);
      if (effect.isNews) this.#hooks.onCaughtUp({ source }, page.token);
      this.#results.settle(source, page.error ?? null, request);
    }
  }

  #concludeGroups(source: string, { groups }: GroupPages, end: GroupsApplied['end'], request: number): void {
    if (end === 'more') {
      this.wants.postpone(source);
      return;
    }
    this.#applier.recordComplete(source);
    this.wants.fulfil(source, request);
    const errors = Object.values(groups).flatMap(({ error }) => error ?? []);
    const error = errors.find(({ code }) => code === PENDING) ?? errors[0] ?? null;
    this.#results.settle(source, end === 'stuck' ? (error ?? NOTHING_YET) : error, request);
  }

  /** More pages follow. `held` is how many objects of a catch-up that starts over have arrived; null: it does not start over. */
  #goOn(source: string, page: Page, held: number | null): void {
    this.#results.noteEarlier(source, page);
    this.wants.postpone(source);
    const left = held === null ? 0 : page.size - held;
    if (this.#options.usesSnapshots && left > SNAPSHOT_FROM_OBJECTS) this.#snapshots.choose(source);
  }

  /** Handles sources without a page; the others are not affected. */
  #recordTroubles({ sources }: PullAnswer, asked: ReadonlyMap<string, PageAsked>, request: number): void {
    for (const source of asked.keys()) {
      const answered = Object.hasOwn(sources, source) ? sources[source] : undefined;
      if (answered !== undefined && (isPage(answered) || isGroups(answered))) continue;
      const error = answered?.error;
      if (error?.code === 'snapshot_required' && this.#snapshots.choose(source)) continue;
      if (error?.code === 'source_not_found') this.#list.markStale();
      this.wants.fulfil(source, request);
      this.#results.settle(source, error ?? { code: 'bad_answer', detail: 'the server sent no page' }, request);
    }
  }
}
