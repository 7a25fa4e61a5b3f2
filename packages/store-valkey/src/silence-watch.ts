import type { Redis } from 'ioredis';

interface Silence {
  readonly bytesRead: number;
  readonly sinceMs: number;
}

/**
 * Gives up connections that stay open and deliver nothing, as after a firewall has forgotten them. ioredis would wait for
 * their replies for ever, though a new connection would be answered.
 */
export class SilenceWatch {
  readonly #silences = new WeakMap<object, Silence>();

  /**
   * To be called when a reply is late. It cannot be seen which node was to answer, so every one is sent a PING: a connection
   * that delivers no byte after that for `patienceMs` is destroyed, and its client connects again.
   */
  check(nodes: readonly Redis[], patienceMs: number): void {
    const nowMs = performance.now();
    for (const node of nodes) {
      // A client that was never connected has no stream yet.
      const stream = node.stream as typeof node.stream | undefined;
      if (stream === undefined || stream.destroyed) continue;
      const { bytesRead } = stream;
      const silence = this.#silences.get(stream);
      if (silence === undefined || silence.bytesRead !== bytesRead) {
        this.#silences.set(stream, { bytesRead, sinceMs: nowMs });
        node.ping().catch(() => undefined);
      } else if (nowMs - silence.sinceMs >= patienceMs) {
        stream.destroy(new Error('the connection was silent for too long'));
      }
    }
  }
}
