import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Refusal } from '@tidemark/protocol';
import { DISCARDED_BYTES_MAX, LINGER_MS } from '../limits.ts';
import { problemOf } from './problem.ts';

/** All methods that any path takes, for requests with an unknown method. */
export const ALLOWED_METHODS = 'DELETE, GET, HEAD, POST, PUT';

/** Writes a whole answer to a socket without a response object, and closes it. */
export function refuseOn(socket: Duplex, refusal: Refusal): void {
  const problem = problemOf(refusal, randomUUID());
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    'content-type: application/problem+json',
    'cache-control: no-store',
    `x-request-id: ${problem.request_id}`,
    ...(problem.status === 405 ? [`allow: ${ALLOWED_METHODS}`] : []),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  lingerOn(socket);
}

/**
 * Closes a socket whose caller may still be sending. Closing at once would reset the connection and lose the answer.
 * So a bounded number of bytes is read and dropped until a time-out closes the socket.
 */
export function lingerOn(socket: Duplex): void {
  let leftBytes = DISCARDED_BYTES_MAX;
  const discard = (chunk: Buffer) => {
    leftBytes -= chunk.length;
    if (leftBytes <= 0) socket.pause();
  };
  socket.on('data', discard);
  // Detaches the HTTP parser.
  for (const listener of socket.listeners('data')) {
    if (listener !== discard) socket.off('data', listener as (chunk: Buffer) => void);
  }
  socket.on('error', () => socket.destroy());
  socket.end();
  const cutOff = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(cutOff));
}
