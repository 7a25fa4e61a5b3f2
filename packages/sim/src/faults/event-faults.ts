import type { SyncEvents } from '@tidemark/protocol';
import type { Rng } from '@tidemark/testing/kit';

type Change = SyncEvents['changed'];
type Send = (change: Change) => void;

/** What may happen to an event, with its chance in percent. */
const FAULTS = [
  ['lost', 15],
  ['doubled', 10],
  /** Sent after the next event. */
  ['late', 15],
  /** An earlier event is sent as well, of whichever device. */
  ['stale', 15],
  ['none', 45],
] as const;

const OLD_MAX = 20;

/** Loses, repeats and reorders events about changes, and sends old ones again. */
export class EventFaults {
  readonly #rng: Rng;
  readonly #old: Change[] = [];
  #late: (() => void)[] = [];

  constructor(rng: Rng) {
    this.#rng = rng;
  }

  deliver(change: Change, send: Send): void {
    const fault = this.#rng.weighted<(typeof FAULTS)[number][0]>(FAULTS);
    const waiting = this.#late;
    this.#late = fault === 'late' ? [() => send(change)] : [];
    if (fault !== 'lost' && fault !== 'late') send(change);
    if (fault === 'doubled') send(change);
    if (fault === 'stale' && this.#old.length > 0) send(this.#rng.pick(this.#old));
    for (const sendLate of waiting) sendLate();
    this.#old.push(change);
    if (this.#old.length > OLD_MAX) this.#old.shift();
  }
}
