import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Refusal } from '@tidemark/protocol';
import { DISCARDED_BYTES_MAX, PIPELINED_WAITING_MAX } from '../limits.ts';
import { Exchange } from './exchange.ts';
import { lingerOn, refuseOn } from './refuse-on.ts';
import type { RememberedAnswer } from './remembered-answer.ts';
import { StallWatch } from './stall-watch.ts';

const CONNECTION = Symbol('connection');

type Tracked = Socket & { [CONNECTION]?: HttpConnection };

/**
 * Handles the requests of one socket. One request is processed at a time; a few pipelined ones wait unread until the
 * answer before them has been sent. When the socket closes, the current exchange is over and the waiting requests are
 * dropped: they hold no resources yet.
 */
export class HttpConnection {
  /** The last answer that may be sent again to the same request. */
  remembered: RememberedAnswer | null = null;
  readonly #socket: Socket;
  readonly #serve: RequestListener;
  readonly #waiting: Exchange[] = [];
  readonly #stall = new StallWatch();
  #current: Exchange | null = null;
  /** The last request, if it was answered before its body had arrived. */
  #unread: IncomingMessage | null = null;
  /** The refusal for bytes that are not a request. It is sent after the answers to all requests before them. */
  #refusal: Refusal | null = null;
  /** True when no more requests are taken and the socket closes by itself. */
  #isClosing = false;
  /** True while a body arrives that may take longer than others; its handler watches that it goes on. */
  #hasLongBody = false;
  /** True when the server stops: the last answer then carries `Connection: close`. */
  #isDraining = false;

  constructor(socket: Socket, serve: RequestListener) {
    this.#socket = socket;
    this.#serve = serve;
    (socket as Tracked)[CONNECTION] = this;
    socket.once('close', this.#onClose);
  }

  static of(socket: Socket): HttpConnection | undefined {
    return (socket as Tracked)[CONNECTION];
  }

  /** True while a request is processed; others may wait behind it. */
  get isBusy(): boolean {
    return this.#current !== null;
  }

  get hasLongBody(): boolean {
    return this.#hasLongBody;
  }

  /** Lets the body of the current request take longer than requests may take to arrive. */
  awaitLongBody(): void {
    this.#hasLongBody = true;
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#isClosing) return;
    const exchange = new Exchange(request, response);
    if (this.#current === null) this.#begin(exchange);
    else if (this.#waiting.length < PIPELINED_WAITING_MAX) this.#waiting.push(exchange);
    else this.#destroy();
  }

  /**
   * Refuses bytes that the parser could not read. The refusal must not be taken for the answer to an earlier request, so
   * it waits until those have been answered.
   */
  refuse(refusal: Refusal): void {
    if (this.#isClosing) return;
    this.#refusal ??= refusal;
    const current = this.#current;
    const isAnswered = this.#unread?.complete === false || current?.response.headersSent === true;
    if (current?.request.complete === true) return;
    if (isAnswered) this.#destroy();
    else this.#refuseNow();
  }

  /** Closes the connection after the answer to the last request that waits. */
  drain(): void {
    this.#isDraining = true;
    this.#announceEnd();
  }

  /**
   * Ends the connection if no request is processed, and resolves when it is closed. Bytes that still arrive are read
   * and dropped, because closing at once would reset the connection.
   */
  endIfIdle(): Promise<void> {
    if (this.#current !== null || this.#isClosing) return Promise.resolve();
    return new Promise((resolve) => {
      this.#socket.once('close', resolve);
      this.#close(() => lingerOn(this.#socket));
    });
  }

  /**
   * Lets the caller read an answer with `Connection: close` while it is still sending. Node.js calls `destroySoon` of the
   * socket after such an answer, which would reset the connection and lose the answer.
   */
  lingerWhenClosed(): void {
    this.#socket.destroySoon = () => this.#close(() => lingerOn(this.#socket));
  }

  /**
   * Destroys the socket if the caller has read nothing of an answer for so many checks. Called periodically for every
   * connection, so that requests need no timer.
   */
  watchUnsent(checksMax: number): void {
    if (this.#stall.check(this.#socket) >= checksMax) this.#socket.destroy();
  }

  #begin(exchange: Exchange): void {
    this.#current = exchange;
    this.#hasLongBody = false;
    this.#unread = null;
    exchange.response.on('finish', this.#onFinish);
    if (this.#isDraining) this.#announceEnd();
    this.#serve(exchange.request, exchange.response);
  }

  readonly #onFinish = (): void => {
    const answered = this.#current;
    if (answered === null) return;
    this.#current = null;
    answered.end(true);
    const { request } = answered;
    if (request.complete) this.#advance();
    // The rest of a short body is read, and the connection stays open.
    else if (announcedBytes(request) <= DISCARDED_BYTES_MAX) this.#unread = request;
    else if (this.#socket.writable) this.#close(() => lingerOn(this.#socket));
  };

  #advance(): void {
    // Not writable: the answer was the last one of the connection, or the caller is gone.
    if (!this.#socket.writable) return;
    const next = this.#waiting.shift();
    if (this.#refusal !== null && next?.request.complete !== true) this.#refuseNow();
    else if (next !== undefined) this.#begin(next);
  }

  /** Node.js writes `Connection: close` and ends the socket after an answer that does not keep it alive. */
  #announceEnd(): void {
    const response = this.#current?.response;
    if (response !== undefined && this.#waiting.length === 0) response.shouldKeepAlive = false;
  }

  #refuseNow(): void {
    const refusal = this.#refusal;
    if (refusal !== null) this.#close(() => refuseOn(this.#socket, refusal));
  }

  #destroy(): void {
    this.#close(() => this.#socket.destroy());
  }

  #close(how: () => void): void {
    this.#isClosing = true;
    this.#waiting.length = 0;
    how();
  }

  readonly #onClose = (): void => {
    this.#isClosing = true;
    this.#waiting.length = 0;
    const current = this.#current;
    this.#current = null;
    current?.end(false);
  };
}

/** Returns the announced length of the body; infinite if it comes in chunks. */
export function announcedBytes({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers['content-length'] ?? 0);
}
