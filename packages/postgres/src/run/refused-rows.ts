import type { Problems } from '../apply/problems.ts';
import type { Lsn } from '../replication/message.ts';

/** Asks for rows to be read again. */
export interface Rereads {
  /** Whether nothing is asked for that has not been read. */
  readonly isIdle: boolean;
  askKeys(label: string, ids: readonly string[], heldAt: Lsn): void;
  askTable(label: string): void;
}

/** The first pause and the longest one, in heartbeats: half a minute, and ten minutes. */
const BEATS_FIRST = 3;
const BEATS_MAX = 60;

/**
 * The rows that a quota has refused. Nothing tells when it is raised, or when somebody has made room, so they are tried again with
 * growing pauses, and soon while some are stored.
 */
export class RefusedRows {
  readonly #problems: Problems;
  readonly #rereads: Rereads;
  #pause = BEATS_FIRST;
  #left = BEATS_FIRST;
  #solved = 0;

  constructor(problems: Problems, rereads: Rereads) {
    this.#problems = problems;
    this.#rereads = rereads;
  }

  /** Called at each heartbeat. */
  beat(heldAt: Lsn): void {
    const rows = this.#problems.ofQuota;
    const solved = this.#problems.quotaSolved;
    const hasRoom = solved > this.#solved;
    this.#solved = solved;
    if (hasRoom) this.#copyUncounted();
    if (hasRoom || rows.size === 0) this.#pause = this.#left = BEATS_FIRST;
    this.#left--;
    if (this.#left > 0 || rows.size === 0 || !this.#rereads.isIdle) return;
    this.#pause = this.#left = Math.min(BEATS_MAX, 2 * this.#pause);
    for (const [label, ids] of rows) this.#rereads.askKeys(label, ids, heldAt);
  }

  /** Where there is room again, the rows that were too many to be noted are found by a copy of their table. */
  #copyUncounted(): void {
    for (const label of this.#problems.takeUncounted()) this.#rereads.askTable(label);
  }
}
