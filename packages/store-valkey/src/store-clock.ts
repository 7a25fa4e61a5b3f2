import { Refusal } from '@tidemark/protocol';
import { unavailable } from './failure.ts';

/** When a script may write, in µs by the clock of the store: `[not before, not after]`. */
export type Window = readonly [earliestUs: number, latestUs: number];

export interface StoreClockPorts {
  /** The nodes of the store. Each function asks one of them for its time, in µs. */
  readonly nodes: () => readonly (() => Promise<number>)[];
  /** True: the store has one clock. */
  readonly isOneNode: boolean;
  /** The monotonic clock of this process. */
  readonly nowMs?: () => number;
}

/** The store's clock is compared with ours again after this time: their rates differ slightly. */
const SAMPLE_EVERY_MS = 10_000;
const SAMPLE_PAUSE_MS_MIN = 1_000;
/** A reply that took longer says too little about the time. */
const SAMPLE_MS_MAX = 1_000;
/** How far the store's clock may be behind our estimate, which errs to the past, before it counts as set back. */
const SLACK_MS = 100;
/** An attempt is refused when the clock of a node was set, or differs from that of the other nodes. */
const ATTEMPTS_MAX = 4;
const US_PER_MS = 1_000;

/**
 * Gives every write a deadline by the clock of the store. A connection that stalls may deliver a command long after its caller
 * was told that it has failed, and after a later write was acknowledged. The script then refuses to run.
 *
 * Our estimate of the store's clock is never ahead of it, so a deadline is never later than the moment at which the caller is
 * told. A clock that was set, or that differs from node to node of a cluster, shows in the refusal, which names the time; the
 * write is then tried again with that time.
 */
export class StoreClock {
  readonly #ports: StoreClockPorts;
  readonly #nowMs: () => number;
  /** What the store's clock shows when ours shows 0. */
  #offsetUs = 0;
  #sampledAtMs = Number.NEGATIVE_INFINITY;

  constructor(ports: StoreClockPorts) {
    this.#ports = ports;
    this.#nowMs = ports.nowMs ?? (() => performance.now());
  }

  /** Compares the clocks. The earliest clock of a cluster decides: a later one refuses at worst, and names its time. */
  async sample(): Promise<void> {
    const startMs = this.#nowMs();
    this.#sampledAtMs = startMs;
    const offsets: number[] = [];
    const ask = async (read: () => Promise<number>) => {
      const offsetUs = this.#offsetAt(await read());
      if (this.#nowMs() - startMs <= SAMPLE_MS_MAX) offsets.push(offsetUs);
    };
    await Promise.allSettled(this.#ports.nodes().map(ask));
    if (offsets.length > 0) this.#offsetUs = Math.min(...offsets);
  }

  /**
   * Calls `attempt` with the window of a write that must not happen after `endMs`. A failure without a reply is reported at
   * `endMs`, since the command may arrive until then.
   */
  async within<T>(endMs: number, attempt: (window: Window) => Promise<T>): Promise<T> {
    this.#sampleAfter(SAMPLE_EVERY_MS);
    let offsetUs = this.#offsetUs;
    for (let count = 1; ; count++) {
      try {
        return await attempt(this.#windowOf(offsetUs, endMs));
      } catch (error) {
        const timeUs = timeOfRefusal(error);
        if (timeUs === null) return this.#throwAt(isSettled(error) ? 0 : endMs, error);
        if (count === ATTEMPTS_MAX || this.#nowMs() >= endMs) throw unavailable('it did not answer in time');
        offsetUs = this.#correct(timeUs);
      }
    }
  }

  #windowOf(offsetUs: number, endMs: number): Window {
    const earliestUs = offsetUs + (this.#nowMs() - SLACK_MS) * US_PER_MS;
    return [Math.floor(earliestUs), Math.floor(offsetUs + endMs * US_PER_MS)];
  }

  /** In a cluster the time of one node says nothing about the others. */
  #correct(timeUs: number): number {
    const offsetUs = this.#offsetAt(timeUs);
    if (this.#ports.isOneNode) this.#offsetUs = offsetUs;
    else this.#sampleAfter(SAMPLE_PAUSE_MS_MIN);
    return offsetUs;
  }

  /** The time was read before now, so the offset errs to the past. */
  #offsetAt(timeUs: number): number {
    return timeUs - this.#nowMs() * US_PER_MS;
  }

  #sampleAfter(pauseMs: number): void {
    if (this.#nowMs() - this.#sampledAtMs >= pauseMs) this.sample().catch(() => undefined);
  }

  async #throwAt(atMs: number, error: unknown): Promise<never> {
    const restMs = atMs - this.#nowMs();
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, Math.ceil(restMs)));
    throw error;
  }
}

/** The error with which a script refuses to run outside its window. */
function timeOfRefusal(error: unknown): number | null {
  const time =
    error instanceof Error && error.name === 'ReplyError' ? /^LATE (\d+)/.exec(error.message)?.[1] : undefined;
  return time === undefined ? null : Number(time);
}

/** Whether a command that failed will surely not be run from now on: the server replied, or it was never sent. */
function isSettled(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof Refusal) return true;
  return error.name === 'ReplyError' || error.message.includes('enableOfflineQueue');
}
