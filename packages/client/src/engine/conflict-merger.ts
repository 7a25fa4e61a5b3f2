import type { ReadBefore } from '../replica/replica.ts';
import type { Transaction } from '../state/local-state.ts';
import type { ProblemRow } from '../state/rows.ts';
import { callListener } from '../view/observable.ts';
import type { DeviceData } from './device-data.ts';
import { loadObjectOf, type MergeFunction, merged, readTheirs, resolveProblem } from './resolve-problem.ts';

interface ConflictMergerParts {
  readonly data: DeviceData;
  /** Merge functions by source. */
  readonly functions: Readonly<Record<string, MergeFunction>>;
  /** True while the source must be pulled before its conflicts can be merged. */
  readonly isWanted: (source: string) => boolean;
  readonly onMerged: () => void;
  /** Called with a conflict that could not be merged. */
  readonly onProblem: (opId: string, problem: ProblemRow) => void;
}

/** Merges conflicts with the functions of the app, once their source was pulled. */
export class ConflictMerger {
  readonly #parts: ConflictMergerParts;
  /** The op_ids of conflicts that wait for that. */
  readonly #waiting = new Set<string>();

  constructor(parts: ConflictMergerParts) {
    this.#parts = parts;
    for (const [opId, { source, status }] of parts.data.replica.reader.entries('problems', '')) {
      if (status === 'conflict' && this.merges(source)) this.#waiting.add(opId);
    }
  }

  /** True if the app has a merge function for the source. */
  merges(source: string): boolean {
    return this.#functionOf(source) !== null;
  }

  add(opId: string): void {
    this.#waiting.add(opId);
  }

  /** Merges conflicts of sources that were pulled since. */
  async mergeAll(): Promise<void> {
    const { data, isWanted } = this.#parts;
    for (const opId of [...this.#waiting]) {
      const source = data.replica.reader.get('problems', ['', opId])?.source;
      if (source !== undefined && isWanted(source)) continue;
      this.#waiting.delete(opId);
      // What cannot be merged or stored stays a problem.
      await this.#mergeOne(opId).catch((error: unknown) =>
        callListener(() => {
          throw error;
        }),
      );
    }
  }

  #functionOf(source: string): MergeFunction | null {
    const { functions } = this.#parts;
    return Object.hasOwn(functions, source) ? (functions[source] ?? null) : null;
  }

  async #mergeOne(opId: string): Promise<void> {
    const { data, onMerged, onProblem } = this.#parts;
    const problem = data.replica.reader.get('problems', ['', opId]);
    const merge = problem === undefined ? null : this.#functionOf(problem.source);
    if (problem === undefined || merge === null) return;
    let isMerged = false;
    try {
      const decide = (tx: Transaction) => {
        const attributes = tx.get('problems', ['', opId]) === undefined ? null : merged(tx, problem, merge);
        if (attributes === null) return false;
        resolveProblem({ tx, data }, opId, { given: attributes, version: tx.versions?.of(problem.source) });
        return true;
      };
      const readBefore: ReadBefore = async (rows) => {
        await loadObjectOf(data, opId);
        await readTheirs(rows, data.replica.reader, problem);
      };
      isMerged = await data.replica.transact(decide, { readBefore });
    } finally {
      if (isMerged) onMerged();
      else onProblem(opId, problem);
    }
  }
}
