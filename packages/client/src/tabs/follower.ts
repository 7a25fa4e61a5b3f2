import type { LocalRow } from '../ports/local-store.ts';
import type { Replica } from '../state/replica.ts';
import type { SharedStatus, SnapshotMessage, TabMessage } from './tab-messages.ts';

type Committed = Extract<TabMessage, { readonly type: 'committed' }>;

interface FollowerParts {
  readonly replica: Replica;
  readonly onStatus: (status: SharedStatus) => void;
  /** Called when the whole state is there. */
  readonly onReady: () => void;
  /** Asks the tab that leads for the whole state. */
  readonly askForState: () => void;
}

/** Keeps the replica of a tab equal to that of the tab that leads: the whole state once, then every commit. */
export class Follower {
  readonly #parts: FollowerParts;
  #term: string | null = null;
  /** The number of the last commit that the replica includes; null: the state has not come yet. */
  #seq: number | null = null;
  /** The parts of the state that have come, by the number of the answer. */
  readonly #received = new Map<number, readonly LocalRow[]>();
  /** Commits that came before the state. */
  #early: Committed[] = [];

  constructor(parts: FollowerParts) {
    this.#parts = parts;
  }

  get term(): string | null {
    return this.#term;
  }

  /** Follows a tab that has begun to lead. */
  begin(term: string): void {
    if (this.#term === term) return;
    this.#reset(term);
    this.#parts.askForState();
  }

  takeSnapshotPart(message: SnapshotMessage): void {
    const isOfTerm = this.#term === message.term;
    const rows = (isOfTerm ? this.#received.get(message.number) : undefined) ?? [];
    if (message.type === 'snapshot' && rows.length !== message.rowCount) {
      // Parts that had come before were dropped, because another tab began to lead or a commit was missed.
      this.#parts.askForState();
      return;
    }
    if (!isOfTerm) this.#reset(message.term);
    if (message.type === 'rows') {
      this.#received.set(message.number, [...rows, ...message.rows]);
      return;
    }
    this.#received.delete(message.number);
    if (message.seq < (this.#seq ?? 0)) return;
    this.#parts.replica.rebase(rows);
    this.#seq = message.seq;
    for (const commit of this.#early.splice(0)) this.takeCommitted(commit);
    this.#parts.onStatus(message);
    this.#parts.onReady();
  }

  takeCommitted(commit: Committed): void {
    if (commit.term !== this.#term) return;
    if (this.#seq === null) {
      this.#early.push(commit);
      return;
    }
    if (commit.seq <= this.#seq) return;
    if (commit.seq > this.#seq + 1) {
      this.#reset(commit.term);
      this.#parts.askForState();
      return;
    }
    this.#seq = commit.seq;
    this.#parts.replica.applyCommitted(commit.writes, commit.saved);
  }

  #reset(term: string | null): void {
    this.#term = term;
    this.#seq = null;
    this.#received.clear();
    this.#early = [];
  }
}
