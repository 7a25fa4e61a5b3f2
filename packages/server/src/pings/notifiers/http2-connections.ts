import { systemTimers, type Timers } from '../../jobs/timers.ts';
import { Http2Connection, type Http2Reply, type Http2Request } from './http2-connection.ts';

export interface Http2ConnectionsParts {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Certificates to trust beside, or instead of, those of the system. */
  readonly ca?: readonly string[] | undefined;
  readonly connectionsMax?: number;
  /** Requests under way on one connection, where the service allows more. */
  readonly streamsMax?: number;
  /** For a connection to be there, and again for the answer. */
  readonly timeoutMs?: number;
  readonly timers?: Timers;
}

interface Waiter {
  readonly take: (connection: Http2Connection) => void;
  readonly giveUp: (reason: string) => void;
}

const CONNECTIONS_MAX = 4;
const STREAMS_MAX = 500;
const TIMEOUT_MS = 10_000;

/**
 * A few long-lived connections to one service, shared by all requests. Another one is opened only when those there are
 * cannot take more; one that breaks is replaced when it is needed. No request is ever repeated here: whoever asked is
 * told whether the service may have seen it.
 */
export class Http2Connections {
  readonly #parts: Required<Http2ConnectionsParts>;
  readonly #connections = new Set<Http2Connection>();
  /** Those that take nothing new and are not closed yet: for the service they are connections all the same. */
  readonly #leaving = new Set<Http2Connection>();
  readonly #waiting = new Set<Waiter>();
  #isClosed = false;

  constructor(parts: Http2ConnectionsParts) {
    this.#parts = {
      connectionsMax: CONNECTIONS_MAX,
      streamsMax: STREAMS_MAX,
      timeoutMs: TIMEOUT_MS,
      timers: systemTimers,
      ...parts,
      ca: parts.ca,
    };
  }

  get count(): number {
    return this.#connections.size + this.#leaving.size;
  }

  send(request: Http2Request): Promise<Http2Reply> {
    // Most find one at once, and need not wait for a turn.
    return this.#free()?.reserve().send(request) ?? this.#sendLater(request);
  }

  async #sendLater(request: Http2Request): Promise<Http2Reply> {
    const connection = await this.#connection();
    return typeof connection === 'string' ? { kind: 'not_sent', reason: connection } : connection.send(request);
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections) connection.close();
    this.#giveUp('the server stops');
  }

  /** A connection with room for one more request, or why there is none. */
  #connection(): Promise<Http2Connection | string> {
    if (this.#isClosed) return Promise.resolve('the server stops');
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.#waiting.delete(waiter);
      };
      const waiter: Waiter = {
        take: (connection) => {
          end();
          resolve(connection.reserve());
        },
        giveUp: (reason) => {
          end();
          resolve(reason);
        },
      };
      const { timers, timeoutMs } = this.#parts;
      const cancel = timers.after(timeoutMs, () => waiter.giveUp(`no connection in ${timeoutMs} ms`));
      this.#waiting.add(waiter);
      this.#openAnother();
    });
  }

  #free(): Http2Connection | null {
    let best: Http2Connection | null = null;
    for (const one of this.#connections) {
      if (one.room > (best?.room ?? 0)) best = one;
    }
    return best;
  }

  /** One at a time: whether it is enough shows when it is there. */
  #openAnother(): void {
    const isOpening = [...this.#connections].some(({ isReady }) => !isReady);
    if (isOpening || this.count >= this.#parts.connectionsMax || this.#isClosed) return;
    const connection = new Http2Connection({
      ...this.#parts,
      onRoom: () => this.#serveWaiting(),
      onEnd: (reason) => {
        this.#connections.delete(connection);
        this.#leaving.add(connection);
        // When not even a connection can be made, waiting is no use; whether to try again is for the caller to say.
        if (!connection.isReady && this.#connections.size === 0) this.#giveUp(reason);
        else this.#serveWaiting();
      },
      onClose: () => {
        this.#leaving.delete(connection);
        this.#serveWaiting();
      },
    });
    this.#connections.add(connection);
  }

  #serveWaiting(): void {
    for (const waiter of this.#waiting) {
      const free = this.#free();
      if (free === null) break;
      waiter.take(free);
    }
    if (this.#waiting.size > 0) this.#openAnother();
  }

  #giveUp(reason: string): void {
    for (const waiter of [...this.#waiting]) waiter.giveUp(reason);
  }
}
