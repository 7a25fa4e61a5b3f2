import type { TidemarkClient } from '@tidemark/backend';
import { hiddenId, readPage } from './hidden-source.ts';

/** A row that cannot be stored. */
export interface RowProblem {
  readonly table: string;
  /** The object id that the row would have. */
  readonly key: string;
  readonly reason: string;
  /** True: a quota is used up, so that the row is tried again although it stays as it is. */
  readonly isOfQuota?: boolean;
}

/** More are reported when they are refused, but not kept. */
const KEPT_MAX = 10_000;
const GROUP = 'problems';
const REASON_UNITS_MAX = 300;

/** The rows that cannot be stored, until they can. They are kept in Tidemark, so that they are counted after a restart as well. */
export class Problems {
  readonly #client: TidemarkClient;
  readonly #source: string;
  readonly #onProblem: (problem: RowProblem) => void;
  readonly #keptMax: number;
  /** Id of the problem → the row, if a quota has refused it. */
  #kept = new Map<string, Pick<RowProblem, 'table' | 'key'> | null>();
  /** The tables of rows that a quota has refused, and that are too many to be kept. */
  readonly #uncounted = new Set<string>();
  #stored = 0;

  constructor(client: TidemarkClient, source: string, onProblem: (problem: RowProblem) => void, keptMax = KEPT_MAX) {
    this.#client = client;
    this.#source = source;
    this.#onProblem = onProblem;
    this.#keptMax = keptMax;
  }

  has(label: string, key: string): boolean {
    return this.#kept.has(problemId(label, key));
  }

  /** The rows that a quota has refused, by table. */
  get ofQuota(): ReadonlyMap<string, readonly string[]> {
    const rows = new Map<string, string[]>();
    for (const row of this.#kept.values()) {
      if (row === null) continue;
      const keys = rows.get(row.table);
      if (keys === undefined) rows.set(row.table, [row.key]);
      else keys.push(row.key);
    }
    return rows;
  }

  /** How many rows that a quota had refused have been stored, or are gone. */
  get quotaSolved(): number {
    return this.#stored;
  }

  /** The tables of which a quota has refused more rows than are kept. From now on they are not such tables any more. */
  takeUncounted(): ReadonlySet<string> {
    const labels = new Set(this.#uncounted);
    this.#uncounted.clear();
    return labels;
  }

  async load(): Promise<void> {
    const kept = new Map<string, Pick<RowProblem, 'table' | 'key'> | null>();
    for (let after: number | null = 0; after !== null && kept.size < this.#keptMax; ) {
      const page: Awaited<ReturnType<typeof readPage>> = await readPage(this.#client, this.#partition(), after);
      for (const { id, attributes } of page.objects) {
        const { table, key, quota } = attributes as { readonly table: string; readonly key: string; quota?: boolean };
        kept.set(id, quota === true ? { table, key } : null);
      }
      after = page.next;
    }
    this.#kept = kept;
    // There may have been more.
    if (kept.size >= this.#keptMax) for (const label of this.ofQuota.keys()) this.#uncounted.add(label);
  }

  /** Notes the rows that were refused, and forgets those that were stored. */
  async settle(label: string, stored: Iterable<string>, refused: readonly RowProblem[]): Promise<void> {
    const kept = this.#kept;
    const solved = kept.size === 0 ? [] : [...stored].map((id) => problemId(label, id)).filter((id) => kept.has(id));
    if (solved.length === 0 && refused.length === 0) return;
    for (const problem of refused) this.#onProblem(problem);
    const noted = this.#bounded(label, refused);
    const objects = new Map(
      noted.map(({ table, key, reason, isOfQuota = false }) => {
        const short = { table, key, reason: reason.slice(0, REASON_UNITS_MAX), ...(isOfQuota ? { quota: true } : {}) };
        return [problemId(table, key), short] as const;
      }),
    );
    const deletes = [...new Set(solved)].filter((id) => !objects.has(id));
    await this.#client.push.objects(this.#source, objects, { group: GROUP, deletes, whole: true });
    for (const id of deletes) {
      if (kept.get(id) !== null) this.#stored++;
      kept.delete(id);
    }
    for (const { table, key, isOfQuota = false } of noted)
      kept.set(problemId(table, key), isOfQuota ? { table, key } : null);
  }

  /** Those of the refused rows that are kept. */
  #bounded(label: string, refused: readonly RowProblem[]): readonly RowProblem[] {
    let room = this.#keptMax - this.#kept.size;
    return refused.filter((problem) => {
      if (this.has(problem.table, problem.key)) return true;
      room--;
      if (room < 0 && problem.isOfQuota === true) this.#uncounted.add(label);
      return room >= 0;
    });
  }

  #partition() {
    return { source: this.#source, group: GROUP };
  }
}

function problemId(label: string, key: string): string {
  return hiddenId(`${label}:${key}`);
}
