import { BoundedMap } from '../primitives/bounded-map.ts';
import type { PingPayload } from './ping-payload.ts';

const KEPT_MAX = 50_000;

/**
 * Remembers which silent pings this process has delivered, and when. A silent ping need not be sent if an equal one left
 * after it was requested. Only pings requested in this process are compared, because the clocks of two machines differ.
 */
export class RecentPings {
  readonly #by: string;
  /** When an equal ping was last sent. */
  readonly #sentAtMs: BoundedMap<string, number>;

  /** `by` is the id of this process. */
  constructor(by: string, keptMax = KEPT_MAX) {
    this.#by = by;
    this.#sentAtMs = new BoundedMap(keptMax);
  }

  /** Whether an equal ping has left after this one was requested. */
  isCovered(payload: PingPayload): boolean {
    if (!isSilent(payload) || payload.by !== this.#by) return false;
    const sentAtMs = this.#sentAtMs.get(keyOf(payload));
    return sentAtMs !== undefined && sentAtMs > payload.atMs;
  }

  /** `leftAtMs` is the time before sending: the device may have missed changes between sending and the answer. */
  note(payload: PingPayload, leftAtMs: number): void {
    if (isSilent(payload)) this.#sentAtMs.set(keyOf(payload), leftAtMs);
  }
}

/** Whether the user neither sees nor hears the ping. */
function isSilent({ content: { message, sound, vibrateS } }: PingPayload): boolean {
  return message === undefined && sound === undefined && vibrateS === undefined;
}

function keyOf({ client, createdAtMs, content }: PingPayload): string {
  return JSON.stringify([client, createdAtMs, content]);
}
