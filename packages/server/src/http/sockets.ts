import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Refusal } from '@tidemark/protocol';
import type { FastifyInstance } from 'fastify';
import { LINGER_MS, SOCKETS_MAX } from '../edge-limits.ts';
import { problemOf } from './problem.ts';

/** The methods that some path takes, for whoever comes with another one altogether. */
export const METHODS_TAKEN = 'DELETE, GET, HEAD, POST, PUT';

/** What the HTTP parser throws; `rawPacket` is what it was reading. */
export interface SocketError extends Error {
  readonly code?: string;
  readonly rawPacket?: unknown;
}

/** Looks after what happens on sockets before there is a request, or instead of one. */
export function guardSockets({ server }: FastifyInstance, bodyBytesMax: number, listenersMax: number): void {
  server.maxConnections = SOCKETS_MAX + listenersMax;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Whoever asks before sending is told to go on only with a body that will be read.
    if (!(Number(request.headers['content-length']) > bodyBytesMax)) response.writeContinue();
    server.emit('request', request, response);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => refuseOn(socket, unknownMethod('CONNECT')));
}

/** What is so malformed that there is no request to answer: the socket gets a whole answer all the same. */
export function answerSocketError(error: SocketError, socket: Socket): void {
  if (socket.writableEnded) return;
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else refuseOn(socket, socketRefusal(error, socket.bytesRead));
}

export function unknownMethod(method: string): Refusal {
  return new Refusal('method_not_allowed', `no path takes ${method}; they take ${METHODS_TAKEN}`);
}

function refuseOn(socket: Duplex, refusal: Refusal): void {
  const problem = problemOf(refusal, randomUUID());
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    'content-type: application/problem+json',
    'cache-control: no-store',
    `x-request-id: ${problem.request_id}`,
    ...(problem.status === 405 ? [`allow: ${METHODS_TAKEN}`] : []),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // Closing at once would throw away what the caller is still sending, and with it the answer on its way there.
  const cutOff = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.on('error', () => socket.destroy());
  socket.once('close', () => clearTimeout(cutOff));
}

/** For what the HTTP parser refuses before there is a request. */
function socketRefusal({ code, rawPacket }: SocketError, bytesRead: number): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return isRequestLine(rawPacket, bytesRead)
        ? new Refusal('uri_too_long', 'the address is longer than the server reads')
        : new Refusal('headers_too_large', 'the headers are larger than the server reads');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Refusal('request_timeout', 'the request took too long to arrive');
    case 'HPE_INVALID_METHOD':
      return unknownMethod('this method');
    default:
      return new Refusal('invalid_request', 'this is not HTTP as the server understands it');
  }
}

/** The parser counts an address among the headers. Only the first packet of a socket surely begins with one. */
function isRequestLine(packet: unknown, bytesRead: number): boolean {
  return Buffer.isBuffer(packet) && packet.length === bytesRead && !packet.includes('\n');
}
