/** What a socket tells about its unsent bytes. */
export interface UnsentBytes {
  /** Bytes that were given to the socket since it was opened. */
  readonly bytesWritten: number;
  /** Those of them that belong to writes which are not complete. */
  readonly writableLength: number;
  /** Node.js shows only here how much of a large write the system has taken. Null: the socket is closed. */
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

/**
 * Counts how many checks in a row have seen that a caller reads nothing of what was sent. The time-out of sockets cannot
 * tell that: it takes every write for activity of the caller, and lasts twice as long if a part of a write was taken
 * before the caller stopped reading.
 */
export class StallWatch {
  #completedBytes = 0;
  #queuedBytes = 0;
  #stalledChecks = 0;

  /** Returns the number of checks without progress, this one included; 0 if there is nothing to send. */
  check({ bytesWritten, writableLength, _handle }: UnsentBytes): number {
    const completedBytes = bytesWritten - writableLength;
    const queuedBytes = _handle?.writeQueueSize ?? 0;
    const hasProgress = completedBytes > this.#completedBytes || queuedBytes < this.#queuedBytes;
    this.#stalledChecks = writableLength === 0 || hasProgress ? 0 : this.#stalledChecks + 1;
    this.#completedBytes = completedBytes;
    this.#queuedBytes = queuedBytes;
    return this.#stalledChecks;
  }
}
