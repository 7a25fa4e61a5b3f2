import type { TidemarkClient } from '@tidemark/backend';
import { readPage } from './hidden-source.ts';

/** A row that cannot be stored. */
export interface RowProblem {
  readonly table: string;
  /** The object id that the row would have. */
  readonly key: string;
  readonly reason: string;
}

/** More are counted, but not kept. */
const KEPT_MAX = 10_000;
const GROUP = 'problems';
/** Longer keys are cut in the id under which a problem is kept; ids have at most 512 bytes. */
const KEY_UNITS_MAX = 100;
const REASON_UNITS_MAX = 300;

/** The rows that cannot be stored, until they can. They are kept in Tidemark, so that they are counted after a restart as well. */
export class Problems {
  readonly #client: TidemarkClient;
  readonly #source: string;
  readonly #onProblem: (problem: RowProblem) => void;
  #ids: Set<string> | null = null;

  constructor(client: TidemarkClient, source: string, onProblem: (problem: RowProblem) => void) {
    this.#client = client;
    this.#source = source;
    this.#onProblem = onProblem;
  }

  get count(): number {
    return this.#ids?.size ?? 0;
  }

  has(label: string, key: string): boolean {
    return this.#ids?.has(problemId(label, key)) ?? false;
  }

  async load(): Promise<void> {
    const ids = new Set<string>();
    for (let after: number | null = 0; after !== null && ids.size < KEPT_MAX; ) {
      const page: Awaited<ReturnType<typeof readPage>> = await readPage(this.#client, this.#partition(), after);
      for (const { id } of page.objects) ids.add(id);
      after = page.next;
    }
    this.#ids = ids;
  }

  /** Notes the rows that were refused, and forgets those that were stored. */
  async settle(label: string, stored: Iterable<string>, refused: readonly RowProblem[]): Promise<void> {
    const kept = this.#ids ?? new Set<string>();
    const solved = kept.size === 0 ? [] : [...stored].map((id) => problemId(label, id)).filter((id) => kept.has(id));
    if (solved.length === 0 && refused.length === 0) return;
    for (const problem of refused) this.#onProblem(problem);
    const noted = refused.slice(0, Math.max(0, KEPT_MAX - kept.size));
    const objects = new Map(
      noted.map(({ table, key, reason }) => {
        const short = { table, key: key.slice(0, KEY_UNITS_MAX), reason: reason.slice(0, REASON_UNITS_MAX) };
        return [problemId(table, key), short] as const;
      }),
    );
    const deletes = [...new Set(solved)].filter((id) => !objects.has(id));
    await this.#client.push.objects(this.#source, objects, { group: GROUP, deletes });
    for (const id of deletes) kept.delete(id);
    for (const id of objects.keys()) kept.add(id);
    this.#ids = kept;
  }

  #partition() {
    return { source: this.#source, group: GROUP };
  }
}

/** Keys that begin alike for very long share a problem. */
function problemId(label: string, key: string): string {
  return `${label}:${key}`.slice(0, KEY_UNITS_MAX + label.length);
}
