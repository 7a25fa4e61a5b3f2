import type { Page } from '@tidemark/protocol';
import { VERIFY_RESTARTS_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import { differenceOf, heal, isRight } from '../pull/apply-page.ts';
import type { SizeAndChecksum } from '../pull/fold.ts';
import type { Replica } from '../replica/replica.ts';
import { type RowScope, rowKey, rowsOf } from '../state/group-rows.ts';
import { measureRows } from './measure-rows.ts';
import { nextTask } from './next-task.ts';
import { transactIn, type WorkScope } from './work-scope.ts';

interface VerifierParts {
  readonly platform: Platform;
  readonly replica: Replica;
  readonly onMeasured: (place: RowScope, measured: SizeAndChecksum) => void;
  /** Called when the stored objects of a source differ from the server. */
  readonly onHealed: (source: string, reason: string) => void;
}

/**
 * Compares the stored objects with the checksum of the server, once per start of the app, after the first pull of each source
 * and in steps, so that neither the start nor the app waits for it.
 */
export class Verifier {
  readonly #parts: VerifierParts;
  /** What the objects must match, by rows. */
  readonly #expected = new Map<string, Page>();

  constructor(parts: VerifierParts) {
    this.#parts = parts;
  }

  /** Takes a page that completed a source whose stored objects have not been measured. */
  expect(place: RowScope, page: Page, scope: WorkScope): void {
    const before = this.#expected.get(rowsOf(place));
    if (before?.token === page.token) return;
    this.#expected.set(rowsOf(place), page);
    // A store that fails is reported by the next pull.
    if (before === undefined) this.#verify(place, scope).catch(() => this.#expected.delete(rowsOf(place)));
  }

  forget(rows: string): void {
    this.#expected.delete(rows);
  }

  clear(): void {
    this.#expected.clear();
  }

  async #verify(place: RowScope, scope: WorkScope): Promise<void> {
    const { platform, replica, onMeasured, onHealed } = this.#parts;
    const rows = rowsOf(place);
    for (let attempt = 0; ; attempt++) {
      const page = this.#expected.get(rows);
      if (page === undefined || scope.signal.aborted) break;
      const isSame = () => this.#expected.get(rows) === page;
      // A source that never rests is measured in one step at last.
      const pause = attempt < VERIFY_RESTARTS_MAX ? () => nextTask(platform) : () => Promise.resolve();
      await pause();
      const measured = await measureRows(replica, rows, pause, isSame);
      if (measured === null || !isSame()) continue;
      this.#expected.delete(rows);
      // In the queue of transactions, so that no page is being applied to the objects that were measured.
      const effect = await transactIn(replica, scope, (tx) => {
        const row = tx.get('sources', rowKey(place));
        // A first sync that begins again has stored some of its objects, and keeps the token until it is complete.
        if (row?.token !== page.token || row.staging?.firstSync !== undefined) return null;
        if (!isRight(measured, page)) return heal(tx, place, row, differenceOf(measured, page));
        onMeasured(place, measured);
        return null;
      });
      if (effect?.kind === 'healed') onHealed(place.source, effect.reason);
      return;
    }
    this.#expected.delete(rows);
  }
}
