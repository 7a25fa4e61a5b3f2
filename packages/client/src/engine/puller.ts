import {
  type GroupPages,
  type LiveChange,
  type Page,
  type PartialError,
  PULL_SOURCES_MAX,
  type PullAnswer,
  parseJson,
  type SyncSource,
} from '@tidemark/protocol';
import { ClientError, clientError } from '../client-error.ts';
import { HEALS_IN_A_ROW_MAX, SNAPSHOT_FROM_OBJECTS, SOURCES_FRESH_MS, STREAM_SILENCE_MS_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import {
  applyPage,
  dropIncluded,
  foldStaged,
  type PageAsked,
  type PageEffect,
  type Show,
  tokenOf,
} from '../pull/apply-page.ts';
import { applySources } from '../pull/apply-sources.ts';
import { isOfFirstSync, type PagePart, partsOf } from '../pull/first-sync.ts';
import { type Fold, measureAll, type SizeAndChecksum } from '../pull/fold.ts';
import { type FollowOptions, followedGroups, followGroups, groupsToDrop } from '../pull/followed-groups.ts';
import { dropGroup, rebuildUnion, updateUnion } from '../pull/group-union.ts';
import { SetTokens } from '../pull/set-tokens.ts';
import { WantedSources } from '../pull/wanted-sources.ts';
import { type RowPlace, rowsOf } from '../state/group-rows.ts';
import type { Reader, Transaction } from '../state/local-state.ts';
import type { Replica } from '../state/replica.ts';
import type { SourceRow } from '../state/rows.ts';
import { linesOf } from '../transport/lines.ts';
import { pauseMs } from '../transport/pause-ms.ts';
import { isGroups, isPage, readPage, readPull, readSources } from '../transport/read-answer.ts';
import type { SessionCaller } from '../transport/session-caller.ts';
import { timeLimit } from '../transport/wire.ts';
import { acknowledgedMember, acknowledgementsToSend, dropSent } from '../uploads/acknowledge.ts';
import { randomId } from '../uploads/random-id.ts';
import { type OutcomeEffects, settleOutcome } from '../uploads/settle-outcome.ts';
import { LivePages } from './live-pages.ts';
import { nextTask } from './next-task.ts';
import { ProgressCounter, type SyncProgress } from './progress.ts';
import type { Verifier } from './verifier.ts';
import { transactIn, type WorkScope } from './work-scope.ts';

export interface PullerHooks {
  onOutcomes(outcomeEffects: readonly OutcomeEffects[]): void;
  onHealed(source: string, reason: string): void;
  /** True if a stream should stop for uploads. */
  shouldYield(): boolean;
  /** Called when a pull is about to present the tokens of these sources. */
  onPresenting(sources: readonly string[]): void;
  /** Called when a catch-up of a source, or of one of its groups, has brought something and is stored. */
  onCaughtUp(place: RowPlace, token: string): void;
  /** Called when a source must be pulled again: its backend had not answered, or a page of an event cannot be applied. */
  onDue(source: string): void;
  /** Called when a page of an event was applied. */
  onLiveApplied(source: string, token: string): void;
  /** Called when more of a first sync has arrived. */
  onProgress(): void;
}

/** A source whose backend had not answered when it was pulled. */
interface Pending {
  /** Consecutive pulls with this result. */
  readonly pulls: number;
  readonly cancel: () => void;
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
  readonly platform: Platform;
  readonly replica: Replica;
  readonly caller: SessionCaller;
  readonly hooks: PullerHooks;
  readonly options: PullerOptions;
}

/** The code of a source whose backend has not answered yet. */
const PENDING = 'refresh_pending';
const MS_PER_S = 1_000;
/** Timers of platforms count milliseconds in 31 bits. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Statuses of a server that has no snapshot of the source, which is pulled instead. */
const NO_SNAPSHOT_STATUSES: ReadonlySet<number | null> = new Set([404, 405, 406, 501]);

/** Catches up with the server, one request at a time, and keeps the remaining work between them. */
export class Puller {
  readonly wants = new WantedSources();
  readonly #platform: Platform;
  readonly #replica: Replica;
  readonly #caller: SessionCaller;
  readonly #hooks: PullerHooks;
  readonly #options: PullerOptions;
  /** Folded staged pages; they can be computed again from the staged pages. */
  readonly #folds = new Map<string, Fold>();
  /**
   * Size and checksum of the stored objects. The verifier computes them from the objects after the first pull, so that
   * damage to the closed store is detected; they are updated from then on.
   */
  readonly #measures = new Map<string, SizeAndChecksum>();
  /** Loaded when a stored source is to be verified. */
  #verifier: Promise<Verifier> | null = null;
  readonly #progress = new ProgressCounter();
  /** Sources that continue as a snapshot stream. */
  readonly #streamed = new Set<string>();
  /** Sources that the server refused to stream. */
  readonly #notStreamed = new Set<string>();
  readonly #healsInARow = new Map<string, number>();
  /** Sources whose objects did not match the checksum, which the server has not been told yet. */
  readonly #mismatched = new Set<string>();
  readonly #troubles = new Map<string, PartialError>();
  /** Errors of staged pages; they hold for the whole catch-up. */
  readonly #stagedTroubles = new Map<string, PartialError>();
  readonly #pending = new Map<string, Pending>();
  readonly #live: LivePages;
  readonly #sets = new SetTokens();
  /** The sources of the request under way. */
  #pulled: readonly string[] = [];
  /** The last request after which a source was complete, or known to be unavailable. */
  readonly #doneAt = new Map<string, number>();
  #sourcesAtMs: number | null = null;
  #isListStale = false;
  #wantsAll = false;

  constructor({ platform, replica, caller, hooks, options }: PullerParts) {
    this.#platform = platform;
    this.#replica = replica;
    this.#caller = caller;
    this.#hooks = hooks;
    this.#options = options;
    this.#live = new LivePages({
      tokenOf: (source) => this.#askFor(source).token,
      isPulled: (source) => this.#pulled.includes(source),
      apply: (change, scope) => this.#applyLive(change, scope),
      onApplied: ({ source, page }) => this.#hooks.onLiveApplied(source, page.token),
      onMissed: (source) => this.#hooks.onDue(source),
    });
  }

  /** Errors of sources that could not be pulled, or whose backend could not be reached. */
  get troubles(): ReadonlyMap<string, PartialError> {
    return this.#troubles;
  }

  /** How far sources are that start over; null: there are none. */
  get progress(): SyncProgress | null {
    return this.#progress.current;
  }

  wantAll(): void {
    this.#wantsAll = true;
    for (const source of this.selected()) this.wants.add(source);
  }

  want(source: string): void {
    if (this.#isSelected(source)) this.wants.add(source);
  }

  /** True if nothing is known to be missing. */
  get isUpToDate(): boolean {
    return this.#sourcesAtMs !== null && !this.#wantsAll && this.wants.size === 0 && this.#pending.size === 0;
  }

  /** True if every source was complete at some time after this tick. */
  isCaughtUpSince(tick: number): boolean {
    if (this.#sourcesAtMs === null || this.#wantsAll) return false;
    return this.selected().every((source) => (this.#doneAt.get(source) ?? 0) > tick);
  }

  /** Takes the page of an event. It is applied if the device holds the token it begins with; else the source is pulled. */
  takeLive(change: LiveChange, scope: WorkScope): void {
    const { source } = change;
    if (!this.#isSelected(source)) return;
    // Only a pull tells whether the backend has answered.
    if (this.#pending.has(source)) this.#hooks.onDue(source);
    else this.#live.take(change, scope);
  }

  /** Drops all knowledge about the server, because it may belong to another user. */
  forget(): void {
    this.wants.clear();
    this.#live.forget();
    this.#sets.clear();
    this.#withVerifier((verifier) => verifier.clear());
    this.#progress.clear();
    this.stopWaiting();
    const memories = [this.#folds, this.#streamed, this.#notStreamed, this.#healsInARow, this.#troubles, this.#doneAt];
    for (const memory of [...memories, this.#measures, this.#stagedTroubles]) memory.clear();
    this.#sourcesAtMs = null;
  }

  #forgetSource(source: string): void {
    this.#measures.delete(source);
    this.#withVerifier((verifier) => verifier.forget(source));
    this.#progress.end(source);
    this.#sets.forget(source);
    this.#pending.get(source)?.cancel();
    this.#pending.delete(source);
  }

  /** Cancels the scheduled pulls of sources whose backend had not answered. */
  stopWaiting(): void {
    for (const { cancel } of this.#pending.values()) cancel();
    this.#pending.clear();
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
    await this.#dropUnfollowed(source);
    const { keepForMs = 0 } = options;
    if (keepForMs > 0) this.#platform.after(Math.min(keepForMs, TIMER_MS_MAX), () => void this.#dropUnfollowed(source));
  }

  /** Removes groups that are no longer followed and whose time is over. */
  async #dropUnfollowed(source: string): Promise<void> {
    const { reader } = this.#replica;
    if (groupsToDrop(reader, source, this.#platform.nowMs()).length === 0) return;
    const groups = await this.#replica.transact((tx) => {
      const dropped = groupsToDrop(tx, source, this.#platform.nowMs());
      updateUnion(tx, source, new Map(dropped.map((group) => [group, dropGroup(tx, source, group)])));
      return dropped;
    });
    this.#sets.forget(source);
    for (const group of groups) this.#forgetRows(rowsOf({ source, group }));
  }

  #forgetRows(rows: string): void {
    this.#measures.delete(rows);
    this.#folds.delete(rows);
    this.#withVerifier((verifier) => verifier.forget(rows));
  }

  /** The sources this device follows, as far as it knows them. */
  selected(): readonly string[] {
    return [...this.#replica.reader.entries('sources', '')]
      .map(([source]) => source)
      .filter((source) => this.#isSelected(source));
  }

  /** Makes one request or reads one stream. Returns true if there is more to do. */
  async round(scope: WorkScope): Promise<boolean> {
    await this.#refreshSources(scope);
    for (const source of this.wants.names()) await this.#dropUnfollowed(source);
    const names = this.wants
      .names()
      .filter((source) => this.#replica.reader.get('sources', ['', source]) !== undefined);
    for (const source of this.wants.names()) if (!names.includes(source)) this.wants.remove(source);
    const paged = names.filter((source) => !this.#isStreamed(source)).slice(0, PULL_SOURCES_MAX);
    const streamed = names.find((source) => this.#isStreamed(source));
    this.#pulled = paged.length > 0 || streamed === undefined ? paged : [streamed];
    try {
      if (paged.length > 0) await this.#pullPages(paged, scope);
      else if (streamed !== undefined) await this.#readSnapshot(streamed, scope);
    } finally {
      const pulled = this.#pulled;
      this.#pulled = [];
      this.#live.resume(pulled, scope);
    }
    return this.wants.size > 0;
  }

  async #refreshSources(scope: WorkScope): Promise<void> {
    const nowMs = this.#platform.nowMs();
    const isFresh = this.#sourcesAtMs !== null && nowMs < this.#sourcesAtMs + SOURCES_FRESH_MS;
    if (!isFresh || this.#isListStale) {
      const answer = await this.#caller.ask({
        method: 'GET',
        path: '/sources',
        read: readSources,
        signal: scope.signal,
      });
      await transactIn(this.#replica, scope, (tx) => applySources(tx, answer.sources.map(completeDescription)));
      for (const source of this.#measures.keys()) {
        if (this.#replica.reader.get('sources', ['', source]) === undefined) this.#forgetSource(source);
      }
      this.#sourcesAtMs = nowMs;
      this.#isListStale = false;
      this.#noteMissingSources();
    }
    if (this.#wantsAll) for (const source of this.selected()) this.wants.add(source);
    this.#wantsAll = false;
  }

  /** A source that the app names and the server does not have is a mistake that the status tells. */
  #noteMissingSources(): void {
    for (const source of this.#options.sources ?? []) {
      const isThere = this.#replica.reader.get('sources', ['', source]) !== undefined;
      if (!isThere) this.#troubles.set(source, { code: 'source_not_found', detail: `there is no source "${source}"` });
      else if (this.#troubles.get(source)?.code === 'source_not_found') this.#troubles.delete(source);
    }
  }

  async #pullPages(names: readonly string[], scope: WorkScope): Promise<void> {
    const request = this.wants.beginRequest();
    const asked = new Map(names.map((source) => [source, this.#askFor(source)]));
    const acks = acknowledgementsToSend(this.#replica.reader);
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
    const { outcomeEffects, effects, groupEffects } = await transactIn(this.#replica, scope, (tx) => {
      dropSent(tx, acks);
      const nowMs = this.#platform.nowMs();
      const settled = answer.outcomes.flatMap((outcome) =>
        settleOutcome(tx, outcome, {
          nowMs,
          settled: this.#replica.takeSettled(),
          newOpId: () => randomId(this.#platform),
        }),
      );
      const applied = [...pages].map(([source, page]) => this.#applyPage(tx, asked.get(source) as PageAsked, page));
      const ofGroups = grouped.map(({ ask, groups }) => this.#applyGroups(tx, ask, groups));
      return { outcomeEffects: settled, effects: applied, groupEffects: ofGroups };
    });
    this.#hooks.onOutcomes(outcomeEffects);
    for (const [index, [source, page]] of [...pages].entries())
      this.#conclude(page, effects[index], { source, request, scope });
    for (const [index, { ask, groups }] of grouped.entries()) {
      this.#concludeGroups(groups, groupEffects[index] ?? [], { source: ask.source, request, scope });
    }
    this.#recordTroubles(answer, asked, request);
    this.#pauseIfHealingFails();
  }

  /** The tokens of the groups of a source, and where outcomes may wait. */
  #presentedGroups(source: string): object {
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
   * Applies the pages of each group, and shows them together once all groups are complete. So an object that moves from
   * one group to another is never missing.
   */
  #applyGroups(tx: Transaction, ask: PageAsked, { groups, gone = [], more }: GroupPages): readonly GroupEffect[] {
    const { source, settledBefore } = ask;
    const row = tx.get('sources', ['', source]);
    if (row === undefined) return [];
    const changed = new Map<string, readonly string[]>(gone.map((group) => [group, dropGroup(tx, source, group)]));
    const effects: GroupEffect[] = [];
    for (const [group, page] of Object.entries(groups)) {
      if (!isPage(page)) continue;
      const token = groupToken(tx, row, group);
      requireProgress({ source, group, token, settledBefore }, page);
      const effect = this.#applyPage(tx, { source, group, token, settledBefore }, page);
      effects.push({ group, effect });
      if (effect.kind === 'complete') changed.set(group, effect.changed);
    }
    const isWhole = !more && effects.every(({ effect }) => effect.kind === 'complete');
    if (isWhole) this.#showUnion(tx, ask, row, changed);
    else if (row.staging === null && effects.length + gone.length > 0)
      tx.put('sources', ['', source], { ...row, staging: UNION_IS_BEHIND });
    return effects;
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

  #concludeGroups(answer: GroupPages, effects: readonly GroupEffect[], { source, request, scope }: Pulled): void {
    const { groups, gone = [], more } = answer;
    this.#sets.take(source, answer);
    for (const group of gone) this.#forgetRows(rowsOf({ source, group }));
    for (const { group, effect } of effects) {
      const page = groups[group];
      if (page !== undefined && isPage(page)) this.#concludeGroup({ source, group }, page, effect, scope);
    }
    if (more || effects.some(({ effect }) => effect.kind !== 'complete')) {
      this.wants.postpone(source);
      return;
    }
    this.#healsInARow.delete(source);
    this.wants.fulfil(source, request);
    const errors = Object.values(groups).flatMap(({ error }) => error ?? []);
    this.#settle(source, errors.find(({ code }) => code === PENDING) ?? errors[0] ?? null, request);
  }

  #concludeGroup(place: RowPlace, page: Page, effect: PageEffect, scope: WorkScope): void {
    if (effect.kind === 'staged') this.#folds.set(rowsOf(place), effect.fold);
    else if (effect.kind === 'healed') this.#recordHealed(place.source, effect.reason);
    else if (effect.kind === 'complete') {
      this.#recordMeasure(place, page, effect.measured, scope);
      if (effect.isNews) this.#hooks.onCaughtUp(place, page.token);
    }
  }

  /** Each line is a page. Pages are staged as they arrive, so a broken stream continues where it stopped. */
  async #readSnapshot(source: string, scope: WorkScope): Promise<void> {
    const request = this.wants.beginRequest();
    const first = this.#askFor(source);
    const silence = timeLimit(this.#platform, scope.signal, STREAM_SILENCE_MS_MAX);
    let lines = 0;
    try {
      const response = await this.#caller.open({
        path: snapshotPath(first),
        accept: 'application/x-ndjson',
        signal: silence.signal,
      });
      for await (const line of linesOf(response, () => silence.restart(), silence.signal)) {
        if (line === '') continue;
        const isAtEnd = await this.#takeLine({ ...first, token: this.#askFor(source).token }, line, request, scope);
        lines++;
        if (isAtEnd || this.#hooks.shouldYield()) break;
      }
    } catch (error) {
      if (!this.#refusesStreaming(source, error)) throw error;
      return;
    } finally {
      silence.end();
    }
    if (lines === 0) throw clientError('bad_answer', `the snapshot of ${JSON.stringify(source)} is empty`);
    this.#pauseIfHealingFails();
  }

  /** Returns true at the end of the stream. */
  async #takeLine(asked: PageAsked, line: string, request: number, scope: WorkScope): Promise<boolean> {
    const page = readPage(parsedLine(line));
    requireProgress(asked, page);
    const last = await this.#storeAllButLast(asked, page, scope, line.length);
    // The last page of a first sync makes all of them durable.
    const isRepeatable = 'puts' in last && last.more;
    const decide = (tx: Transaction) => this.#applyPage(tx, asked, last);
    const effect = await transactIn(this.#replica, scope, decide, { isRepeatable });
    this.#conclude(page, effect, { source: asked.source, request, scope });
    return effect.kind !== 'staged' && effect.kind !== 'stored';
  }

  async #storeParts(
    pages: ReadonlyMap<string, Page>,
    asked: ReadonlyMap<string, PageAsked>,
    scope: WorkScope,
  ): Promise<ReadonlyMap<string, Page | PagePart>> {
    const last = new Map<string, Page | PagePart>();
    for (const [source, page] of pages) {
      last.set(source, await this.#storeAllButLast(asked.get(source) as PageAsked, page, scope));
    }
    return last;
  }

  /** Stores the parts of a page of a first sync, each in its own task. Returns the last one, or the page if it has no parts. */
  async #storeAllButLast(asked: PageAsked, page: Page, scope: WorkScope, bytes?: number): Promise<Page | PagePart> {
    const { reader } = this.#replica;
    if (!isOfFirstSync(reader, asked, page)) return page;
    const { source } = asked;
    const pause = () => nextTask(this.#platform);
    // Unknown after a restart.
    const held = page.reset === true ? null : (this.#measures.get(source) ?? (await measureAll(reader, source, pause)));
    if (held !== null) this.#measures.set(source, held);
    const parts = partsOf(page);
    const each = (bytes ?? JSON.stringify(page).length) / parts.length;
    this.#progress.note(source, { objects: held?.size ?? 0, total: page.size, bytes: each });
    for (const part of parts.slice(0, -1)) {
      const decide = (tx: Transaction) => this.#applyPage(tx, asked, part);
      const effect = await transactIn(this.#replica, scope, decide, { isRepeatable: true });
      if (effect.kind === 'stored') this.#recordStored(source, effect.measured, page, each);
      await pause();
    }
    return parts.at(-1) ?? page;
  }

  #recordStored(source: string, measured: SizeAndChecksum, { size: total }: Page, bytes: number): void {
    this.#measures.set(source, measured);
    this.#progress.note(source, { objects: measured.size, total, bytes });
    this.#hooks.onProgress();
  }

  #askFor(source: string): PageAsked {
    const row = this.#replica.reader.get('sources', ['', source]);
    const token = row === undefined ? null : tokenOf(row);
    return { source, token, settledBefore: this.#replica.settledNext };
  }

  #applyPage(tx: Transaction, asked: PageAsked, page: Page | PagePart): PageEffect {
    const rows = rowsOf(asked);
    const fold = this.#folds.get(rows) ?? foldStaged(tx, asked);
    // The fold is consumed even if the transaction fails; then it is computed again from the staged pages.
    this.#folds.delete(rows);
    const held = this.#measures.get(rows) ?? null;
    return applyPage(tx, asked, page, { fold, held, nowMs: this.#platform.nowMs(), show: this.#options.show });
  }

  /** Not knowing when the page was made, it takes no upload as included in it: the pull after a push decides that. */
  async #applyLive({ source, from, page }: LiveChange, scope: WorkScope): Promise<PageEffect['kind']> {
    const asked: PageAsked = { source, token: from, settledBefore: 0 };
    const effect = await transactIn(this.#replica, scope, (tx) => this.#applyPage(tx, asked, page));
    if (effect.kind === 'complete') this.#recordComplete(source, page, effect.measured, scope);
    else if (effect.kind === 'healed') this.#recordHealed(source, effect.reason);
    return effect.kind;
  }

  #recordComplete(source: string, page: Page, measured: SizeAndChecksum | null, scope: WorkScope): void {
    this.#recordMeasure({ source }, page, measured, scope);
    this.#healsInARow.delete(source);
    this.#progress.end(source);
  }

  #recordMeasure(place: RowPlace, page: Page, measured: SizeAndChecksum | null, scope: WorkScope): void {
    if (measured !== null) {
      this.#measures.set(rowsOf(place), measured);
      return;
    }
    this.#verifier ??= import('./verifier.ts').then((module) => this.#newVerifier(module));
    this.#withVerifier((verifier) => verifier.expect(place, page, scope));
  }

  #newVerifier({ Verifier: Made }: typeof import('./verifier.ts')): Verifier {
    return new Made({
      ...{ platform: this.#platform, replica: this.#replica },
      onMeasured: (place, measured) => this.#measures.set(rowsOf(place), measured),
      onHealed: (source, reason) => {
        this.#recordHealed(source, reason);
        this.#hooks.onDue(source);
      },
    });
  }

  /** Code that cannot be loaded now is loaded after the next pull. */
  #withVerifier(use: (verifier: Verifier) => void): void {
    this.#verifier?.then(use).catch(() => {
      this.#verifier = null;
    });
  }

  /** Tells once, with the pull that starts over, that the objects did not match. */
  #presented({ source, token }: PageAsked) {
    if (isGrouped(this.#replica.reader, source)) return this.#presentedGroups(source);
    if (token !== null) return { token };
    return this.#mismatched.delete(source) ? { mismatch: true } : {};
  }

  #recordHealed(source: string, reason: string): void {
    this.#mismatched.add(source);
    this.#progress.end(source);
    this.#healsInARow.set(source, (this.#healsInARow.get(source) ?? 0) + 1);
    this.#hooks.onHealed(source, reason);
  }

  #conclude(page: Page, effect: PageEffect | undefined, { source, request, scope }: Pulled): void {
    if (effect?.kind === 'staged') {
      this.#folds.set(source, effect.fold);
      this.#goOn(source, page, effect.fold.isFresh ? effect.fold.objects.size : null);
    } else if (effect?.kind === 'stored') {
      this.#recordStored(source, effect.measured, page, 0);
      this.#goOn(source, page, effect.measured.size);
    } else if (effect?.kind === 'complete') {
      this.#recordComplete(source, page, effect.measured, scope);
      this.#streamed.delete(source);
      this.wants.fulfil(source, request);
      if (effect.isNews) this.#hooks.onCaughtUp({ source }, page.token);
      this.#settle(source, page.error ?? this.#stagedTroubles.get(source) ?? null, request);
    } else if (effect?.kind === 'healed') this.#recordHealed(source, effect.reason);
  }

  /** More pages follow. `held` is how many objects of a catch-up that starts over have arrived; null: it does not start over. */
  #goOn(source: string, page: Page, held: number | null): void {
    if (page.reset === true) this.#stagedTroubles.delete(source);
    if (page.error !== undefined) this.#stagedTroubles.set(source, page.error);
    this.wants.postpone(source);
    const left = held === null ? 0 : page.size - held;
    if (this.#options.usesSnapshots && left > SNAPSHOT_FROM_OBJECTS) this.#streamed.add(source);
  }

  /** Marks a source as complete. Callers of `sync` keep waiting for it while its backend has not answered. */
  #settle(source: string, trouble: PartialError | null, request: number): void {
    this.#stagedTroubles.delete(source);
    const before = this.#pending.get(source);
    before?.cancel();
    if (trouble?.code === PENDING) {
      this.#troubles.delete(source);
      const pulls = (before?.pulls ?? 0) + 1;
      const ms = pauseMs(this.#platform, pulls, (trouble.retry_after_s ?? 0) * MS_PER_S);
      this.#pending.set(source, { pulls, cancel: this.#platform.after(ms, () => this.#hooks.onDue(source)) });
      return;
    }
    this.#pending.delete(source);
    if (trouble === null) this.#troubles.delete(source);
    else this.#troubles.set(source, trouble);
    this.#doneAt.set(source, request);
  }

  /** Handles sources without a page; the others are not affected. */
  #recordTroubles({ sources }: PullAnswer, asked: ReadonlyMap<string, PageAsked>, request: number): void {
    for (const source of asked.keys()) {
      const answered = Object.hasOwn(sources, source) ? sources[source] : undefined;
      if (answered !== undefined && (isPage(answered) || isGroups(answered))) continue;
      const error = answered?.error;
      if (error?.code === 'snapshot_required' && !this.#notStreamed.has(source)) {
        this.#streamed.add(source);
        continue;
      }
      // The list of sources is outdated.
      if (error?.code === 'source_not_found') this.#isListStale = true;
      this.wants.fulfil(source, request);
      this.#settle(source, error ?? { code: 'bad_answer', detail: 'the server sent no page' }, request);
    }
  }

  #pauseIfHealingFails(): void {
    for (const [source, heals] of this.#healsInARow) {
      if (heals <= HEALS_IN_A_ROW_MAX) continue;
      throw clientError('bad_answer', `the source ${JSON.stringify(source)} does not match its checksum, again`);
    }
  }

  #refusesStreaming(source: string, error: unknown): boolean {
    const isBulkOnly = this.#replica.reader.get('sources', ['', source])?.description.sync_type === 'bulk_only';
    const isRefused = error instanceof ClientError && NO_SNAPSHOT_STATUSES.has(error.status);
    if (isBulkOnly || !isRefused) return false;
    this.#notStreamed.add(source);
    this.#streamed.delete(source);
    return true;
  }

  #isStreamed(source: string): boolean {
    if (this.#notStreamed.has(source)) return false;
    const { sync_type: syncType } = this.#replica.reader.get('sources', ['', source])?.description ?? {};
    return syncType === 'bulk_only' || this.#streamed.has(source);
  }

  #isSelected(source: string): boolean {
    return this.#options.sources === null || this.#options.sources.includes(source);
  }
}

function pagesOf({ sources }: PullAnswer, asked: ReadonlyMap<string, PageAsked>): ReadonlyMap<string, Page> {
  const pages = new Map<string, Page>();
  for (const [source, ask] of asked) {
    const page = Object.hasOwn(sources, source) ? sources[source] : undefined;
    if (page === undefined || !isPage(page)) continue;
    requireProgress(ask, page);
    pages.set(source, page);
  }
  return pages;
}

/** The pull that brought a page. */
interface Pulled {
  readonly source: string;
  readonly request: number;
  readonly scope: WorkScope;
}

/** What became of a page of a group. */
interface GroupEffect {
  readonly group: string;
  readonly effect: PageEffect;
}

/** A group whose first page is being applied. */
const NEVER_PULLED = { seen: null, token: null, staging: null, syncedAtMs: null, heals: 0 };

/** Marks a source whose objects are not those of all its groups yet. */
const UNION_IS_BEHIND = { token: '', pages: 0 };

function isGrouped(reader: Reader, source: string): boolean {
  return reader.get('sources', ['', source])?.description.partition_type === 'group';
}

/** The token of a group. A group that is new to the device gets its row. */
function groupToken(tx: Transaction, row: SourceRow, group: string): string | null {
  const { name } = row.description;
  const known = tx.get('sources', [name, group]);
  if (known === undefined) tx.put('sources', [name, group], { ...row, ...NEVER_PULLED });
  return known === undefined ? null : tokenOf(known);
}

function groupsIn(
  { sources }: PullAnswer,
  asked: ReadonlyMap<string, PageAsked>,
): readonly { readonly ask: PageAsked; readonly groups: GroupPages }[] {
  return [...asked].flatMap(([source, ask]) => {
    const answered = Object.hasOwn(sources, source) ? sources[source] : undefined;
    return answered !== undefined && isGroups(answered) ? [{ ask, groups: answered }] : [];
  });
}

/** Refuses a page that would make the device ask for the same page forever. */
function requireProgress({ source, token }: PageAsked, page: Page): void {
  if (!page.more || page.token !== token) return;
  throw clientError('bad_answer', `the pages of ${JSON.stringify(source)} make no progress`);
}

function snapshotPath({ source, token }: PageAsked): string {
  const query = token === null ? '' : `?token=${encodeURIComponent(token)}`;
  return `/sources/${encodeURIComponent(source)}/snapshot${query}`;
}

function parsedLine(line: string): unknown {
  try {
    return parseJson(line);
  } catch (error) {
    throw clientError('bad_answer', 'a line of the snapshot is not JSON', error);
  }
}

/** Servers of other versions may omit members. */
function completeDescription(given: SyncSource): SyncSource {
  const { name, partition_type = 'user', sync_type = 'incremental', conflicts = 'last_writer' } = given;
  const { read_only = false, references = {}, searchable = false } = given;
  return { name, partition_type, sync_type, conflicts, read_only, references, searchable };
}
