import type { IncomingMessage, ServerResponse } from 'node:http';

/** Called once when an exchange is over. `isAnswered` is true if the whole answer has been handed over. */
export type EndListener = (isAnswered: boolean) => void;

const EXCHANGE = Symbol('exchange');

type Tracked = ServerResponse & { [EXCHANGE]?: Exchange };

/**
 * One request and its answer. It is over when the answer has been sent or when the socket is gone, whichever comes
 * first. Everything held for a request (counters, streams) is released by `onOver` and only by it: Node.js emits no
 * `close` for a response that is queued behind another one, and none for listeners added after the event.
 */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly #listeners: EndListener[] = [];
  #isOver = false;
  #isAnswered = false;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request;
    this.response = response;
    (response as Tracked)[EXCHANGE] = this;
  }

  /** True when the caller cannot be answered any more. Work that has not begun should not begin. */
  get isOver(): boolean {
    return this.#isOver || this.request.socket.destroyed;
  }

  /** Calls the listener when the exchange is over; immediately if it already is. */
  onOver(listener: EndListener): void {
    if (this.#isOver) listener(this.#isAnswered);
    else this.#listeners.push(listener);
  }

  /** Called by the connection that owns the exchange. */
  end(isAnswered: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isAnswered = isAnswered;
    for (const listener of this.#listeners) listener(isAnswered);
    this.#listeners.length = 0;
  }
}

/**
 * Returns the exchange of a response. An exchange without a connection (an injected request) ends with the events of
 * its response.
 */
export function exchangeOf(response: ServerResponse): Exchange {
  return (response as Tracked)[EXCHANGE] ?? unownedExchange(response);
}

function unownedExchange(response: ServerResponse): Exchange {
  const exchange = new Exchange(response.req, response);
  response.once('finish', () => exchange.end(true));
  response.once('close', () => exchange.end(false));
  return exchange;
}
