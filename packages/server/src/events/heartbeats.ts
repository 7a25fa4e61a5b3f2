import type { Connection } from './connection.ts';

/** Heartbeats are spread over this number of ticks, so that no tick takes long. */
const TICKS = 25;

export interface HeartbeatsParts {
  /** The time between two heartbeats of a connection. */
  readonly everyMs: number;
  readonly beat: (connection: Connection) => Promise<void>;
  /** Called with the error of a tick. The connections after it in the tick wait for their next one. */
  readonly onFailed: (error: unknown) => void;
}

/** Calls `beat` for every connection at regular intervals, a few connections at a time. */
export class Heartbeats {
  readonly #parts: HeartbeatsParts;
  readonly #ticks = Array.from({ length: TICKS }, () => new Set<Connection>());
  readonly #timer: NodeJS.Timeout;
  #next = 0;
  #isTicking = false;

  constructor(parts: HeartbeatsParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => void this.#tick(), Math.max(1, parts.everyMs / TICKS));
    this.#timer.unref();
  }

  /** Adds a connection to the tick that has just passed, so that its first heartbeat comes after a full interval. */
  add(connection: Connection): void {
    this.#ticks[(this.#next + TICKS - 1) % TICKS]?.add(connection);
  }

  remove(connection: Connection): void {
    for (const tick of this.#ticks) tick.delete(connection);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #tick(): Promise<void> {
    if (this.#isTicking) return;
    this.#isTicking = true;
    try {
      const due = [...(this.#ticks[this.#next] ?? [])];
      this.#next = (this.#next + 1) % TICKS;
      for (const connection of due) await this.#parts.beat(connection);
    } catch (error) {
      this.#parts.onFailed(error);
    } finally {
      this.#isTicking = false;
    }
  }
}
