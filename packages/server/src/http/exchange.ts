import type { IncomingMessage, ServerResponse } from 'node:http';

/** Called once when an exchange is over; `isAnswered` is true when the last byte of the answer has been handed over. */
export type EndListener = (isAnswered: boolean) => void;

const EXCHANGE = Symbol('exchange');

type Tracked = ServerResponse & { [EXCHANGE]?: Exchange };

/**
 * One request and its answer. It is over when the answer has left or when the socket is gone, whichever comes first.
 * Whatever is held for a request (counters, streams) is released by `onOver`, and only by it: Node.js emits no
 * `close` for a response that still waits behind another one, and none for listeners that come after the event.
 */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly #listeners: EndListener[] = [];
  #isSpent = false;
  #isAnswered = false;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request;
    this.response = response;
    (response as Tracked)[EXCHANGE] = this;
  }

  /** True when nobody can be answered any more. Work that has not begun should not begin. */
  get isSpent(): boolean {
    return this.#isSpent || this.request.socket.destroyed;
  }

  /** Calls the listener when the exchange is over; immediately if it already is. */
  onOver(listener: EndListener): void {
    if (this.#isSpent) listener(this.#isAnswered);
    else this.#listeners.push(listener);
  }

  /** For whoever owns the exchange: its connection. */
  end(isAnswered: boolean): void {
    if (this.#isSpent) return;
    this.#isSpent = true;
    this.#isAnswered = isAnswered;
    for (const listener of this.#listeners) listener(isAnswered);
    this.#listeners.length = 0;
  }
}

/** The exchange of a response. One that no connection owns (an injected request) ends with the response's own events. */
export function exchangeOf(response: ServerResponse): Exchange {
  return (response as Tracked)[EXCHANGE] ?? unownedExchange(response);
}

function unownedExchange(response: ServerResponse): Exchange {
  const exchange = new Exchange(response.req, response);
  response.once('finish', () => exchange.end(true));
  response.once('close', () => exchange.end(false));
  return exchange;
}
