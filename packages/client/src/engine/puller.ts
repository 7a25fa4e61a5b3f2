import { type LiveChange, type Page, type PartialError, PULL_SOURCES_MAX, type PullAnswer } from '@tidemark/protocol';
import { SNAPSHOT_FROM_OBJECTS } from '../limits.ts';
import { type PageEffect, type Show, sourcesNotIncluding } from '../pull/apply-page.ts';
import type { FollowOptions } from '../pull/followed-groups.ts';
import { WantedSources } from '../pull/wanted-sources.ts';
import type { ReadBefore } from '../replica/replica.ts';
import { isGrouped, type RowScope } from '../state/group-rows.ts';
import type { Transaction } from '../state/local-state.ts';
import { readPage, readPull } from '../transport/read-answer.ts';
import type { SessionCaller } from '../transport/session-caller.ts';
import { acknowledgedMember, acknowledgementsToSend, dropSent } from '../uploads/acknowledge.ts';
import { randomId } from '../uploads/random-id.ts';
import { type OutcomeEffects, settleOutcome } from '../uploads/settle-outcome.ts';
import { answeredSources, ofPage } from './answered-sources.ts';
import type { DeviceData } from './device-data.ts';
import { LivePages } from './live-pages.ts';
import { nextTask } from './next-task.ts';
import { PageApplier, type PageApplierHooks } from './page-applier.ts';
import { type Applied, type Asked, Positions, type Prepared } from './positions.ts';
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
  onCaughtUp(place: RowScope, token: string): void;
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

/** Catches up with the server, one request at a time, and keeps the remaining work between them. */
export class Puller {
  readonly wants = new WantedSources();
  readonly #parts: PullerParts;
  readonly #applier: PageApplier;
  readonly #positions: Positions;
  readonly #snapshots: SnapshotReader;
  readonly #results: PullResults;
  readonly #list: SourceList;
  readonly #live: LivePages;

  constructor(parts: PullerParts) {
    const { data, caller, hooks, options } = parts;
    const { platform, replica } = data;
    this.#parts = parts;
    this.#applier = new PageApplier({ platform, replica, hooks, show: options.show });
    this.#positions = new Positions({
      ...{ data, applier: this.#applier },
      onCaughtUp: (place, token) => hooks.onCaughtUp(place, token),
    });
    this.#snapshots = new SnapshotReader({ platform, replica, caller });
    this.#results = new PullResults(platform, (source) => hooks.onDue(source));
    this.#list = new SourceList({ platform, replica, caller, sources: options.sources });
    this.#live = new LivePages({
      tokenOf: (source) => this.#positions.asked(source).tokens.get('') ?? null,
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

  wantAll(): void {
    this.wants.addAll(this.#list.selected());
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
    return this.#list.isKnown && this.wants.isEmpty && !this.#results.hasPending;
  }

  /** True if every source was complete at some time after this tick. */
  isCaughtUpSince(tick: number): boolean {
    if (!this.#list.isKnown || this.#list.isStale || this.wants.isAll) return false;
    return this.#list.selected().every((source) => this.#results.isDoneSince(source, tick));
  }

  /** Takes the page of an event. It is applied if the device holds the token it begins with; else the source is pulled. */
  takeLive(change: LiveChange, scope: WorkScope): void {
    const { source } = change;
    if (!this.#list.isSelected(source)) return;
    // Only a pull tells whether the backend has answered, and reads the list of sources if that is needed.
    if (this.#results.isPending(source) || !this.#isOfHeldVersion(change)) this.#parts.hooks.onDue(source);
    else this.#live.take(change, scope);
  }

  /** Drops all knowledge about the server, because it may belong to another user. */
  forget(): void {
    for (const memory of [this.wants, this.#live, this.#positions, this.#snapshots, this.#results, this.#applier])
      memory.clear();
    this.#list.forget();
  }

  /** Cancels the scheduled pulls of sources whose backend had not answered. */
  stopWaiting(): void {
    this.#results.stopWaiting();
  }

  /** Limits the groups that the device keeps of a source. */
  async follow(source: string, options: FollowOptions): Promise<void> {
    await this.#positions.follow(source, options);
  }

  /** Makes one request or reads one stream. Returns true if there is more to do. */
  async round(scope: WorkScope): Promise<boolean> {
    await this.readSources(scope);
    const { reader } = this.#parts.data.replica;
    for (const source of this.wants.names()) {
      if (isGrouped(reader.get('sources', ['', source]))) await this.#positions.dropUnfollowed(source);
    }
    for (const source of this.wants.names()) if (!this.#list.has(source)) this.wants.remove(source);
    const paged = this.wants
      .names()
      .filter((source) => !this.#snapshots.reads(source))
      .slice(0, PULL_SOURCES_MAX);
    const [streamed] = paged.length > 0 ? [] : this.wants.names();
    await this.#live.without(streamed === undefined ? paged : [streamed], scope, async () => {
      if (paged.length > 0) await this.#pullPages(paged, scope);
      else if (streamed !== undefined) await this.#readSnapshot(streamed, scope);
    });
    return this.wants.size > 0 || this.#list.isStale;
  }

  /** Reads the list of sources if it is not known or may be outdated. */
  async readSources(scope: WorkScope): Promise<void> {
    const known = this.#list.selected();
    if (await this.#list.refresh(scope)) {
      for (const place of this.#applier.forgetRemoved()) {
        if (place.group !== undefined) continue;
        this.#positions.forget(place.source);
        this.#results.forget(place.source);
      }
      for (const source of this.#parts.options.sources ?? []) this.#results.noteExists(source, this.#list.has(source));
    }
    this.wants.expand(this.#list.selected(), known);
  }

  async #pullPages(names: readonly string[], scope: WorkScope): Promise<void> {
    const { data, caller, hooks, options } = this.#parts;
    const { replica } = data;
    const request = this.wants.beginRequest();
    const { settledNext } = data.writes;
    const asked = new Map(names.map((source) => [source, this.#positions.asked(source)]));
    const acks = acknowledgementsToSend(replica.reader);
    hooks.onPresenting(names);
    const body = {
      client_id: scope.clientId,
      sources: Object.fromEntries(Array.from(asked, ([source, ask]) => [source, this.#positions.presented(ask)])),
      ...(options.pageObjects === null ? {} : { max_objects: options.pageObjects }),
      ...acknowledgedMember(acks),
    };
    const { signal } = scope;
    const answer = await caller.ask({ method: 'POST', path: '/pull', body, read: readPull, signal });
    // Without the list, the app would see objects of a version that the device has not heard of. The next round pulls again.
    if (this.#list.lacks(answer.versions)) return;
    const answers = answeredSources(answer, names);
    const pending: Prepared[] = [];
    for (const answered of answers) {
      const ask = asked.get(answered.source) as Asked;
      if (!('error' in answered)) pending.push(await this.#positions.prepare(ask, answered, scope));
    }
    const decide = (tx: Transaction) => {
      dropSent(tx, acks);
      return { outcomeEffects: this.#settleOutcomes(tx, answer), applied: pending.map(({ apply }) => apply(tx)) };
    };
    const readBefore: ReadBefore = async (rows) => {
      for (const one of pending) await one.readBefore(rows);
    };
    const { outcomeEffects, applied } = await transactIn(replica, scope, decide, { readBefore });
    hooks.onOutcomes(outcomeEffects);
    for (const one of applied) this.#conclude(one, request, scope);
    for (const answered of answers) {
      if ('error' in answered) this.#noteTrouble(answered.source, answered.error, request);
    }
    // Until then an upload hides what others have changed since.
    for (const source of sourcesNotIncluding(replica.reader, settledNext)) this.want(source);
    this.#applier.requireHealed();
  }

  #isOfHeldVersion({ source, version }: LiveChange): boolean {
    const { reader } = this.#parts.data.replica;
    return reader.versions === null || reader.get('sources', ['', source])?.form?.newest === version;
  }

  #settleOutcomes(tx: Transaction, { outcomes }: PullAnswer): readonly OutcomeEffects[] {
    const { platform, writes } = this.#parts.data;
    const nowMs = platform.nowMs();
    const newOpId = () => randomId(platform);
    return outcomes.flatMap((outcome) => settleOutcome(tx, outcome, { nowMs, settled: writes.takeSettled(), newOpId }));
  }

  async #readSnapshot(source: string, scope: WorkScope): Promise<void> {
    const { data, hooks } = this.#parts;
    if (data.replica.reader.versions !== null) {
      // Pages of a snapshot do not tell versions.
      this.#list.markStale();
      await this.readSources(scope);
    }
    const request = this.wants.beginRequest();
    let asked = this.#positions.asked(source);
    const first = asked.tokens.get('') ?? null;
    const isRead = await this.#snapshots.read({ source, token: first }, scope.signal, async (line) => {
      // Parsing a line takes long enough for a task of its own.
      await nextTask(data.platform);
      const page = readPage(parsedLine(line));
      const prepared = await this.#positions.prepare(asked, ofPage(source, page), scope, line.length);
      const { readBefore, isRepeatable } = prepared;
      const applied = await transactIn(data.replica, scope, prepared.apply, { readBefore, isRepeatable });
      this.#conclude(applied, request, scope);
      // A line continues the one before. If the source has started over meanwhile, the device ignores it.
      asked = { ...asked, tokens: new Map([['', page.token]]) };
      return !applied.effects.every(isPartOfMore) || hooks.shouldYield();
    });
    if (isRead) this.#applier.requireHealed();
  }

  /** Not knowing when the page was made, it takes no upload as included in it: the pull after a push decides that. */
  async #applyLive({ source, from, page }: LiveChange, scope: WorkScope): Promise<PageEffect['kind']> {
    const asked = { source, token: from, settledBefore: 0 };
    const readBefore: ReadBefore = async (rows) => void (await this.#applier.readBefore(rows, { source }, page));
    const decide = (tx: Transaction) => this.#applier.apply(tx, asked, page);
    const effect = await transactIn(this.#parts.data.replica, scope, decide, { readBefore });
    this.#applier.record({ source }, page, effect, scope);
    if (effect.kind === 'complete') this.#applier.recordComplete(source);
    return effect.kind;
  }

  #conclude(applied: Applied, request: number, scope: WorkScope): void {
    const { answered, effects, end } = applied;
    const { source, errors } = answered;
    this.#positions.record(applied, scope);
    if (end === 'more') {
      for (const { page, effect } of effects) if (answered.set === null) this.#goOn(source, page, effect);
      this.wants.postpone(source);
      return;
    }
    this.#applier.recordComplete(source);
    this.#snapshots.end(source);
    this.wants.fulfil(source, request);
    const error = errors.find(({ code }) => code === PENDING) ?? errors[0] ?? null;
    this.#results.settle(source, end === 'stuck' ? (error ?? NOTHING_YET) : error, request);
  }

  /** More pages of a source follow. One that starts over, and lacks much, continues as a stream. */
  #goOn(source: string, page: Page, effect: PageEffect): void {
    if (effect.kind !== 'staged' && effect.kind !== 'stored') return;
    this.#results.noteEarlier(source, page);
    const held =
      effect.kind === 'stored' ? effect.measured.size : effect.fold.isFresh ? effect.fold.objects.size : null;
    const left = held === null ? 0 : page.size - held;
    if (this.#parts.options.usesSnapshots && left > SNAPSHOT_FROM_OBJECTS) this.#snapshots.choose(source);
  }

  /** Handles a source without a page; the others are not affected. */
  #noteTrouble(source: string, error: PartialError, request: number): void {
    if (error.code === 'snapshot_required' && this.#snapshots.choose(source)) return;
    if (error.code === 'source_not_found') this.#list.markStale();
    this.wants.fulfil(source, request);
    this.#results.settle(source, error, request);
  }
}

function isPartOfMore({ effect }: Applied['effects'][number]): boolean {
  return effect.kind === 'staged' || effect.kind === 'stored';
}
