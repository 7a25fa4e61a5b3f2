import type { Page } from '@tidemark/protocol';
import { clientError } from '../client-error.ts';
import { HEALS_IN_A_ROW_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import { applyPage, foldStaged, type PageAsked, type PageEffect, type Show } from '../pull/apply-page.ts';
import { isOfFirstSync, type PagePart, partsOf } from '../pull/first-sync.ts';
import { type Fold, newFold, type SizeAndChecksum } from '../pull/fold.ts';
import { readForPage } from '../pull/read-before.ts';
import type { Replica } from '../replica/replica.ts';
import type { RowsRead } from '../state/disk-work.ts';
import { parseScope, type RowScope, rowKey, rowsOf, storedRowsOf } from '../state/group-rows.ts';
import type { Transaction } from '../state/local-state.ts';
import { measureRows } from './measure-rows.ts';
import { nextTask } from './next-task.ts';
import { ProgressCounter, type SyncProgress } from './progress.ts';
import { Verifier } from './verifier.ts';
import { transactIn, type WorkScope } from './work-scope.ts';

export interface PageApplierHooks {
  /** Called when the objects of a source were found to differ from the server, so that it starts over. */
  onHealed(source: string, reason: string): void;
  /** Called when a source must be pulled again. */
  onDue(source: string): void;
  /** Called when more of a first sync has arrived. */
  onProgress(): void;
}

interface PageApplierParts {
  readonly platform: Platform;
  readonly replica: Replica;
  readonly hooks: PageApplierHooks;
  readonly show: Show;
}

/** Applies pages to the replica, and checks the objects against the sizes and checksums of the server. */
export class PageApplier {
  readonly #platform: Platform;
  readonly #replica: Replica;
  readonly #hooks: PageApplierHooks;
  readonly #show: Show;
  /** Folded staged pages; they can be computed again from the staged pages. */
  readonly #folds = new Map<string, Fold>();
  /**
   * Size and checksum of the stored objects. The verifier computes them from the objects after the first pull, so that
   * damage to the closed store is detected; they are updated from then on.
   */
  readonly #measures = new Map<string, SizeAndChecksum>();
  readonly #verifier: Verifier;
  readonly #progress = new ProgressCounter();
  readonly #healsInARow = new Map<string, number>();
  /** Sources whose objects did not match the checksum, which the server has not been told yet. */
  readonly #mismatched = new Set<string>();

  constructor({ platform, replica, hooks, show }: PageApplierParts) {
    this.#platform = platform;
    this.#replica = replica;
    this.#hooks = hooks;
    this.#show = show;
    this.#verifier = new Verifier({
      ...{ platform, replica },
      onMeasured: (place, measured) => this.#measures.set(rowsOf(place), measured),
      onHealed: (source, reason) => {
        this.#recordHealed(source, reason);
        hooks.onDue(source);
      },
    });
  }

  /** How far sources are that start over; null: there are none. */
  get progress(): SyncProgress | null {
    return this.#progress.current;
  }

  apply(tx: Transaction, asked: PageAsked, page: Page | PagePart): PageEffect {
    const rows = rowsOf(asked);
    // A page that starts over replaces what is staged, and what that refers to on the disk was not read.
    const isFresh = page.reset === true || 'ids' in page;
    const fold = isFresh ? newFold() : (this.#folds.get(rows) ?? foldStaged(tx, asked));
    // The fold is consumed even if the transaction fails; then it is computed again from the staged pages.
    this.#folds.delete(rows);
    const held = this.#measures.get(rows) ?? null;
    return applyPage(tx, asked, page, { fold, held, nowMs: this.#platform.nowMs(), show: this.#show });
  }

  /** Reads the objects on the disk that a page is compared with. Returns their ids. */
  readBefore(rows: RowsRead, place: RowScope, page: Page | PagePart): Promise<readonly string[]> {
    const known = { state: this.#replica.reader, isFolded: this.#folds.has(rowsOf(place)) };
    return readForPage(rows, known, place, page);
  }

  /** To be called with the effect of a page, once it is stored. */
  record(place: RowScope, page: Page, effect: PageEffect, scope: WorkScope): void {
    if (effect.kind === 'staged') this.#folds.set(rowsOf(place), effect.fold);
    else if (effect.kind === 'stored') this.#recordStored(place, effect.measured, page, 0);
    else if (effect.kind === 'healed') this.#recordHealed(place.source, effect.reason);
    else if (effect.kind === 'complete') this.#recordMeasure(place, page, effect.measured, scope);
  }

  /** To be called when all objects of a source, or of all its groups, are those of the server. */
  recordComplete(source: string): void {
    this.#healsInARow.delete(source);
    this.#progress.end(source);
  }

  /** Counts the page of a group, if other pages of the source follow. */
  countProgress(place: RowScope, page: Page, effect: PageEffect): void {
    const isStagedFromStart = effect.kind === 'staged' && effect.fold.isFresh;
    const isEndOfStart = effect.kind === 'complete' && (page.reset === true || this.#progress.has(place));
    if (!isStagedFromStart && !isEndOfStart) return;
    const objects = isStagedFromStart ? effect.fold.objects.size : page.size;
    this.#progress.note(place, { objects, total: page.size, bytes: JSON.stringify(page).length });
  }

  /** Tells what was counted, once for all groups of an answer. */
  tellProgress(): void {
    this.#hooks.onProgress();
  }

  /** Stores the parts of a page of a first sync, each in its own task. Returns the last one, or the page if it has no parts. */
  async storeAllButLast(asked: PageAsked, page: Page, scope: WorkScope, bytes?: number): Promise<Page | PagePart> {
    const { reader } = this.#replica;
    if (!isOfFirstSync(reader, asked, page)) return page;
    const { source } = asked;
    const pause = () => nextTask(this.#platform);
    const held = await this.measureHeld(asked, page);
    const parts = partsOf(page);
    const each = (bytes ?? JSON.stringify(page).length) / parts.length;
    this.#progress.note({ source }, { objects: held?.size ?? 0, total: page.size, bytes: each });
    for (const part of parts.slice(0, -1)) {
      const decide = (tx: Transaction) => this.apply(tx, asked, part);
      const readBefore = async (rows: RowsRead) => void (await this.readBefore(rows, asked, part));
      const effect = await transactIn(this.#replica, scope, decide, { isRepeatable: true, readBefore });
      if (effect.kind === 'stored') this.#recordStored(asked, effect.measured, page, each);
      await pause();
    }
    return parts.at(-1) ?? page;
  }

  /** Measures what a first sync has stored so far, which is not known after a restart. */
  async measureHeld(place: RowScope, page: Page): Promise<SizeAndChecksum | null> {
    if (page.reset === true) return null;
    const { reader } = this.#replica;
    const row = reader.get('sources', rowKey(place));
    const pause = () => nextTask(this.#platform);
    const known = this.#measures.get(rowsOf(place));
    const held = known ?? (await measureRows(this.#replica, storedRowsOf(place, row), pause));
    if (held !== null) this.#measures.set(rowsOf(place), held);
    return held;
  }

  /** Returns true once for a source whose objects did not match, so that the pull that starts over tells the server. */
  takeMismatch(source: string): boolean {
    return this.#mismatched.delete(source);
  }

  /** Makes the device pause if starting over does not help. */
  requireHealed(): void {
    for (const [source, heals] of this.#healsInARow) {
      if (heals <= HEALS_IN_A_ROW_MAX) continue;
      throw clientError('bad_answer', `the source ${JSON.stringify(source)} does not match its checksum, again`);
    }
  }

  /** Forgets what is known about rows that are no longer stored. */
  forget(place: RowScope): void {
    const rows = rowsOf(place);
    this.#measures.delete(rows);
    this.#folds.delete(rows);
    this.#verifier.forget(rows);
    if (place.group === undefined) this.#progress.end(place.source);
  }

  /** Forgets sources and groups that the device no longer has. Returns them. */
  forgetRemoved(): readonly RowScope[] {
    const { reader } = this.#replica;
    const removed = [...this.#measures.keys()]
      .map(parseScope)
      .filter((place) => reader.get('sources', rowKey(place)) === undefined);
    for (const place of removed) this.forget(place);
    return removed;
  }

  clear(): void {
    this.#verifier.clear();
    this.#progress.clear();
    for (const memory of [this.#folds, this.#measures, this.#healsInARow]) memory.clear();
  }

  #recordStored(place: RowScope, measured: SizeAndChecksum, { size: total }: Page, bytes: number): void {
    this.#measures.set(rowsOf(place), measured);
    this.#progress.note(place, { objects: measured.size, total, bytes });
    this.#hooks.onProgress();
  }

  #recordHealed(source: string, reason: string): void {
    this.#mismatched.add(source);
    this.#progress.end(source);
    this.#healsInARow.set(source, (this.#healsInARow.get(source) ?? 0) + 1);
    this.#hooks.onHealed(source, reason);
  }

  #recordMeasure(place: RowScope, page: Page, measured: SizeAndChecksum | null, scope: WorkScope): void {
    if (measured === null) this.#verifier.expect(place, page, scope);
    else this.#measures.set(rowsOf(place), measured);
  }
}
