import type { PingPayload } from './ping-payload.ts';

const KEPT_MAX = 50_000;

/**
 * What this process has told which device, and when. A ping that only says what to synchronise is as good as another one
 * that says the same and left after it was sent: it need not go out any more. Only pings sent by this very process are
 * compared, because clocks of two machines cannot be.
 */
export class RecentPings {
  readonly #by: string;
  readonly #keptMax: number;
  /** The one told longest ago comes first. */
  readonly #told = new Map<string, number>();

  /** `by` is what this process calls itself. */
  constructor(by: string, keptMax = KEPT_MAX) {
    this.#by = by;
    this.#keptMax = keptMax;
  }

  isTold(payload: PingPayload): boolean {
    if (!isSilent(payload) || payload.by !== this.#by) return false;
    const toldAtMs = this.#told.get(keyOf(payload));
    return toldAtMs !== undefined && toldAtMs > payload.atMs;
  }

  /** `leftAtMs` is when it left, not when it was answered: what happened in between the device may not have seen. */
  note(payload: PingPayload, leftAtMs: number): void {
    if (!isSilent(payload)) return;
    const key = keyOf(payload);
    this.#told.delete(key);
    this.#told.set(key, leftAtMs);
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= this.#keptMax) break;
      this.#told.delete(oldest);
    }
  }
}

/** Nobody sees or hears it. */
function isSilent({ content: { message, sound, vibrateS } }: PingPayload): boolean {
  return message === undefined && sound === undefined && vibrateS === undefined;
}

function keyOf({ client, createdAtMs, content }: PingPayload): string {
  return JSON.stringify([client, createdAtMs, content]);
}
