import {
  createServer,
  type ServerOptions as HttpServerOptions,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { Socket } from 'node:net';
import { Refusal } from '@tidemark/protocol';
import { SOCKETS_MAX } from '../limits.ts';
import { HttpConnection } from './http-connection.ts';
import type { HttpConnections } from './http-connections.ts';
import { ALLOWED_METHODS, refuseOn } from './refuse-on.ts';

/** An error of the HTTP parser; `rawPacket` holds the bytes it was parsing. */
export interface SocketError extends Error {
  readonly code?: string;
  readonly rawPacket?: unknown;
}

export interface ServerOptions {
  readonly http: HttpServerOptions;
  /** How long a connection may stay open between two requests. */
  readonly keepAliveMs: number;
  readonly requestMs: number;
  /** Sockets reserved for devices that listen for events, in addition to those for requests. */
  readonly listenersMax: number;
  /** How long a caller may leave an answer unread. */
  readonly stallMs: number;
  /** How often sockets are checked for unread answers. */
  readonly checkMs: number;
  /** Registers the open connections of the server. */
  readonly connections: HttpConnections;
}

/** Creates the HTTP server, which handles every socket by an `HttpConnection`. */
export function openHttpServer(handle: RequestListener, options: ServerOptions): Server {
  const server = createServer(options.http);
  server.keepAliveTimeout = options.keepAliveMs;
  server.requestTimeout = options.requestMs;
  server.maxConnections = SOCKETS_MAX + options.listenersMax;
  const serve: RequestListener = (request, response) => {
    if (hasUnknownExpectation(request)) response.writeHead(417).end();
    else handle(request, response);
  };
  const { connections } = options;
  server.on('connection', (socket: Socket) => {
    connections.add(socket, serve);
  });
  const take: RequestListener = (request, response) => HttpConnection.of(request.socket)?.take(request, response);
  // `100 Continue` is sent where the body is read, not here.
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, take);
  server.on('connect', ({ socket }: IncomingMessage) => refuseConnect(socket));
  const stalledChecksMax = Math.ceil(options.stallMs / options.checkMs);
  const check = setInterval(() => connections.watchUnsent(stalledChecksMax), options.checkMs);
  check.unref();
  server.once('close', () => clearInterval(check));
  return server;
}

/** `100-continue` is the only known expectation. Node.js itself checks it in HTTP/1.1 only. */
function hasUnknownExpectation({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1' && headers.expect.toLowerCase() !== '100-continue';
}

function refuseConnect(socket: Socket): void {
  // Node.js has detached the socket: an answer could end up inside the answer to an earlier request.
  if (HttpConnection.of(socket)?.isBusy === true) socket.destroy();
  else refuseOn(socket, unknownMethod('CONNECT'));
}

/** Answers bytes that are too malformed to be a request. */
export function answerSocketError(error: SocketError, socket: Socket): void {
  if (socket.writableEnded) return;
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && HttpConnection.of(socket)?.hasLongBody === true) return;
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else HttpConnection.of(socket)?.refuse(socketRefusal(error, socket.bytesRead));
}

export function unknownMethod(method: string): Refusal {
  return new Refusal('method_not_allowed', `the method ${method} is not supported; use one of ${ALLOWED_METHODS}`);
}

/** Maps an error of the HTTP parser to a refusal. */
function socketRefusal({ code, rawPacket }: SocketError, bytesRead: number): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return isRequestLine(rawPacket, bytesRead)
        ? new Refusal('uri_too_long', 'the address is longer than the limit')
        : new Refusal('headers_too_large', 'the headers are larger than the limit');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Refusal('request_timeout', 'the request took too long to arrive');
    case 'HPE_INVALID_METHOD':
      return unknownMethod('this method');
    default:
      return new Refusal('invalid_request', 'the request is not valid HTTP');
  }
}

/**
 * The parser counts the request line among the headers. Only the first packet of a socket certainly begins with one.
 */
function isRequestLine(packet: unknown, bytesRead: number): boolean {
  return Buffer.isBuffer(packet) && packet.length === bytesRead && !packet.includes('\n');
}
