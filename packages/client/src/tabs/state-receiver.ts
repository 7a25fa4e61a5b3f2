import type { DeviceData } from '../engine/device-data.ts';
import type { LocalWrite } from '../ports/local-store.ts';
import { inSteps, type Pause } from '../state/in-steps.ts';
import { StateDifference } from '../state/state-difference.ts';
import type { SharedStatus, SnapshotMessage, TabMessage } from './tab-messages.ts';

type Committed = Extract<TabMessage, { readonly type: 'committed' }>;
type SnapshotEnd = Extract<SnapshotMessage, { readonly type: 'snapshot' }>;

interface StateReceiverParts {
  readonly data: DeviceData;
  readonly pause: Pause;
  /** True if the app has the device. */
  readonly isOpen: () => boolean;
  readonly onStatus: (status: SharedStatus) => void;
  /** Called when the whole state is there. */
  readonly onReady: () => void;
  /** Asks the tab that leads for the whole state. */
  readonly askForState: () => void;
}

/**
 * Keeps the replica of a tab equal to that of the tab that leads: the whole state once, then every commit. The state comes in
 * parts, is compared part by part, and is shown when it is complete.
 */
export class StateReceiver {
  readonly #parts: StateReceiverParts;
  #term: string | null = null;
  /** The number of the last commit that the replica includes; null: the state has not come yet. */
  #seq: number | null = null;
  /** The parts of the state that have come, by the number of the answer. */
  readonly #received = new Map<number, StateDifference>();
  /** The state that is being taken over, with the last status that has come; null: none is. */
  #taking: { status: SharedStatus } | null = null;
  /** Commits that came before the state. */
  #early: Committed[] = [];

  constructor(parts: StateReceiverParts) {
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

  /** Follows no tab any more. */
  stop(): void {
    this.#reset(null);
  }

  /** Resolves when the part is taken; if it is the last one, when the whole state is shown. */
  async takeSnapshotPart(message: SnapshotMessage): Promise<void> {
    const isOfTerm = this.#term === message.term;
    // The answer to an earlier question was complete before this one.
    if (isOfTerm && (this.#seq !== null || this.#taking !== null)) return;
    const known = isOfTerm ? this.#received.get(message.number) : undefined;
    const difference = known ?? new StateDifference(this.#parts.data.replica.reader);
    if (message.type === 'snapshot' && difference.rowCount !== message.rowCount) {
      // Parts that had come before were dropped, because another tab began to lead or a commit was missed.
      this.#parts.askForState();
      return;
    }
    if (!isOfTerm) this.#reset(message.term);
    if (message.type === 'snapshot') await this.#takeOver(difference, message);
    else {
      difference.take(message.rows);
      this.#received.set(message.number, difference);
    }
  }

  takeCommitted(commit: Committed): void {
    if (commit.term !== this.#term) return;
    if (this.#seq === null || this.#taking !== null) this.#early.push(commit);
    else this.#apply(commit, this.#seq);
  }

  takeStatus(status: SharedStatus): void {
    if (this.#taking === null) this.#parts.onStatus(status);
    else this.#taking.status = status;
  }

  async #takeOver(difference: StateDifference, message: SnapshotEnd): Promise<void> {
    const { data, pause, onStatus, onReady } = this.#parts;
    const taking = { status: message as SharedStatus };
    const isWanted = () => this.#taking === taking;
    this.#taking = taking;
    this.#received.clear();
    const writes = await difference.finish(pause, isWanted);
    if (isWanted()) await this.#rebase(writes, isWanted);
    if (isWanted()) await data.replica.views.make(pause);
    if (isWanted()) await this.#applyEarly(message.seq, isWanted);
    if (!isWanted()) return;
    this.#taking = null;
    onStatus(taking.status);
    onReady();
  }

  /** What the app sees changes at once. A tab that is being opened takes its objects over in steps. */
  async #rebase(writes: readonly LocalWrite[], isWanted: () => boolean): Promise<void> {
    const { data, pause, isOpen } = this.#parts;
    const { replica } = data;
    const hidden = isOpen() ? [] : writes.filter(({ table }) => table === 'objects');
    await inSteps(hidden.length, pause, (from, to) => replica.addLoaded(hidden.slice(from, to)), isWanted);
    if (isWanted()) replica.rebase(hidden.length === 0 ? writes : writes.filter(({ table }) => table !== 'objects'));
  }

  async #applyEarly(seq: number, isWanted: () => boolean): Promise<void> {
    this.#seq = seq;
    for (let commit = this.#early.shift(); commit !== undefined; commit = this.#early.shift()) {
      this.#apply(commit, this.#seq);
      await this.#parts.pause();
      if (!isWanted()) return;
    }
  }

  #apply(commit: Committed, seq: number): void {
    const { writes } = this.#parts.data;
    if (commit.seq > seq + 1) {
      this.#reset(commit.term);
      this.#early.push(commit);
      this.#parts.askForState();
      return;
    }
    // The state includes the commit. What it has stored may be at the server by now, and gone from the state.
    if (commit.seq <= seq) {
      writes.confirm(commit.saved);
      return;
    }
    this.#seq = commit.seq;
    writes.applyCommitted(commit.writes, commit.saved);
  }

  #reset(term: string | null): void {
    this.#term = term;
    this.#seq = null;
    this.#taking = null;
    this.#received.clear();
    this.#early = [];
  }
}
