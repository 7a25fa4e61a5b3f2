import type { Duplex } from 'node:stream';
import type { Clock } from '../clock.ts';
import { decodeMessage } from './decode-message.ts';
import { decodeFrame, encodeStatus, type Frame } from './frame.ts';
import { FrameQueue } from './frame-queue.ts';
import { formatLsn } from './lsn.ts';
import type { Arrival, Lsn } from './message.ts';

/** Above it no more is read from the socket until the consumer has taken half of it. */
export const BUFFERED_BYTES_MAX = 1024 * 1024;
/** A server ends a connection that is silent for `wal_sender_timeout`. */
const STATUS_PERIOD_MS_MAX = 10_000;
/** A server that is alive answers each status. It may be busy with a large transaction for a while. */
const SILENCE_MS_MIN = 60_000;
const CLOSE_MS_MAX = 1_000;

export interface ReplicationStreamOptions {
  readonly clock: Clock;
  /** The server's `wal_sender_timeout`; 0: it has none. */
  readonly senderTimeoutMs: number;
}

/**
 * The changes that a replication slot sends, in order, as an async iterable for one consumer. While the consumer is busy, no
 * more than `BUFFERED_BYTES_MAX` is buffered; the server waits, and is told regularly that the client is alive.
 *
 * A position is reported to the server only after `acknowledge`, never because it was received.
 */
export class ReplicationStream implements AsyncIterable<Arrival> {
  readonly #duplex: Duplex;
  readonly #clock: Clock;
  readonly #silenceMsMax: number;
  readonly #queue = new FrameQueue();
  #acknowledged: Lsn = 0n;
  #heardAtMs: number;
  #end: { readonly error: Error | null } | null = null;
  #wake: () => void = () => undefined;
  readonly #stopTimer: () => void;

  constructor(duplex: Duplex, { clock, senderTimeoutMs }: ReplicationStreamOptions) {
    this.#duplex = duplex;
    this.#clock = clock;
    this.#silenceMsMax = Math.max(2 * senderTimeoutMs, SILENCE_MS_MIN);
    this.#heardAtMs = clock.nowMs();
    const periodMs = senderTimeoutMs === 0 ? STATUS_PERIOD_MS_MAX : Math.min(senderTimeoutMs / 3, STATUS_PERIOD_MS_MAX);
    this.#stopTimer = clock.every(periodMs, () => this.#tick());
    // Listeners rather than an iterator: only they keep the borders between messages.
    duplex.on('data', (bytes: Buffer) => this.#receive(bytes));
    duplex.on('error', (error) => this.#finish(error));
    duplex.on('close', () => this.#finish(new Error('the server has ended the replication connection')));
    duplex.on('end', () => this.#finish(new Error('the server has ended the replication stream')));
  }

  /** The bytes of messages that have arrived and that the consumer has not taken. */
  get bufferedBytes(): number {
    return this.#queue.bytes;
  }

  get acknowledged(): Lsn {
    return this.#acknowledged;
  }

  /**
   * Tells the server that everything up to `lsn` is durable: it may forget what is before, and sends it never again. A position
   * before the last one is refused, because it shows that the caller lost count.
   */
  acknowledge(lsn: Lsn): void {
    if (lsn < this.#acknowledged) {
      throw new Error(`position ${formatLsn(lsn)} is before ${formatLsn(this.#acknowledged)}, which is acknowledged`);
    }
    if (lsn === this.#acknowledged) return;
    this.#acknowledged = lsn;
    this.#sendStatus();
  }

  /** Ends when the stream is closed by `close`, and throws when it ends for any other reason. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Arrival, void, undefined> {
    for (;;) {
      const next = this.#take();
      if (next !== null) yield arrivalOf(next);
      else if (this.#end === null) await this.#untilMore();
      else if (this.#end.error === null) return;
      else throw this.#end.error;
    }
  }

  /** Ends the stream in order where the server answers, and anyhow otherwise. What has arrived is dropped. */
  async close(): Promise<void> {
    this.#queue.clear();
    this.#finish(null);
    if (this.#duplex.destroyed || this.#duplex.readableEnded) return;
    await new Promise<void>((resolve) => {
      const stop = this.#clock.after(CLOSE_MS_MAX, resolve);
      const done = () => {
        stop();
        resolve();
      };
      this.#duplex.once('end', done).once('close', done).end();
      this.#duplex.resume();
    });
  }

  #receive(bytes: Buffer): void {
    this.#heardAtMs = this.#clock.nowMs();
    if (this.#end !== null) return;
    try {
      const frame = decodeFrame(bytes);
      if (frame.type === 'keepalive' && frame.wantsReply) this.#sendStatus();
      this.#queue.push(frame, bytes.length);
    } catch (error) {
      this.#finish(error as Error);
      return;
    }
    if (this.#queue.bytes >= BUFFERED_BYTES_MAX) this.#duplex.pause();
    this.#wake();
  }

  #take(): Frame | null {
    const frame = this.#queue.take();
    if (this.#queue.bytes <= BUFFERED_BYTES_MAX / 2 && this.#duplex.isPaused()) {
      this.#heardAtMs = this.#clock.nowMs();
      this.#duplex.resume();
    }
    return frame;
  }

  #untilMore(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #tick(): void {
    const silentMs = this.#clock.nowMs() - this.#heardAtMs;
    // While the buffer is full nothing is read, so nothing can be heard.
    if (!this.#duplex.isPaused() && silentMs > this.#silenceMsMax) {
      const error = new Error(
        `the server was silent for ${Math.round(silentMs / 1000)} s on the replication connection`,
      );
      this.#finish(error);
      this.#duplex.destroy(error);
    } else this.#sendStatus();
  }

  #sendStatus(): void {
    if (this.#end !== null || this.#duplex.destroyed) return;
    // A socket that takes nothing more is found by the silence that follows.
    if (!this.#duplex.writableNeedDrain) this.#duplex.write(encodeStatus(this.#acknowledged, this.#clock.nowMs()));
  }

  #finish(error: Error | null): void {
    this.#end ??= { error };
    this.#stopTimer();
    this.#wake();
  }
}

function arrivalOf(frame: Frame): Arrival {
  if (frame.type === 'keepalive') return frame;
  return { type: 'data', lsn: frame.lsn, message: decodeMessage(frame.content) };
}
