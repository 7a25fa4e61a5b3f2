import { systemTimers, type Timers } from '../../jobs/timers.ts';
import { Http2Connection, type Http2Reply, type Http2Request } from './http2-connection.ts';

export interface Http2ConnectionsParts {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Trusted certificates instead of those of the system. */
  readonly ca?: readonly string[] | undefined;
  readonly connectionsMax?: number;
  /** Concurrent requests on one connection, where the service allows more. */
  readonly streamsMax?: number;
  /** For the connection to open, and again for the answer. */
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
 * A few long-lived connections to one service, shared by all requests. Another one is opened only when the open ones
 * are full; a broken one is replaced on demand. Requests are never repeated here: the reply says whether the service
 * may have seen the request.
 */
export class Http2Connections {
  readonly #parts: Required<Http2ConnectionsParts>;
  readonly #connections = new Set<Http2Connection>();
  /** Connections that take no new requests but are not closed yet; they count for the service. */
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
    // Most requests find a free connection and need not wait.
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

  /** Returns a connection with a free stream, or the reason why there is none. */
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
      this.#openConnection();
    });
  }

  #free(): Http2Connection | null {
    let best: Http2Connection | null = null;
    for (const one of this.#connections) {
      if (one.room > (best?.room ?? 0)) best = one;
    }
    return best;
  }

  /** Opens one connection at a time: its settings show whether it is enough. */
  #openConnection(): void {
    const isOpening = [...this.#connections].some(({ isReady }) => !isReady);
    if (isOpening || this.count >= this.#parts.connectionsMax || this.#isClosed) return;
    const connection = new Http2Connection({
      ...this.#parts,
      onRoom: () => this.#serveWaiting(),
      onEnd: (reason) => {
        this.#connections.delete(connection);
        this.#leaving.add(connection);
        // If no connection can be opened, waiting requests fail, and the caller decides whether to retry.
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
    if (this.#waiting.size > 0) this.#openConnection();
  }

  #giveUp(reason: string): void {
    for (const waiter of [...this.#waiting]) waiter.giveUp(reason);
  }
}
